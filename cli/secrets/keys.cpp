#include "cli/secrets/keys.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <initializer_list>
#include <limits>
#include <string_view>
#include <system_error>
#include <utility>

#include "cli/arguments/arguments.hpp"
#include "cli/files/input.hpp"
#include "cli/run/report.hpp"
#include "cli/secrets/secret_command.hpp"
#include "cli/words/choices.hpp"
#include "cli/words/numbers.hpp"
#include "paraes/error.hpp"
#include "paraes/io.hpp"
#include "paraes/recipients.hpp"

namespace paraes::cli {
namespace {

// The argument of a flag. Static, because it is taken before options are parsed.
SecretBytes& stashed_key_hex(std::string_view flag) {
  static std::array<SecretBytes, 2> digits;
  return digits.at(flag == "--to-key-hex" ? 1 : 0);
}

constexpr std::size_t most_keyset_bytes = std::size_t{64} << 10;

// Throws InvalidArgument for a file of more than `most` bytes.
SecretBytes read_key_file(const std::string& path, std::string_view name, std::size_t most) {
  Input input = open_secret(path, name);
  SecretBytes contents(most + 1);
  const std::size_t n = input.source->read(contents.span());
  if (n == contents.size()) {
    const auto rest = input.source->remaining();
    throw InvalidArgument(
        rest ? fmt::format("{}: it has {} bytes: too many for a key", name, n + *rest)
             : fmt::format("{}: it has more than {} bytes: too many for a key", name, n - 1));
  }
  contents.truncate(n);
  return contents;
}

}  // namespace

void stash_key_hex(int argc, char** argv) {
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    if (argument == "--") return;
    const std::string_view flag = argument.substr(0, argument.find('='));
    if (flag != "--key-hex" && flag != "--to-key-hex") continue;
    char* digits = nullptr;
    if (flag.size() != argument.size()) {
      digits = argv[i] + flag.size() + 1;
    } else if (i + 1 < argc) {
      digits = argv[++i];
    }
    if (digits == nullptr) continue;
    const std::size_t n = std::strlen(digits);
    stashed_key_hex(flag) = SecretBytes(Bytes(reinterpret_cast<const std::uint8_t*>(digits), n));
    std::memset(digits, 'x', n);
  }
}

SecretBytes decode_key_file(SecretBytes contents, std::string_view name, KeyUse use,
                            std::string_view encoding) {
  try {
    return decode_key(std::move(contents), name, use,
                      find_choice(key_encoding_choices, encoding).value_or(KeyEncoding::by_size));
  } catch (const WrongKeySize& error) {
    throw InvalidArgument(fmt::format("{} (`paraes keygen{} -o FILE` makes a new one)",
                                      error.what(), use == KeyUse::xts ? " --mode xts" : ""));
  } catch (const AmbiguousKey& error) {
    throw InvalidArgument(
        fmt::format("{}; say which with --key-encoding hex or --key-encoding raw", error.what()));
  }
}

std::string KeyOptions::flag(std::string_view name) const {
  return fmt::format("--{}{}", role == KeyRole::rekey_to ? "to-" : "", name);
}

bool KeyOptions::given(std::string_view name) const {
  return verb != nullptr && is_given(*verb, flag(name));
}

namespace {

// Adds flags to one group of the help.
class KeyFlags {
 public:
  KeyFlags(CLI::App& verb, const KeyOptions& options)
      : verb_(verb),
        options_(options),
        group_(options.role == KeyRole::rekey_to ? "New keys" : "Keys") {}

  template <class T>
  CLI::Option* add(std::string_view name, T& value, std::string type, const char* text,
                   const char* short_flag = "") {
    return verb_.add_option(short_flag + options_.flag(name), value, text)
        ->type_name(std::move(type))
        ->group(group_);
  }
  void add_list(std::string_view name, std::vector<std::string>& values, const char* type,
                const char* text, const char* short_flag = "") {
    add(name, values, type, text, short_flag)->allow_extra_args(false);
  }
  void add_descriptor(std::string_view name, std::optional<int>& value, const char* text) {
    constexpr Range descriptors = {0, std::numeric_limits<int>::max()};
    add_number(verb_, options_.flag(name).c_str(), value, descriptors, text)->group(group_);
  }
  void add_switch(std::string_view name, bool& value, const char* text) {
    verb_.add_flag(options_.flag(name), value, text)->group(group_);
  }

