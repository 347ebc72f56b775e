#include "paraes/known_secrets.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <mutex>
#include <string_view>
#include <utility>

#include "paraes/keys.hpp"

namespace paraes {
namespace {

// The digits are computed: a table would show them to the caches.

std::uint8_t hex_digit(unsigned value) noexcept {
  return static_cast<std::uint8_t>('0' + value + (((9U - value) >> 8U) & ('a' - '0' - 10U)));
}

SecretBytes hex_of(Bytes data) {
  SecretBytes digits(2 * data.size());
  for (std::size_t i = 0; i < data.size(); ++i) {
    digits.data()[2 * i] = hex_digit(data[i] >> 4U);
    digits.data()[2 * i + 1] = hex_digit(data[i] & 15U);
  }
  return digits;
}

std::uint8_t base64_digit(unsigned value) noexcept {
  unsigned digit = 'A' + value;
  digit += ((25U - value) >> 8U) & 6U;   // a to z
  digit -= ((51U - value) >> 8U) & 75U;  // 0 to 9
  digit -= ((61U - value) >> 8U) & 15U;  // +
  digit += ((62U - value) >> 8U) & 3U;   // /
  return static_cast<std::uint8_t>(digit);
}

// Without padding.
SecretBytes base64_of(Bytes data) {
  SecretBytes digits((4 * data.size() + 2) / 3);
  unsigned held = 0;
  unsigned bits = 0;
  std::size_t done = 0;
  for (const std::uint8_t byte : data) {
    held = (held << 8U | byte) & 0xffffU;
    bits += 8;
    for (; bits >= 6; bits -= 6) digits.data()[done++] = base64_digit(held >> (bits - 6) & 63U);
  }
  if (bits != 0) digits.data()[done] = base64_digit(held << (6 - bits) & 63U);
  return digits;
}

// 0xff where a byte is `what`, else 0.
std::uint8_t is_byte(std::uint8_t byte, char what) noexcept {
  const unsigned differs = byte ^ static_cast<std::uint8_t>(what);
  return static_cast<std::uint8_t>((differs - 1U) >> 8U);
}

// Upper-case digits become lower-case ones, and control characters digits.
SecretBytes lower_case(Bytes text) {
  SecretBytes lower(text);
  for (std::uint8_t& byte : lower) byte |= 0x20U;
  return lower;
}

// From base64url.
SecretBytes standard_base64(Bytes text) {
  SecretBytes standard(text);
  for (std::uint8_t& byte : standard) {
    const std::uint8_t minus = is_byte(byte, '-');
    const std::uint8_t underscore = is_byte(byte, '_');
    byte ^= static_cast<std::uint8_t>((minus & ('-' ^ '+')) | (underscore & ('_' ^ '/')));
  }
  return standard;
}

Bytes without_padding(Bytes text) noexcept {
  for (int i = 0; i < 2 && !text.empty() && text.back() == '='; ++i) {
    text = text.first(text.size() - 1);
  }
  return text;
}

bool is_space(std::uint8_t byte) noexcept { return byte == ' ' || (byte >= '\t' && byte <= '\r'); }

SecretBytes without_space(Bytes text) {
  SecretBytes rest(text);
  const auto end = std::remove_if(rest.begin(), rest.end(), is_space);
  rest.truncate(static_cast<std::size_t>(end - rest.begin()));
  return rest;
}

// Calls use(line) for each line, without its end.
template <class Use>
void for_each_line(Bytes text, const Use& use) {
  while (!text.empty()) {
    const auto end = std::find(text.begin(), text.end(), '\n');
    const auto n = static_cast<std::size_t>(end - text.begin());
    Bytes line = text.first(n);
    if (!line.empty() && line.back() == '\r') line = line.first(n - 1);
    use(line);
    text = text.subspan(std::min(n + 1, text.size()));
  }
}

bool begins_with(Bytes text, std::string_view word) noexcept {
  return text.size() >= word.size() && std::equal(word.begin(), word.end(), text.begin());
}

}  // namespace

void KnownSecrets::add(Form form, SecretBytes bytes, const std::string& source) {
  if (bytes.empty()) return;
  const std::lock_guard lock(mutex_);
  entries_.push_back({form, std::move(bytes), source});
}

// Copies leave parts of secrets in vector registers, which the dynamic loader saves on the stack: each
// function that makes copies ends with wipe_stack().

void KnownSecrets::add_key(Bytes key, const std::string& source) {
  add(Form::raw, SecretBytes(key), source);
  add(Form::hex, hex_of(key), source);
  add(Form::base64, base64_of(key), source);
  wipe_stack();
}

void KnownSecrets::add_passphrase(Bytes passphrase, const std::string& source) {
  add(Form::whole, SecretBytes(passphrase), source);
  wipe_stack();
}

void KnownSecrets::add_first_line(Bytes passphrase, const std::string& source) {
  add(Form::first_line, SecretBytes(passphrase), source);
  wipe_stack();
}

void KnownSecrets::add_text(Bytes text, const std::string& source) {
  add(Form::spaceless, without_space(text), source);
  for_each_line(text, [&](Bytes line) {
    if (begins_with(line, "AGE-")) add(Form::line, SecretBytes(line), source);
  });
  wipe_stack();
}

bool KnownSecrets::may_be_in(std::uint64_t file_bytes) const {
  if (file_bytes > most_file_bytes) return false;
  constexpr std::size_t newline = 2;
  constexpr std::size_t padding = 2;
  const std::shared_lock lock(mutex_);
  return std::any_of(entries_.begin(), entries_.end(), [&](const Entry& entry) {
    const std::size_t least = entry.bytes.size();
    if (file_bytes < least) return false;
    switch (entry.form) {
      case Form::raw:
        return file_bytes == least;
      case Form::hex:
      case Form::whole:
        return file_bytes <= least + newline;
      case Form::base64:
        return file_bytes <= least + padding + newline;
      case Form::first_line:
      case Form::spaceless:
      case Form::line:
        break;
    }
    return true;
  });
}

std::optional<std::string> KnownSecrets::find(Bytes contents) const {
  if (!may_be_in(contents.size())) return std::nullopt;
  const Bytes text = without_newline(contents);
  const SecretBytes lower = lower_case(text);
  const SecretBytes base64 = standard_base64(without_padding(text));
  const SecretBytes spaceless = without_space(contents);
  const auto line_end = std::find(contents.begin(), contents.end(), '\n');
  const Bytes first_line = contents.first(static_cast<std::size_t>(line_end - contents.begin()));
  const std::shared_lock lock(mutex_);
  // Only the answer is a branch: each comparison is made, whatever the others have found.
  std::size_t found = entries_.size();
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    const Bytes wanted = entries_[i].bytes.span();
    bool equal = false;
    switch (entries_[i].form) {
      case Form::raw:
        equal = constant_time_equal(wanted, contents);
        break;
      case Form::hex:
        equal = constant_time_equal(wanted, lower.span());
        break;
      case Form::base64:
        equal = constant_time_equal(wanted, base64.span());
        break;
      case Form::whole:
        equal = constant_time_equal(wanted, text);
        equal |= constant_time_equal(wanted, contents);
        break;
      case Form::spaceless:
        equal = constant_time_equal(wanted, spaceless.span());
        break;
      case Form::first_line:
        equal = constant_time_equal(wanted, first_line);
        break;
      case Form::line:
        for_each_line(contents, [&](Bytes line) { equal |= constant_time_equal(wanted, line); });
        break;
    }
    const std::size_t mask = ~std::size_t{equal} + 1;
    found = (found & ~mask) | (i & mask);
  }
  if (found == entries_.size()) return std::nullopt;
  return entries_[found].source;
}

std::optional<std::string> KnownSecrets::find_in(int descriptor) const {
  struct stat status = {};
  if (fstat(descriptor, &status) != 0 || !S_ISREG(status.st_mode) || status.st_size <= 0) {
    return std::nullopt;
  }
  if (!may_be_in(static_cast<std::uint64_t>(status.st_size))) return std::nullopt;
  SecretBytes contents(static_cast<std::size_t>(status.st_size));
  std::size_t n = 0;
  while (n < contents.size()) {
    const ssize_t got =
        pread(descriptor, contents.data() + n, contents.size() - n, static_cast<off_t>(n));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    n += static_cast<std::size_t>(got);
  }
  contents.truncate(n);
  auto source = find(contents.span());
  wipe_stack();
  return source;
}

}  // namespace paraes
