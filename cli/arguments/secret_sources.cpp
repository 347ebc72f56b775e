#include "cli/arguments/secret_sources.hpp"

#include <fmt/format.h>

namespace paraes::cli {

std::string SecretSources::flag(std::string_view name) const {
  return fmt::format("--{}{}", role == KeyRole::rekey_to ? "to-" : "", name);
}

std::vector<std::string> SecretSources::given(std::optional<SecretKind> kind) const {
  struct Row {
    SecretKind kind;
    std::string_view name;
    bool is_given;
  };
  // Several recipients or identities are one source.
  const Row rows[] = {
      {SecretKind::key, "key-file", key_file.has_value()},
      {SecretKind::key, "key-hex", key_hex},
      {SecretKind::key, "key-command", key_command.has_value()},
      {SecretKind::passphrase, "passphrase", ask},
      {SecretKind::passphrase, "passphrase-file", passphrase_file.has_value()},
      {SecretKind::passphrase, "passphrase-fd", passphrase_fd.has_value()},
      {SecretKind::passphrase, "passphrase-env", passphrase_env.has_value()},
      {SecretKind::passphrase, "passphrase-command", passphrase_command.has_value()},
      {SecretKind::recipients, "recipient", !recipients.empty()},
      {SecretKind::recipients, "recipients-file", recipients.empty() && !recipients_files.empty()},
      {SecretKind::recipients, "identity",
       recipients.empty() && recipients_files.empty() && !identities.empty()},
  };
  std::vector<std::string> found;
  for (const Row& row : rows) {
    if (row.is_given && kind.value_or(row.kind) == row.kind) found.push_back(flag(row.name));
  }
  return found;
}

SecretKind SecretSources::kind() const {
  for (const SecretKind kind : {SecretKind::key, SecretKind::recipients}) {
    if (!given(kind).empty()) return kind;
  }
  return SecretKind::passphrase;
}

std::string SecretSources::source() const {
  const auto all = given();
  return all.empty() ? "the terminal" : all.front();
}

std::vector<SecretSources::File> SecretSources::files() const {
  std::vector<File> all;
  for (const std::string& path : identities) all.push_back({path, flag("identity")});
  if (key_file) all.push_back({*key_file, flag("key-file")});
  if (passphrase_file) all.push_back({*passphrase_file, flag("passphrase-file")});
  for (const std::string& path : recipients_files) {
    all.push_back({path, flag("recipients-file"), true});
  }
  return all;
}

}  // namespace paraes::cli