 private:
  CLI::App& verb_;
  const KeyOptions& options_;
  const char* group_;
};

}  // namespace

void add_key_options(CLI::App& verb, KeyOptions& options, KeyRole role) {
  options.verb = &verb;
  options.role = role;
  KeyFlags flags(verb, options);
  if (role != KeyRole::look) {
    const bool is_new = role == KeyRole::rekey_to;
    const bool rekey = is_new || verb.get_name() == "rekey";
    const bool verify = verb.get_name() == "verify";
    flags.add("key-file", options.key_file, "FILE",
              rekey    ? "Key of 16 or 32 bytes; - is standard input."
              : verify ? "Key of 16 or 32 bytes, or a Tink keyset; - is standard input."
                       : "Key of 16 or 32 bytes (raw: also 24, XTS 64), or a Tink keyset; - is "
                         "standard input.",
              is_new ? "" : "-k,");
    flags.add("key-encoding", options.key_encoding, type_of(key_encoding_choices),
              "How to read the key file, if its size is ambiguous.");
    flags.add("key-hex", options.key_hex, "HEX",
              "Key in hex; only for tests: the process list shows it.");
    flags.add("key-command", options.key_command, "CMD",
              "Key that a shell command prints, like a file's.");
    if (is_new)
      flags.add_switch("passphrase", options.ask, "Ask for a passphrase on the terminal.");
    flags.add("passphrase-file", options.passphrase_file, "FILE",
              rekey || verify
                  ? "Passphrase from a file, without one final newline."
                  : "Passphrase from a file, without one final newline (openssl: its first line).");
    flags.add_descriptor("passphrase-fd", options.passphrase_fd,
                         "Passphrase from an open file descriptor, like that of a file.");
    flags.add("passphrase-env", options.passphrase_env, "VAR",
              "Passphrase from an environment variable.");
    flags.add("passphrase-command", options.passphrase_command, "CMD",
              "Passphrase that a shell command prints, like a file's.");
  }
  if (role == KeyRole::seal || role == KeyRole::rekey_to) {
    flags.add_list("recipient", options.recipients, "KEY",
                   "Public key that can decrypt: age1..., ssh-ed25519 AAAA...; repeatable. Needs "
                   "age.");
    flags.add_list("recipients-file", options.recipients_files, "FILE",
                   "Recipients from a file, one a line; repeatable.");
  } else {
    flags.add_list("identity", options.identities, "FILE",
                   role == KeyRole::look
                       ? "Say whether this identity opens the file; repeatable. Needs age."
                       : "Identity (private key) of age or SSH, for what was encrypted to "
                         "recipients; repeatable. Needs age.",
                   "-i,");
  }
}

