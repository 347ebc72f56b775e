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

// open(header) makes the message of a header. `sealed` is the message of `plain`, and `given` what
// became of it: it must give `plain`, or nothing.
template <class Open>
void check_damaged(const Buffer& plain, const Buffer& sealed, const Buffer& given,
                   std::size_t header_bytes, const Open& open) {
  std::optional<Buffer> opened;
  const Bytes header = Bytes(given).first(std::min(given.size(), header_bytes));
  static_cast<void>(refuses([&] { opened = open_whole(open(header), given); }));
  require(opened.has_value() == (given == sealed));
  require(!opened || *opened == plain);
}

}  // namespace paraes::fuzz
