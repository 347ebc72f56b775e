// Fuzzes messages of the format c2sp: one that was made with OpenSSL is opened, one of paraes' own
// has OpenSSL's bytes. A damaged one, or one under another key or context, is opened if and only if
// OpenSSL opens it.

#include "tests/fuzz/formats.hpp"

namespace paraes::fuzz {
namespace {

constexpr std::size_t most_bytes = 40000;

Buffer any_context(Input& input) {
  return take(input, input.ConsumeBool() ? number(input, 0, 20)
                                         : number(input, 0, max_c2sp_context_bytes + 1));
}

void check_whole(const Buffer& given, const Buffer& key, const Buffer& context,
                 const Execution& execution) {
  const auto open = [&](Bytes header) {
    return Message(open_c2sp_message(header, key, context), execution);
  };
  const auto derive = [&](Bytes header) -> std::optional<Derived> {
    Derived derived = derive_c2sp(key, header.first(24), context);
    if (!equal(header, derived.header)) return std::nullopt;
    return derived;
  };
  check_opening(given, c2sp_header_bytes, open, derive);
}

void check_own(const Buffer& key, const Buffer& context, const Buffer& plain,
               const Execution& execution) {
  const Message message(new_c2sp_message(key, context), execution);
  check_sealing(message, derive_c2sp(key, message.header().first(24), context), plain);
}

void check_others(Input& input, const Buffer& key, const Buffer& context, const Buffer& plain,
                  const Execution& execution) {
  const Derived made = derive_c2sp(key, take(input, 24), context);
  Buffer given = joined(made.header, seal_by_evp(made, plain));
  damage(input, given);
  check_whole(given, key, context, execution);
  Buffer other_key = key;
  Buffer other_context = context;
  damage(input, other_key);
  damage(input, other_context);
  if (other_key.size() != key.size()) return;
  if (other_context.size() > max_c2sp_context_bytes) return;
  const bool refused = throws<WrongKey>(
      [&] { static_cast<void>(open_c2sp_message(made.header, other_key, other_context)); });
  require(refused == (other_key != key || other_context != context));
}

}  // namespace

void fuzz(Input& input) {
  if (input.ConsumeBool()) {  // bytes that nobody made
    return check_whole(input.ConsumeRemainingBytes<std::uint8_t>(), Buffer(32, 1), {}, {});
  }
  const AnyKernel kernel(input);
  const Buffer key = take(input, one_of<std::size_t>(input, {16, 32}));
  const Buffer context = any_context(input);
  if (context.size() > max_c2sp_context_bytes) {
    return require(
        throws<InvalidArgument>([&] { static_cast<void>(new_c2sp_message(key, context)); }));
  }
  const Buffer plain = text(input, size_of_text(input, most_bytes));
  if (input.ConsumeBool()) {
    check_own(key, context, plain, kernel.execution());
  } else {
    check_others(input, key, context, plain, kernel.execution());
  }
}

}  // namespace paraes::fuzz