namespace {

std::vector<std::string> given_of(const KeyOptions& options,
                                  std::initializer_list<const char*> names) {
  std::vector<std::string> given;
  for (const char* name : names) {
    if (options.given(name)) given.push_back(options.flag(name));
  }
  return given;
}

std::vector<std::string> given_keys(const KeyOptions& options) {
  return given_of(options, {"key-file", "key-hex", "key-command"});
}

std::vector<std::string> given_passphrases(const KeyOptions& options) {
  return given_of(options, {"passphrase", "passphrase-file", "passphrase-fd", "passphrase-env",
                            "passphrase-command"});
}

// At most one flag: all recipients belong together.
std::vector<std::string> given_recipients(const KeyOptions& options) {
  std::vector<std::string> given = given_of(options, {"recipient", "recipients-file", "identity"});
  given.resize(std::min<std::size_t>(given.size(), 1));
  return given;
}

// Throws InvalidArgument if there are two sources of secrets.
void refuse_two(const std::vector<std::string>& sources) {
  if (sources.size() < 2) return;
  throw InvalidArgument(fmt::format("give one of the two: {} or {}", sources[0], sources[1]));
}

void check_kinds(const KeyOptions& options, std::string_view format, SecretKinds takes) {
  const auto keys = given_keys(options);
  const auto passphrases = given_passphrases(options);
  const auto recipients = given_recipients(options);
  if (!takes.recipients && !recipients.empty()) {
    throw InvalidArgument(
        fmt::format("{} goes with --format paraes, not with {}", recipients[0], format));
  }
  if (takes.key && takes.passphrase) {
    refuse_two(options.sources());
    return;
  }
  const auto& wrong = takes.key ? passphrases : keys;
  const auto& right = takes.key ? keys : passphrases;
  if (!wrong.empty()) {
    const char* const instead =
        takes.key ? "use --key-file"
                  : "use --passphrase-file, or give none to be asked for it on a terminal";
    throw InvalidArgument(fmt::format("{} does not go with --format {}, which takes a {}: {}",
                                      wrong[0], format, takes.key ? "key" : "passphrase",
                                      right.empty() ? instead : "leave it out"));
  }
  if (takes.key && keys.empty()) {
    throw InvalidArgument(fmt::format(
        "--format {} needs a key: use --key-file FILE (`paraes keygen -o FILE` makes a new one)",
        format));
  }
  refuse_two(right);
}

void check_encoding(const KeyOptions& options) {
  if (!options.given("key-encoding")) return;
  const std::string flag = options.flag("key-encoding");
  if (!options.given("key-file") && !options.given("key-command")) {
    throw InvalidArgument(fmt::format("{} goes with {}", flag, options.flag("key-file")));
  }
  static_cast<void>(pick(flag, key_encoding_choices, options.key_encoding));
}

// Whether `path` leads to the standard input of this process, as /dev/stdin does.
bool leads_to_standard_input(const std::string& path) {
  struct stat status = {};
  struct stat own = {};
  return stat(path.c_str(), &status) == 0 && fstat(STDIN_FILENO, &own) == 0 &&
         FileId(status) == FileId(own);
}

// Those of this process above standard error.
std::vector<int> open_descriptors() {
  std::vector<int> found;
  std::error_code error;
  for (std::filesystem::directory_iterator entry("/dev/fd", error), end; !error && entry != end;
       entry.increment(error)) {
    const std::string name = entry->path().filename();
    int number = 0;
    std::from_chars(name.data(), name.data() + name.size(), number);
    if (number > STDERR_FILENO) found.push_back(number);
  }
  if (!error) return found;
  // Without /dev and /proc. Shells use small numbers.
  constexpr int most = 1024;
  for (int number = STDERR_FILENO + 1; number < most; ++number) {
    if (fcntl(number, F_GETFD) >= 0) found.push_back(number);
  }
  return found;
}

std::vector<std::string> paths_of_secrets(const KeyOptions& options) {
  std::vector<std::string> paths = options.identities;
  if (options.given("key-file")) paths.push_back(options.key_file);
  if (options.given("passphrase-file")) paths.push_back(options.passphrase_file);
  return paths;
}

// age reads these files itself, perhaps several times.
void check_file_names(const KeyOptions& options, const char* name,
                      const std::vector<std::string>& files, bool data_on_stdin) {
  for (const std::string& file : files) {
    if (file.empty()) throw InvalidArgument(options.flag(name) + " has an empty name");
    if (holds_private_key(file)) {
      throw InvalidArgument(
          fmt::format("{} takes the name of a file, but a private key was given: anybody may have "
                      "seen it, so make a new one",
                      options.flag(name)));
    }
    if (file != "-" && !(data_on_stdin && leads_to_standard_input(file))) continue;
    throw InvalidArgument(
        fmt::format("{} cannot be standard input ({}): name a file", options.flag(name), file));
  }
}

}  // namespace

