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

// open(header) makes the message of a header, derive(header) what OpenSSL makes of it. `sealed` is
// the message of `plain`, and `given` what became of it. It gives `plain` if it was not changed,
// and otherwise nothing, unless it is another message under the same key: libFuzzer finds the
// commitments and tags of such in other inputs.
template <class Open, class Derive>
void check_damaged(const Buffer& plain, const Buffer& sealed, const Buffer& given,
                   std::size_t header_bytes, const Open& open, const Derive& derive) {
  std::optional<Buffer> opened;
  const Bytes header = Bytes(given).first(std::min(given.size(), header_bytes));
  static_cast<void>(refuses([&] { opened = open_whole(open(header), given); }));
  if (given == sealed) {
    require(opened == plain);
  } else if (opened) {
    const Derived made = derive(header);
    require(equal(given, joined(made.header, seal_by_evp(made, *opened))));
  }
}

}  // namespace paraes::fuzz
