// Fuzzes values of flags and contents of key files: numbers, sizes, hex digits, patterns of names,
// suggestions for misspelt names, and keys. Each is refused with InvalidArgument, or it is the
// value that a few lines of other code find.

#include <cctype>
#include <limits>
#include <optional>

#include "cli/plan/exclude.hpp"
#include "cli/words/numbers.hpp"
#include "cli/words/sizes.hpp"
#include "cli/words/spelling.hpp"
#include "paraes/error.hpp"
#include "paraes/keys.hpp"
#include "tests/fuzz/input.hpp"
#include "tests/support/hex.hpp"

namespace paraes::fuzz {
namespace {

// Nothing if a call is refused.
template <class Call>
auto value_of(const Call& call) -> std::optional<decltype(call())> {
  try {
    return call();
  } catch (const InvalidArgument&) {
    return std::nullopt;
  }
}

// The digits of `text`, up to 2^64 - 1.
std::optional<std::uint64_t> digits(std::string_view text) {
  constexpr auto most = std::numeric_limits<std::uint64_t>::max();
  if (text.empty()) return std::nullopt;
  unsigned __int128 value = 0;
  for (const char c : text) {
    if (c < '0' || c > '9') return std::nullopt;
    value = 10 * value + static_cast<unsigned>(c - '0');
    if (value > most) return std::nullopt;
  }
  return static_cast<std::uint64_t>(value);
}

void check_number(Input& input, const std::string& text) {
  const auto least = input.ConsumeIntegral<std::uint64_t>();
  const auto most = input.ConsumeIntegral<std::uint64_t>();
  std::optional<std::uint64_t> expected = digits(text);
  if (expected && (*expected < least || *expected > most)) expected.reset();
  require(value_of([&] { return cli::parse_number(text, "--n", least, most); }) == expected);
}

// As docs/command-line.md says: K M G T, with iB or nothing, are binary, and kB MB GB TB decimal.
std::optional<std::uint64_t> size_in(const std::string& text) {
  const std::size_t end = std::min(text.find_first_not_of("0123456789"), text.size());
  const auto count = digits(text.substr(0, end));
  const std::string suffix = text.substr(end);
  if (!count) return std::nullopt;
  std::optional<unsigned __int128> factor;
  if (suffix.empty() || suffix == "B") factor = 1;
  unsigned __int128 binary = 1;
  unsigned __int128 decimal = 1;
  for (const std::string unit : {"K", "M", "G", "T"}) {
    binary *= 1024;
    decimal *= 1000;
    if (suffix == unit || suffix == unit + "iB") factor = binary;
    if (suffix == (unit == "K" ? "kB" : unit + "B")) factor = decimal;
  }
  if (!factor || *count * *factor > std::numeric_limits<std::int64_t>::max()) return std::nullopt;
  return static_cast<std::uint64_t>(*count * *factor);
}

void check_size(Input&, const std::string& text) {
  const auto value = value_of([&] { return cli::parse_size(text, "--size"); });
  require(value == size_in(text));
  if (!value) return;
  require(!cli::format_size(*value).empty());
  const std::string amount = cli::format_amount(*value);
  require(amount.size() < cli::AmountText().size() && amount.back() == 'B');
}

bool are_hex(std::string_view text) {
  return std::all_of(text.begin(), text.end(),
                     [](char c) { return std::isxdigit(static_cast<unsigned char>(c)) != 0; });
}

void check_hex(Input&, const std::string& text) {
  const auto bytes = value_of([&] { return cli::parse_hex(text, "--hex"); });
  require(bytes.has_value() == (text.size() % 2 == 0 && are_hex(text)));
  if (!bytes) return;
  std::string lower = text;
  for (char& c : lower) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  require(support::to_hex(*bytes) == lower);
}

void check_spelling(Input&, const std::string& word) {
  const std::vector<std::string> names = {"encrypt", "decrypt", "verify",   "rekey",     "info",
                                          "force",   "format",  "key-file", "key-bits",  "offset",
                                          "output",  "quiet",   "verbose",  "recursive", "update"};
  const std::vector<std::string> near = cli::similar_names(word, names);
  require(near.size() <= 4);
  for (const std::string& name : near) {
    require(std::find(names.begin(), names.end(), name) != names.end());
  }
  require(cli::did_you_mean(near).empty() == near.empty());
  for (const std::string& name : names) {
    if (word == name) require(!near.empty());
  }
}

// Patterns are those of fnmatch(3), with folders and paths.
void check_exclusions(Input& input, const std::string& pattern) {
  const std::string path = input.ConsumeRandomLengthString(30);
  const bool folder = input.ConsumeBool();
  if (pattern.find('\0') != std::string::npos || path.find('\0') != std::string::npos) return;
  const auto matches = [&](const std::vector<std::string>& patterns) {
    return value_of([&] { return cli::Exclusions(patterns).match(path, path, folder); });
  };
  const auto alone = matches({pattern});
  if (!alone) return;
  require(matches({}) == false);
  // Another pattern excludes more, and their order does not matter.
  require(matches({pattern, "*.tmp"}) == matches({"*.tmp", pattern}));
  if (*alone) require(matches({pattern, "*.tmp"}) == true);
  // Behind a slash, a pattern excludes folders only.
  if (!folder && pattern.back() == '/') require(!*alone);
  if (pattern == "*" && path.find('/') == std::string::npos && !path.empty()) require(*alone);
}

bool is_key_size(std::size_t bytes, KeyUse use) {
  if (use == KeyUse::xts) return bytes == 32 || bytes == 64;
  return bytes == 16 || bytes == 32 || (use == KeyUse::block && bytes == 24);
}

// The bytes of a key file, and what DESIGN.md says of them: the size decides.
void check_key(Input& input, const std::string& contents) {
  const KeyUse use = one_of(input, {KeyUse::block, KeyUse::xts, KeyUse::segments});
  const KeyEncoding encoding =
      one_of(input, {KeyEncoding::by_size, KeyEncoding::raw, KeyEncoding::hex});
  const Bytes bytes(reinterpret_cast<const std::uint8_t*>(contents.data()), contents.size());
  try {
    const SecretBytes key = decode_key(SecretBytes(bytes), "the key", use, encoding);
    require(is_key_size(key.size(), use));
    if (equal(key.span(), bytes)) {
      require(encoding != KeyEncoding::hex);
    } else {
      require(encoding != KeyEncoding::raw && contents.size() >= 2 * key.size());
      const std::string text = contents.substr(0, 2 * key.size());
      const std::string end = contents.substr(2 * key.size());
      require(are_hex(text) && (end.empty() || end == "\n" || end == "\r\n"));
      const auto expected = cli::parse_hex(text, "--key");
      require(equal(key.span(), expected));
      // Without the end of a line, it could be raw.
      require(encoding == KeyEncoding::hex || !end.empty());
    }
  } catch (const InvalidArgument&) {
    require(encoding != KeyEncoding::raw || !is_key_size(contents.size(), use));
  }
}

}  // namespace

void fuzz(Input& input) {
  const std::size_t what = number(input, 0, 5);
  const std::string text =
      what == 5 && input.ConsumeBool()
          ? std::string(number(input, 0, 130), 'a') + input.ConsumeRandomLengthString(3)
          : input.ConsumeRandomLengthString(140);
  constexpr void (*checks[])(Input&, const std::string&) = {
      check_number, check_size, check_hex, check_spelling, check_exclusions, check_key};
  checks[what](input, text);
}

}  // namespace paraes::fuzz