SecretKind KeyOptions::kind() const {
  if (!given_keys(*this).empty()) return SecretKind::key;
  return given_recipients(*this).empty() ? SecretKind::passphrase : SecretKind::recipients;
}

std::vector<std::string> KeyOptions::sources() const {
  std::vector<std::string> all = given_keys(*this);
  for (const auto& more : {given_passphrases(*this), given_recipients(*this)}) {
    all.insert(all.end(), more.begin(), more.end());
  }
  return all;
}

std::string KeyOptions::source() const {
  const auto all = sources();
  return all.empty() ? "the terminal" : all.front();
}

bool has_secret_on_stdin(const KeyOptions& options) {
  const auto paths = paths_of_secrets(options);
  struct stat secret = {};
  struct stat own = {};
  // Under another number, it is the same pipe.
  if (options.passphrase_fd && fstat(*options.passphrase_fd, &secret) == 0 &&
      fstat(STDIN_FILENO, &own) == 0 && FileId(secret) == FileId(own)) {
    return true;
  }
  return !secret_on_stdin(options).empty() ||
         std::any_of(paths.begin(), paths.end(), leads_to_standard_input);
}

void hide_descriptors(const KeyOptions& options) {
  const auto hide = [](int descriptor) {
    if (descriptor > STDERR_FILENO) fcntl(descriptor, F_SETFD, FD_CLOEXEC);
  };
  std::vector<FileId> secrets;
  if (options.passphrase_fd) {
    struct stat status = {};
    if (fstat(*options.passphrase_fd, &status) == 0) secrets.emplace_back(status);
  }
  for (const std::string& path : paths_of_secrets(options)) {
    struct stat status = {};
    if (stat(path.c_str(), &status) == 0) secrets.emplace_back(status);
  }
  if (secrets.empty()) return;
  for (const int descriptor : open_descriptors()) {
    struct stat status = {};
    if (fstat(descriptor, &status) != 0) continue;
    if (std::find(secrets.begin(), secrets.end(), FileId(status)) != secrets.end())
      hide(descriptor);
  }
}

std::string secret_on_stdin(const KeyOptions& options) {
  if (options.key_file == "-") return options.flag("key-file") + " -";
  if (options.passphrase_file == "-") return options.flag("passphrase-file") + " -";
  if (options.passphrase_fd == STDIN_FILENO) return options.flag("passphrase-fd") + " 0";
  return "";
}

namespace {

// The flag whose file is standard input by another name, if that is a pipe: data and secret would
// each get a part of it. Empty if there is none.
std::string secret_in_pipe_on_stdin(const KeyOptions& options) {
  struct stat own = {};
  if (fstat(STDIN_FILENO, &own) != 0 || !(S_ISFIFO(own.st_mode) || S_ISSOCK(own.st_mode)))
    return "";
  struct stat status = {};
  if (options.passphrase_fd && fstat(*options.passphrase_fd, &status) == 0 &&
      FileId(status) == FileId(own)) {
    return fmt::format("{} {}", options.flag("passphrase-fd"), *options.passphrase_fd);
  }
  for (const auto& [name, path] : {std::pair("key-file", &options.key_file),
                                   std::pair("passphrase-file", &options.passphrase_file)}) {
    if (options.given(name) && leads_to_standard_input(*path)) {
      return fmt::format("{} {}", options.flag(name), *path);
    }
  }
  return "";
}

}  // namespace

void check_secret_source(const KeyOptions& options, std::string_view format, SecretKinds takes,
                         bool data_on_stdin) {
  check_kinds(options, format, takes);
  check_encoding(options);
  check_file_names(options, "recipients-file", options.recipients_files, data_on_stdin);
  check_file_names(options, "identity", options.identities, data_on_stdin);
  std::string flag = secret_on_stdin(options);
  if (data_on_stdin && flag.empty()) flag = secret_in_pipe_on_stdin(options);
  if (data_on_stdin && !flag.empty()) {
    throw InvalidArgument(
        fmt::format("{} needs standard input, but the data comes from there; use a file", flag));
  }
}

