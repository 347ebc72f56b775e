#include "cli/secrets/keys.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <utility>

#include "cli/arguments/arguments.hpp"
#include "cli/streams/input.hpp"
#include "cli/terminal/messages.hpp"
#include "cli/words/errors.hpp"
#include "paraes/error.hpp"
#include "src/core/system/folder.hpp"

namespace paraes::cli {
namespace {

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

// Reads the key that a flag other than --key-hex names: at most `most` bytes.
KeyFile read_contents(const SecretSources& sources, std::size_t most,
                      const SecretReading& reading) {
  KeyFile file;
  if (sources.key_command) {
    file.name = sources.flag("key-command");
    file.contents = output_of_command(*sources.key_command, file.name, "key", most, reading);
  } else {
    file.name = fmt::format("{} {}", sources.flag("key-file"), input_name(*sources.key_file));
    file.contents = read_key_file(*sources.key_file, file.name, most);
  }
  return file;
}

// The open descriptors of this process above standard error.
std::vector<int> open_descriptors() {
  std::vector<int> found;
  const auto add = [&](std::string_view name) {
    int number = 0;
    std::from_chars(name.data(), name.data() + name.size(), number);
    if (number > STDERR_FILENO) found.push_back(number);
  };
  if (system::visit_names(AT_FDCWD, "/dev/fd", add)) return found;
  // Without /dev and /proc. Shells use small numbers.
  constexpr int most = 1024;
  for (int number = STDERR_FILENO + 1; number < most; ++number) {
    if (fcntl(number, F_GETFD) >= 0) found.push_back(number);
  }
  return found;
}

}  // namespace

SecretBytes decode_key_file(SecretBytes contents, std::string_view name, KeyUse use,
                            std::optional<KeyEncoding> encoding) {
  try {
    return decode_key(std::move(contents), name, use, encoding.value_or(KeyEncoding::by_size));
  } catch (const WrongKeySize& error) {
    throw refusal("{} (`paraes keygen{} -o FILE` makes a new one)", error.what(),
                  use == KeyUse::xts ? " --mode xts" : "");
  } catch (const AmbiguousKey& error) {
    throw refusal("{}; say which with --key-encoding hex or --key-encoding raw", error.what());
  }
}

void hide_descriptors(const SecretSources& sources) {
  std::vector<FileId> secrets;
  if (sources.passphrase_fd) {
    struct stat status = {};
    if (fstat(*sources.passphrase_fd, &status) == 0) secrets.emplace_back(status);
  }
  for (const SecretSources::File& file : sources.files()) {
    struct stat status = {};
    if (!file.is_public && stat(file.path.c_str(), &status) == 0) secrets.emplace_back(status);
  }
  if (secrets.empty()) return;
  for (const int descriptor : open_descriptors()) {
    struct stat status = {};
    if (fstat(descriptor, &status) != 0) continue;
    if (std::find(secrets.begin(), secrets.end(), FileId(status)) != secrets.end()) {
      fcntl(descriptor, F_SETFD, FD_CLOEXEC);
    }
  }
}

SecretBytes load_key(const SecretSources& sources, KeyUse use, const SecretReading& reading) {
  if (sources.key_command || !sources.key_hex) {
    KeyFile file = read_contents(sources, max_key_file_bytes, reading);
    return decode_key_file(std::move(file.contents), file.name, use, sources.key_encoding);
  }
  const std::string flag = sources.flag("key-hex");
  if (!reading.quiet) {
    say("warning: {} shows the key in the process list; use {}", flag, sources.flag("key-file"));
  }
  SecretBytes digits = take_key_hex(flag);
  if (digits.empty()) throw InvalidArgument(flag + " has no digits");
  if (!is_hex(digits.span())) {
    throw InvalidArgument(flag + " has a character that is not a hex digit");
  }
  if (digits.size() % 2 != 0) {
    throw refusal("{} has {} digits, an odd number; a byte is two digits", flag, digits.size());
  }
  return decode_key_file(std::move(digits), flag, use, KeyEncoding::hex);
}

KeyFile read_key_or_keyset(const SecretSources& sources, const SecretReading& reading) {
  KeyFile file = read_contents(sources, most_keyset_bytes, reading);
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
