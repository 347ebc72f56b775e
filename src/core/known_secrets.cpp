#include "paraes/known_secrets.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
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

// Without colons. Upper-case digits become lower-case ones, and control characters digits.
SecretBytes hex_digits(Bytes text) {
  SecretBytes lower(text);
  const auto end = std::remove(lower.begin(), lower.end(), ':');
  lower.truncate(static_cast<std::size_t>(end - lower.begin()));
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

// Without white space at either end.
Bytes stripped(Bytes text) noexcept {
  while (!text.empty() && is_space(text.back())) text = text.first(text.size() - 1);
  while (!text.empty() && is_space(text.front())) text = text.subspan(1);
  return text;
}

// Calls use(line) for each line, without white space at its ends.
void for_each_line(Bytes text, const auto& use) {
  while (!text.empty()) {
    const auto end = std::find(text.begin(), text.end(), '\n');
    const auto n = static_cast<std::size_t>(end - text.begin());
    use(stripped(text.first(n)));
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

// Copies leave parts of secrets in vector registers, which the dynamic loader saves on the stack:
// each function that makes copies ends with wipe_stack().

void KnownSecrets::add_key(Bytes key, const std::string& source) {
  add(Form::raw, SecretBytes(key), source);
  add(Form::hex, hex_of(key), source);
  add(Form::base64, base64_of(key), source);
  wipe_stack();
}

void KnownSecrets::add_passphrase(Bytes passphrase, const std::string& source) {
  add(Form::stripped, SecretBytes(stripped(passphrase)), source);
  add(Form::first_line, SecretBytes(stripped(passphrase)), source);
  wipe_stack();
}

void KnownSecrets::add_text(Bytes text, const std::string& source) {
  add(Form::spaceless, without_space(text), source);
  for_each_line(text, [&](Bytes line) {
    if (begins_with(line, "AGE-")) add(Form::line, SecretBytes(line), source);
  });
  wipe_stack();
}

bool KnownSecrets::fits(const Entry& entry, std::uint64_t file_bytes, Part part) noexcept {
  const std::size_t least = entry.bytes.size();
  if (file_bytes < least || file_bytes > most_file_bytes) return false;
  const Form form = entry.form;
  if (form == Form::raw) return file_bytes == least;
  if (form == Form::hex || form == Form::base64) return file_bytes <= 2 * least + 2;
  return part == Part::some || (form != Form::first_line && form != Form::line);
}

bool KnownSecrets::may_be_in(std::uint64_t file_bytes, Part part) const {
  const std::shared_lock lock(mutex_);
  return std::any_of(entries_.begin(), entries_.end(),
                     [&](const Entry& entry) { return fits(entry, file_bytes, part); });
}

std::optional<std::string> KnownSecrets::find(Bytes contents, Part part) const {
  const std::shared_lock lock(mutex_);
  const auto needs = [&](Form form) {
    return std::any_of(entries_.begin(), entries_.end(), [&](const Entry& entry) {
      return entry.form == form && fits(entry, contents.size(), part);
    });
  };
  // Copies for the forms alone that there are.
  SecretBytes spaceless;
  SecretBytes hex;
  SecretBytes base64;
  const bool needs_hex = needs(Form::hex);
  const bool needs_base64 = needs(Form::base64);
  if (needs_hex || needs_base64 || needs(Form::spaceless)) spaceless = without_space(contents);
  if (needs_hex) hex = hex_digits(spaceless.span());
  if (needs_base64) base64 = standard_base64(without_padding(spaceless.span()));
  const Bytes all = stripped(contents);
  const auto line_end = std::find(all.begin(), all.end(), '\n');
  const Bytes first_line = stripped(all.first(static_cast<std::size_t>(line_end - all.begin())));
  // The bytes to compare with an entry, by the form of the entry.
  const std::array<Bytes, 6> whole = {contents, hex.span(), base64.span(),
                                      all,      first_line, spaceless.span()};
  // Only the answer is a branch: each comparison is made, whatever the others have found.
  std::size_t found = entries_.size();
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    if (!fits(entries_[i], contents.size(), part)) continue;
    const Bytes wanted = entries_[i].bytes.span();
    bool equal = false;
    if (entries_[i].form == Form::line) {
      for_each_line(contents, [&](Bytes line) { equal |= constant_time_equal(wanted, line); });
    } else {
      equal = constant_time_equal(wanted, whole[static_cast<std::size_t>(entries_[i].form)]);
    }
    const std::size_t mask = ~std::size_t{equal} + 1;
    found = (found & ~mask) | (i & mask);
  }
  if (found == entries_.size()) return std::nullopt;
  return entries_[found].source;
}

std::optional<std::string> KnownSecrets::find_in(int descriptor, Part part) const {
  struct stat status = {};
  if (fstat(descriptor, &status) != 0 || !S_ISREG(status.st_mode) || status.st_size <= 0) {
    return std::nullopt;
  }
  const auto size = static_cast<std::uint64_t>(status.st_size);
  if (!may_be_in(size, part)) return std::nullopt;
  SecretBytes contents(static_cast<std::size_t>(size));
  std::size_t n = 0;
  const auto read_to = [&](std::size_t end) {
    while (n < end) {
      const ssize_t got = pread(descriptor, contents.data() + n, end - n, static_cast<off_t>(n));
      if (got < 0 && errno == EINTR) continue;
      if (got <= 0) return;
      n += static_cast<std::size_t>(got);
    }
  };
  // Most files, such as those in the format paraes, are not text: their beginning shows it. A text
  // is all of a file, or a line of it, only there.
  constexpr std::size_t beginning = 512;
  if (size > 2 * beginning) {
    read_to(beginning);
    const Bytes read = Bytes(contents.span()).first(n);
    if (std::find(read.begin(), read.end(), '\0') != read.end() && !may_have_nul(size)) {
      return std::nullopt;
    }
  }
  read_to(contents.size());
  contents.truncate(n);
  auto source = find(contents.span(), part);
  wipe_stack();
  return source;
}

bool KnownSecrets::may_have_nul(std::uint64_t file_bytes) const {
  const std::shared_lock lock(mutex_);
  return std::any_of(entries_.begin(), entries_.end(), [&](const Entry& entry) {
    const bool any_bytes =
        entry.form == Form::raw || entry.form == Form::stripped || entry.form == Form::first_line;
    const Bytes bytes = entry.bytes.span();
    return any_bytes && fits(entry, file_bytes, Part::some) &&
           (entry.form == Form::raw || std::find(bytes.begin(), bytes.end(), '\0') != bytes.end());
  });
}

}  // namespace paraes