std::vector<SecretFile> secret_files(const KeyOptions& options) {
  std::vector<SecretFile> files;
  const auto add = [&](int found, const struct stat& status, const std::string& flag) {
    const bool is_file = found == 0 && (S_ISREG(status.st_mode) || S_ISBLK(status.st_mode));
    if (is_file)
      files.push_back({FileId(status), flag, static_cast<mode_t>(status.st_mode & 07777)});
  };
  const auto add_path = [&](const char* name, const std::string& path) {
    struct stat status = {};
    const int found = path == "-" ? fstat(STDIN_FILENO, &status) : stat(path.c_str(), &status);
    add(found, status, options.flag(name));
  };
  if (options.given("key-file")) add_path("key-file", options.key_file);
  if (options.given("passphrase-file")) add_path("passphrase-file", options.passphrase_file);
  if (options.passphrase_fd) {
    struct stat status = {};
    add(fstat(*options.passphrase_fd, &status), status,
        fmt::format("{} {}", options.flag("passphrase-fd"), *options.passphrase_fd));
  }
  for (const std::string& path : options.identities) add_path("identity", path);
  const std::size_t secrets = files.size();
  for (const std::string& path : options.recipients_files) add_path("recipients-file", path);
  for (std::size_t i = secrets; i < files.size(); ++i) files[i].is_public = true;
  return files;
}

void warn_of_open_files(const std::vector<SecretFile>& files) {
  for (const SecretFile& file : files) {
    const bool readable = !file.is_public && (file.mode & S_IROTH) != 0;
    if (!readable && (file.mode & S_IWOTH) == 0) continue;
    say(fmt::format(
        "warning: the mode {:04o} of the file of {} lets all users {} it; `chmod {}` "
        "keeps them out",
        file.mode, file.flag, readable ? "read" : "change", file.is_public ? "o-w" : "600"));
  }
}

SecretBytes load_key(const KeyOptions& options, KeyUse use, const SecretReading& reading) {
  const std::string flag = options.flag("key-hex");
  if (options.given("key-command")) {
    const std::string name = options.flag("key-command");
    return decode_key_file(
        output_of_command(options.key_command, name, "key", max_key_file_bytes, reading), name, use,
        options.key_encoding);
  }
  if (!options.given("key-hex")) {
    const std::string name = input_name(options.key_file);
    return decode_key_file(read_key_file(options.key_file, name, max_key_file_bytes), name, use,
                           options.key_encoding);
  }
  if (!reading.quiet) {
    say(fmt::format("warning: {} shows the key in the process list; use {}", flag,
                    options.flag("key-file")));
  }
  SecretBytes digits = std::move(stashed_key_hex(flag));
  if (digits.empty()) throw InvalidArgument(flag + " has no digits");
  if (!is_hex(digits.span())) {
    throw InvalidArgument(flag + " has a character that is not a hex digit");
  }
  if (digits.size() % 2 != 0) {
    throw InvalidArgument(
        fmt::format("{} has {} digits, an odd number; a byte is two digits", flag, digits.size()));
  }
  return decode_key_file(std::move(digits), flag, use, "hex");
}

KeyFile read_key_or_keyset(const KeyOptions& options, const SecretReading& reading) {
  KeyFile file;
  if (options.given("key-command")) {
    file.name = options.flag("key-command");
    file.contents =
        output_of_command(options.key_command, file.name, "key", most_keyset_bytes, reading);
  } else {
    file.name = input_name(options.key_file);
    file.contents = read_key_file(options.key_file, file.name, most_keyset_bytes);
  }
  const Bytes text = file.contents.span();
  const auto* first = std::find_if(text.data(), text.data() + text.size(), [](std::uint8_t c) {
    return c != ' ' && c != '\t' && c != '\r' && c != '\n';
  });
  // A raw key may begin with a brace, too; but every keyset is longer than any key.
  file.is_keyset =
      text.size() > max_key_file_bytes && first != text.data() + text.size() && *first == '{';
  return file;
}

}  // namespace paraes::cli
