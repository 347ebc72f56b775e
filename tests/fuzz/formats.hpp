// Whole messages of the formats, opened in memory.
#pragma once

#include <optional>

#include "paraes/error.hpp"
#include "paraes/messages.hpp"
#include "tests/fuzz/any_message.hpp"

namespace paraes::fuzz {

// Whether the error is one of those that a reader of damaged data expects.
template <class Action>
[[nodiscard]] bool refuses(const Action& action) {
  try {
    action();
  } catch (const WrongKey&) {
    return true;
  } catch (const IntegrityError&) {
    return true;
  }
  return false;
}

// The plaintext of a message whose header was opened; nothing if it is not intact.
[[nodiscard]] inline std::optional<Buffer> open_whole(const Message& message, Bytes given) {
  Buffer plain;
  WholeMessage whole{.message = &message, .in = given, .out = {}, .error = {}};
  const bool has_size = !throws<IntegrityError>([&] {
    plain.resize(static_cast<std::size_t>(message.layout().extent_of(given.size()).plain_bytes));
  });
  whole.out = plain;
  open_messages({&whole, 1});
  if (whole.error == nullptr) return plain;
  require(!has_size || all_zero(plain));
  require(throws<IntegrityError>([&] { std::rethrow_exception(whole.error); }));
  return std::nullopt;
}

// Seals a message, which must have the bytes of OpenSSL's.
inline void check_sealing(const Message& message, const Derived& expected, const Buffer& plain) {
  require(equal(message.header(), expected.header));
  Buffer sealed(static_cast<std::size_t>(message.layout().sealed_bytes(plain.size())));
  WholeMessage whole{.message = &message, .in = plain, .out = sealed, .error = {}};
  seal_messages({&whole, 1});
  require(whole.error == nullptr);
  require(equal(sealed, joined(expected.header, seal_by_evp(expected, plain))));
}

// Opens a message and compares the result with OpenSSL's. open(header) makes the message of a
// header; derive(header) makes it with OpenSSL, or returns nothing if the header is not one of this
// key.
template <class Open, class Derive>
void check_opening(Bytes given, std::size_t header_bytes, const Open& open, const Derive& derive) {
  std::optional<Buffer> plain;
  const Bytes header = given.first(std::min(given.size(), header_bytes));
  static_cast<void>(refuses([&] { plain = open_whole(open(header), given); }));
  const std::optional<Derived> derived =
      header.size() == header_bytes ? derive(header) : std::nullopt;
  std::optional<Buffer> expected;
  if (derived) {
    Opened opened = open_by_evp(*derived, given.subspan(header_bytes));
    if (opened.intact()) expected = std::move(opened.plain);
  }
  require(plain == expected);
}

}  // namespace paraes::fuzz
