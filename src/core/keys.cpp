#include "paraes/keys.hpp"

#include <algorithm>
#include <cstdint>

namespace paraes {
namespace {

int digit_value(std::uint8_t c) noexcept {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
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

const char* sizes_text(KeyUse use) noexcept {
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

bool is_key_size(std::size_t bytes, KeyUse use) noexcept {
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

// Throws the error for a key of `bytes` bytes. `how`: how its bytes were counted.
[[noreturn]] void wrong_size(std::string_view name, std::size_t bytes, std::string_view how,
                             KeyUse use) {
  std::string text(name);
  text.append(": the key has ").append(std::to_string(bytes)).append(" bytes").append(how);
  if (use == KeyUse::xts && bytes == 48) {
    throw WrongKeySize(text.append(
        ": there is no AES-192-XTS (SP 800-38E); use 32 bytes for AES-128 or 64 for AES-256"));
  }
  text.append("; ").append(sizes_text(use));
  if (how.empty()) text.append(", or twice that in hex digits and a newline");
  throw WrongKeySize(text);
}

}  // namespace

bool is_hex(Bytes text) noexcept {
  return std::all_of(text.begin(), text.end(), [](std::uint8_t c) { return digit_value(c) >= 0; });
}

Bytes without_newline(Bytes text) noexcept {
  if (!text.empty() && text.back() == '\n') {
    text = text.first(text.size() - 1);
    if (!text.empty() && text.back() == '\r') text = text.first(text.size() - 1);
  }
  return text;
}

SecretBytes decode_key(SecretBytes contents, std::string_view name, KeyUse use,
                       KeyEncoding encoding) {
  const Bytes all = contents.span();
  const Bytes text = without_newline(all);
  const bool newline = text.size() != all.size();
  const bool hex = !text.empty() && text.size() % 2 == 0 && is_hex(text);
  const std::size_t half = text.size() / 2;

  switch (encoding) {
    case KeyEncoding::raw:
      if (!is_key_size(all.size(), use)) wrong_size(name, all.size(), " as raw bytes", use);
      return contents;
    case KeyEncoding::hex:
      if (!hex) {
        throw InvalidArgument(std::string(name) + ": its " + std::to_string(all.size()) +
                              " bytes are not an even number of hex digits and a newline");
      }
      if (!is_key_size(half, use)) wrong_size(name, half, " after decoding its hex digits", use);
      return decode_hex(text);
    case KeyEncoding::by_size:
      break;
  }
  if (hex && newline && is_key_size(half, use)) return decode_hex(text);
  // A raw key may happen to consist of hex digits: refuse to guess.
  if (hex && is_key_size(half, use)) {
    throw AmbiguousKey(std::string(name) + ": it has " + std::to_string(text.size()) +
                       " hex digits and no newline: it could be hex or raw");
  }
  if (is_key_size(all.size(), use)) return contents;
  if (hex && newline) wrong_size(name, half, " after decoding its hex digits", use);
  wrong_size(name, all.size(), "", use);
}

}  // namespace paraes
