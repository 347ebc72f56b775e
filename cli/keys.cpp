#include "cli/keys.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <limits>
#include <string_view>
#include <system_error>
#include <utility>

#include "cli/input.hpp"
#include "cli/numbers.hpp"
#include "cli/report.hpp"
#include "paraes/error.hpp"
#include "paraes/io.hpp"

namespace paraes::cli {
namespace {

// The argument of --key-hex. Static, because it is taken before options are parsed.
SecretBytes& stashed_key_hex() {
  static SecretBytes digits;
  return digits;
}

int digit_value(std::uint8_t c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

bool all_hex(Bytes text) {
  return std::all_of(text.begin(), text.end(), [](std::uint8_t c) { return digit_value(c) >= 0; });
}

// `digits` is all hex and of even size.
SecretBytes decode_hex(Bytes digits) {
  SecretBytes bytes(digits.size() / 2);
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    bytes.data()[i] =
        static_cast<std::uint8_t>(16 * digit_value(digits[2 * i]) + digit_value(digits[2 * i + 1]));
  }
  return bytes;
}

bool is_key_size(std::size_t bytes, KeyUse use) {
  switch (use) {
    case KeyUse::block:
      return bytes == 16 || bytes == 24 || bytes == 32;
    case KeyUse::xts:
      return bytes == 32 || bytes == 64;
    case KeyUse::segments:
      break;
  }
  return bytes == 16 || bytes == 32;
}

const char* sizes_text(KeyUse use) {
  switch (use) {
    case KeyUse::block:
      return "an AES key has 16, 24 or 32 bytes";
    case KeyUse::xts:
      return "an XTS key has 32 bytes (AES-128) or 64 (AES-256), both halves together";
    case KeyUse::segments:
      break;
  }
  return "a key of the authenticated formats has 16 or 32 bytes";
}

// Throws the error for a key of `bytes` bytes. `how`: how its bytes were counted, for the message.
[[noreturn]] void wrong_size(std::string_view name, std::size_t bytes, std::string_view how,
                             KeyUse use) {
  if (use == KeyUse::xts && bytes == 48) {
    throw InvalidArgument(fmt::format(
        "{}: the key has 48 bytes{}: there is no AES-192-XTS (SP 800-38E); use 32 bytes for "
        "AES-128 or 64 for AES-256 (`paraes keygen --mode xts -o FILE` makes a new one)",
        name, how));
  }
  throw InvalidArgument(fmt::format(
      "{}: the key has {} bytes{}; {}{} (`paraes keygen -o FILE` makes a new one)", name, bytes,
      how, sizes_text(use), how.empty() ? ", or twice that in hex digits and a newline" : ""));
}

// `text` without one final LF or CRLF.
Bytes without_newline(Bytes text) {
  if (!text.empty() && text.back() == '\n') {
    text = text.first(text.size() - 1);
    if (!text.empty() && text.back() == '\r') text = text.first(text.size() - 1);
  }
  return text;
}

// Two hex digits per byte, and CRLF.
constexpr std::size_t most_key_bytes = 2 * 64 + 2;
constexpr std::size_t most_keyset_bytes = std::size_t{64} << 10;

// Throws InvalidArgument for a file of more than `most` bytes.
SecretBytes read_key_file(const std::string& path, std::string_view name, std::size_t most) {
  Input input = open_input(path, name);
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
  constexpr std::string_view flag = "--key-hex";
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    if (argument == "--") return;
    char* digits = nullptr;
    if (argument == flag && i + 1 < argc) {
      digits = argv[++i];
    } else if (argument.size() > flag.size() && argument.substr(0, flag.size()) == flag &&
               argument[flag.size()] == '=') {
      digits = argv[i] + flag.size() + 1;
    }
    if (digits == nullptr) continue;
    const std::size_t n = std::strlen(digits);
    stashed_key_hex() = SecretBytes(Bytes(reinterpret_cast<const std::uint8_t*>(digits), n));
    std::memset(digits, 'x', n);
  }
}

SecretBytes decode_key_file(SecretBytes contents, std::string_view name, KeyUse use,
                            std::string_view encoding) {
  const Bytes all = contents.span();
  const Bytes text = without_newline(all);
  const bool newline = text.size() != all.size();
  const bool hex = !text.empty() && text.size() % 2 == 0 && all_hex(text);
  const std::size_t half = text.size() / 2;

  if (encoding == "raw") {
    if (!is_key_size(all.size(), use)) wrong_size(name, all.size(), " as raw bytes", use);
    return contents;
  }
  if (encoding == "hex") {
    if (!hex) {
      throw InvalidArgument(fmt::format(
          "{}: its {} bytes are not an even number of hex digits and a newline", name, all.size()));
    }
    if (!is_key_size(half, use)) wrong_size(name, half, " after decoding its hex digits", use);
    return decode_hex(text);
  }
  if (hex && newline && is_key_size(half, use)) return decode_hex(text);
  // A raw key may happen to consist of hex digits: refuse to guess.
  if (hex && is_key_size(half, use)) {
    throw InvalidArgument(fmt::format(
        "{}: it has {} hex digits and no newline: it could be hex or raw; say which with "
        "--key-encoding hex or --key-encoding raw",
        name, text.size()));
  }
  if (is_key_size(all.size(), use)) return contents;
  if (hex && newline) wrong_size(name, half, " after decoding its hex digits", use);
  wrong_size(name, all.size(), "", use);
}

void add_key_options(CLI::App& verb, KeyOptions& options) {
  const auto add = [&verb](const char* flag, auto& value, const char* type, const char* text) {
    return verb.add_option(flag, value, text)->type_name(type)->group("Keys");
  };
  options.key_file_option =
      add("-k,--key-file", options.key_file, "FILE",
          "Key of 16 or 32 bytes (raw: also 24, XTS 64), or a Tink keyset; - is standard input.");
  options.key_encoding_option = add("--key-encoding", options.key_encoding, "raw|hex",
                                    "How to read the key file, if its size is ambiguous.");
  options.key_hex_option = add("--key-hex", options.key_hex, "HEX",
                               "Key in hex; only for tests: the process list shows it.");
  options.passphrase_file_option =
      add("--passphrase-file", options.passphrase_file, "FILE",
          "Passphrase from a file, without one final newline (openssl: its first line).");
  constexpr Range descriptors = {0, std::numeric_limits<int>::max()};
  add_number(verb, "--passphrase-fd", options.passphrase_fd, descriptors,
             "Passphrase from an open file descriptor, like that of a file.")
      ->group("Keys");
  options.passphrase_env_option = add("--passphrase-env", options.passphrase_env, "VAR",
                                      "Passphrase from an environment variable.");
  options.passphrase_command_option = add("--passphrase-command", options.passphrase_command, "CMD",
                                          "Passphrase that a shell command prints, like a file's.");
}

namespace {

std::vector<const char*> given_key_sources(const KeyOptions& options) {
  std::vector<const char*> given;
  if (options.key_file_option->count() != 0) given.push_back("--key-file");
  if (options.key_hex_option->count() != 0) given.push_back("--key-hex");
  return given;
}

std::vector<const char*> given_passphrase_sources(const KeyOptions& options) {
  std::vector<const char*> given;
  if (options.passphrase_file_option->count() != 0) given.push_back("--passphrase-file");
  if (options.passphrase_fd) given.push_back("--passphrase-fd");
  if (options.passphrase_env_option->count() != 0) given.push_back("--passphrase-env");
  if (options.passphrase_command_option->count() != 0) given.push_back("--passphrase-command");
  return given;
}

// Throws InvalidArgument if there are two sources of secrets.
void refuse_two(const std::vector<const char*>& sources) {
  if (sources.size() < 2) return;
  throw InvalidArgument(fmt::format("give one of the two: {} or {}", sources[0], sources[1]));
}

void refuse_stdin_twice(const char* flag) {
  throw InvalidArgument(
      fmt::format("{} needs standard input, but the data comes from there; use a file", flag));
}

}  // namespace

bool has_key_source(const KeyOptions& options) { return !given_key_sources(options).empty(); }

void refuse_two_sources(const KeyOptions& options) {
  std::vector<const char*> sources = given_key_sources(options);
  const auto passphrases = given_passphrase_sources(options);
  sources.insert(sources.end(), passphrases.begin(), passphrases.end());
  refuse_two(sources);
}

std::vector<SecretFile> secret_files(const KeyOptions& options) {
  std::vector<SecretFile> files;
  const auto add = [&](int found, const struct stat& status, const std::string& flag) {
    const bool is_file = found == 0 && (S_ISREG(status.st_mode) || S_ISBLK(status.st_mode));
    if (is_file)
      files.push_back({FileId(status), flag, static_cast<mode_t>(status.st_mode & 07777)});
  };
  const auto add_path = [&](const CLI::Option& option, const std::string& path) {
    if (option.count() == 0) return;
    struct stat status = {};
    const int found = path == "-" ? fstat(STDIN_FILENO, &status) : stat(path.c_str(), &status);
    add(found, status, option.get_name());
  };
  add_path(*options.key_file_option, options.key_file);
  add_path(*options.passphrase_file_option, options.passphrase_file);
  if (options.passphrase_fd) {
    struct stat status = {};
    add(fstat(*options.passphrase_fd, &status), status,
        fmt::format("--passphrase-fd {}", *options.passphrase_fd));
  }
  return files;
}

void warn_of_open_files(const std::vector<SecretFile>& files) {
  for (const SecretFile& file : files) {
    if ((file.mode & (S_IROTH | S_IWOTH)) == 0) continue;
    say(
        fmt::format("warning: the mode {:04o} of the file of {} lets all users {} it; `chmod 600` "
                    "keeps them out",
                    file.mode, file.flag, (file.mode & S_IROTH) != 0 ? "read" : "change"));
  }
}

void check_key_source(const KeyOptions& options, std::string_view format, bool data_on_stdin) {
  const auto wrong = given_passphrase_sources(options);
  const auto given = given_key_sources(options);
  if (!wrong.empty()) {
    throw InvalidArgument(fmt::format("{} does not go with --format {}, which takes a key: {}",
                                      wrong[0], format,
                                      given.empty() ? "use --key-file" : "leave it out"));
  }
  if (given.empty()) {
    throw InvalidArgument(fmt::format(
        "--format {} needs a key: use --key-file FILE (`paraes keygen -o FILE` makes a new one)",
        format));
  }
  refuse_two(given);
  const bool file = options.key_file_option->count() != 0;
  if (options.key_encoding_option->count() != 0) {
    if (!file) throw InvalidArgument("--key-encoding goes with --key-file");
    if (options.key_encoding != "raw" && options.key_encoding != "hex") {
      throw InvalidArgument(
          fmt::format("--key-encoding is raw or hex, not '{}'", options.key_encoding));
    }
  }
  if (file && options.key_file == "-" && data_on_stdin) refuse_stdin_twice("--key-file -");
}

void check_passphrase_source(const KeyOptions& options, std::string_view format,
                             bool data_on_stdin) {
  const auto wrong = given_key_sources(options);
  const auto given = given_passphrase_sources(options);
  if (!wrong.empty()) {
    throw InvalidArgument(fmt::format(
        "{} does not go with --format {}, which takes a passphrase: {}", wrong[0], format,
        given.empty() ? "use --passphrase-file, or give none to be asked for it on a terminal"
                      : "leave it out"));
  }
  if (options.key_encoding_option->count() != 0) {
    throw InvalidArgument("--key-encoding goes with --key-file");
  }
  refuse_two(given);
  if (!data_on_stdin) return;
  if (options.passphrase_fd == STDIN_FILENO) refuse_stdin_twice("--passphrase-fd 0");
  if (options.passphrase_file_option->count() != 0 && options.passphrase_file == "-") {
    refuse_stdin_twice("--passphrase-file -");
  }
}

SecretBytes load_key(const KeyOptions& options, KeyUse use, bool quiet) {
  if (options.key_hex_option->count() == 0) {
    const std::string name = input_name(options.key_file);
    return decode_key_file(read_key_file(options.key_file, name, most_key_bytes), name, use,
                           options.key_encoding);
  }
  if (!quiet) say("warning: --key-hex shows the key in the process list; use --key-file");
  const SecretBytes digits = std::move(stashed_key_hex());
  constexpr const char* name = "--key-hex";
  if (digits.empty()) throw InvalidArgument("--key-hex has no digits");
  if (!all_hex(digits.span())) {
    throw InvalidArgument("--key-hex has a character that is not a hex digit");
  }
  if (digits.size() % 2 != 0) {
    throw InvalidArgument(
        fmt::format("--key-hex has {} digits, an odd number; a byte is two digits", digits.size()));
  }
  if (!is_key_size(digits.size() / 2, use)) {
    wrong_size(name, digits.size() / 2, fmt::format(" ({} digits)", digits.size()), use);
  }
  return decode_hex(digits.span());
}

KeyFile read_key_or_keyset(const KeyOptions& options) {
  KeyFile file;
  file.name = input_name(options.key_file);
  file.contents = read_key_file(options.key_file, file.name, most_keyset_bytes);
  const Bytes text = file.contents.span();
  const auto* first = std::find_if(text.data(), text.data() + text.size(), [](std::uint8_t c) {
    return c != ' ' && c != '\t' && c != '\r' && c != '\n';
  });
  // A raw key may begin with a brace, too; but every keyset is longer than any key.
  file.is_keyset =
      text.size() > most_key_bytes && first != text.data() + text.size() && *first == '{';
  return file;
}

}  // namespace paraes::cli
