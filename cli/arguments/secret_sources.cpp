#include "cli/arguments/secret_sources.hpp"

#include <fmt/format.h>

namespace paraes::cli {

std::string SecretSources::flag(std::string_view name) const {
  return fmt::format("--{}{}", role == KeyRole::rekey_to ? "to-" : "", name);
}

std::vector<std::string> SecretSources::given(SecretKind kind) const {
  std::vector<std::string> found;
  const auto add = [&](bool is_given, std::string_view name) {
    if (is_given) found.push_back(flag(name));
  };
  switch (kind) {
    case SecretKind::key:
      add(key_file.has_value(), "key-file");
      add(key_hex, "key-hex");
      add(key_command.has_value(), "key-command");
      break;
    case SecretKind::passphrase:
      add(ask, "passphrase");
      add(passphrase_file.has_value(), "passphrase-file");
      add(passphrase_fd.has_value(), "passphrase-fd");
      add(passphrase_env.has_value(), "passphrase-env");
      add(passphrase_command.has_value(), "passphrase-command");
      break;
    case SecretKind::recipients:
      if (!recipients.empty()) return {flag("recipient")};
      if (!recipients_files.empty()) return {flag("recipients-file")};
      add(!identities.empty(), "identity");
      break;
  }
  return found;
}

std::vector<std::string> SecretSources::given() const {
  std::vector<std::string> all;
  for (const SecretKind kind : {SecretKind::key, SecretKind::passphrase, SecretKind::recipients}) {
    for (std::string& more : given(kind)) all.push_back(std::move(more));
  }
  return all;
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

std::vector<std::string> SecretSources::files() const {
  std::vector<std::string> all = identities;
  if (key_file) all.push_back(*key_file);
  if (passphrase_file) all.push_back(*passphrase_file);
  return all;
}

}  // namespace paraes::cli
