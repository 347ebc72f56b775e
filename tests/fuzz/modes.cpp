// Fuzzes ECB, CBC, CTR and XTS of every kernel: each result is OpenSSL's, for keys and texts of any
// size, at any address, in place or not, in one call or several. What the standards forbid is
// refused, and nothing is written.

#include <optional>

#include "paraes/error.hpp"
#include "src/modes/ctr.hpp"
#include "src/modes/xts.hpp"
#include "tests/fuzz/any_message.hpp"
#include "tests/support/evp_oracle.hpp"

namespace paraes::fuzz {
namespace {

using support::evp_cbc;
using support::evp_ctr;
using support::evp_ecb;
using support::evp_xts;

constexpr std::size_t most_bytes = 70000;  // several threads work on more than 32 KiB

// Calls process(in, out), which must give `expected`; nothing is expected of what it must refuse.
template <class Process>
void check(Input& input, const Buffer& text, const std::optional<Buffer>& expected,
           const Process& process) {
  ExactBuffer in(text, number(input, 0, 63));
  const Buffer before(text.size(), 0xd5);
  ExactBuffer other(before, number(input, 0, 63));
  const bool in_place = input.ConsumeBool();
  const MutableBytes out = in_place ? in.span() : other.span();
  const bool refused = throws<InvalidArgument>([&] { process(in.span(), out); });
  require(refused == !expected);
  if (expected) {
    require(equal(out, *expected));
  } else {
    require(equal(out, in_place ? text : before));
  }
  require(in_place || equal(in.span(), text));
}

bool has_whole_blocks(const Buffer& text) { return text.size() % block_bytes == 0; }

Buffer aes_key(Input& input) { return take(input, one_of<std::size_t>(input, {16, 24, 32})); }

Direction direction_of(Input& input) {
  return input.ConsumeBool() ? Direction::encrypt : Direction::decrypt;
}

void check_ecb(Input& input, const Execution& execution) {
  const Buffer key = aes_key(input);
  const Direction direction = direction_of(input);
  const Buffer in = text(input, size_of_text(input, most_bytes));
  std::optional<Buffer> expected;
  if (has_whole_blocks(in)) expected = evp_ecb(direction, key, in);
  Ecb ecb(key, execution);
  check(input, in, expected, [&](Bytes from, MutableBytes to) {
    direction == Direction::encrypt ? ecb.encrypt(from, to) : ecb.decrypt(from, to);
  });
}

void check_cbc(Input& input, const Execution& execution) {
  const Buffer key = aes_key(input);
  const Buffer iv = take(input, 16);
  const Direction direction = direction_of(input);
  const Buffer in = text(input, size_of_text(input, most_bytes));
  std::optional<Buffer> expected;
  if (has_whole_blocks(in)) expected = evp_cbc(direction, key, iv, in);
  Cbc cbc(key, iv, execution);
  check(input, in, expected, [&](Bytes from, MutableBytes to) {
    const auto process = [&](Bytes some, MutableBytes there) {
      direction == Direction::encrypt ? cbc.encrypt(some, there) : cbc.decrypt(some, there);
    };
    if (!expected) return process(from, to);
    in_parts(input, from.size(), block_bytes, [&](std::size_t at, std::size_t n) {
      process(from.subspan(at, n), to.subspan(at, n));
    });
  });
}

void check_ctr(Input& input, const Execution& execution) {
  const Buffer key = aes_key(input);
  Buffer counter = take(input, 16);
  // Carries are rare in counters that nobody has chosen.
  const std::size_t ones = number(input, 0, 15);
  std::fill(counter.end() - static_cast<std::ptrdiff_t>(ones), counter.end(), std::uint8_t{0xff});
  counter[15] = input.ConsumeIntegral<std::uint8_t>();
  const Buffer in = text(input, size_of_text(input, most_bytes));
  const Buffer expected = evp_ctr(key, counter, in);
  Ctr ctr(key, counter, execution);
  check(input, in, expected, [&](Bytes from, MutableBytes to) {
    in_parts(input, from.size(), 1, [&](std::size_t at, std::size_t n) {
      if (input.ConsumeBool()) ctr.seek(at);
      ctr.process(from.subspan(at, n), to.subspan(at, n));
    });
  });
}

void check_xts(Input& input, const Execution& execution) {
  const Buffer key = take(input, one_of<std::size_t>(input, {32, 64}));
  constexpr std::size_t units[] = {0, 16, 17, 32, 512, 520, 4096};
  const std::size_t unit = input.ConsumeBool() ? one_of(input, units) : number(input, 16, 5000);
  if (equal(Bytes(key).first(key.size() / 2), Bytes(key).last(key.size() / 2))) {
    require(throws<InvalidArgument>([&] { Xts(key, unit, execution); }));
    return;
  }
  const Buffer first = take(input, 16);
  const Direction direction = direction_of(input);
  const std::size_t most = unit == 0 || unit >= 512 ? most_bytes : 4500;
  const Buffer in = text(input, size_of_text(input, most));
  std::optional<Buffer> expected;
  if (in.size() >= 16) expected = evp_xts(direction, key, first, unit, in);
  Xts xts(key, unit, execution);
  check(input, in, expected, [&](Bytes from, MutableBytes to) {
    direction == Direction::encrypt ? xts.encrypt(first, from, to) : xts.decrypt(first, from, to);
  });
}

// Non-temporal stores, with which the classes process texts of a MiB or more.
void check_nontemporal(Input& input, const Kernel& tested) {
  if (tested.ctr_nontemporal == nullptr) return;
  const std::size_t what = number(input, 0, 3);
  const Direction direction = direction_of(input);
  const bool encrypting = direction == Direction::encrypt;
  Buffer key = what == 3 ? take(input, input.ConsumeBool() ? 32 : 64) : aes_key(input);
  if (what == 3) key[0] = static_cast<std::uint8_t>(~key[key.size() / 2]);  // halves differ
  const auto key_bytes = static_cast<unsigned>(key.size());
  Buffer block = take(input, 16);
  Buffer in = text(input, size_of_text(input, 20000));
  if (what < 2) in.resize(in.size() - in.size() % block_bytes);
  if (what == 3 && in.size() < block_bytes) return;
  ExactBuffer from(in, number(input, 0, 63));
  ExactBuffer to(Buffer(in.size(), 0xd5), number(input, 0, 63));
  const std::uint8_t* const source = from.span().data();
  std::uint8_t* const target = to.span().data();
  const std::size_t blocks = in.size() / block_bytes;
  Buffer expected;
  if (what == 0) {
    expected = evp_ecb(direction, key, in);
    const CipherKey cipher(tested, key.data(), key_bytes);
    (encrypting ? tested.ecb_encrypt_nontemporal : tested.ecb_decrypt_nontemporal)(
        cipher.schedule, source, target, blocks);
  } else if (what == 1) {
    expected = evp_cbc(Direction::decrypt, key, block, in);
    const CipherKey cipher(tested, key.data(), key_bytes);
    tested.cbc_decrypt_nontemporal(cipher.schedule, block.data(), source, target, blocks);
    if (blocks != 0) require(equal(block, Bytes(in).last(block_bytes)));
  } else if (what == 2) {
    const std::size_t offset = number(input, 0, 100);
    const Buffer all = evp_ctr(key, block, joined(Buffer(offset), in));
    expected.assign(all.begin() + static_cast<std::ptrdiff_t>(offset), all.end());
    const CipherKey cipher(tested, key.data(), key_bytes);
    ctr_range(cipher, block.data(), offset, source, target, in.size(), true);
  } else {
    const std::size_t unit = number(input, 16, 5000);
    expected = evp_xts(direction, key, block, unit, in);
    const XtsKey xts(tested, key.data(), key_bytes / 2);
    xts_range(xts, direction, block.data(), 0, unit, source, target, in.size(), true);
  }
  require(equal(to.span(), expected) && equal(from.span(), in));
}

}  // namespace

void fuzz(Input& input) {
  const AnyKernel kernel(input);
  const Execution execution = kernel.execution(static_cast<int>(number(input, 1, 3)));
  constexpr void (*modes[])(Input&, const Execution&) = {check_ecb, check_cbc, check_ctr,
                                                         check_xts};
  const std::size_t mode = number(input, 0, std::size(modes));
  if (mode < std::size(modes)) {
    modes[mode](input, execution);
  } else {
    check_nontemporal(input, kernel.kernel());
  }
}

}  // namespace paraes::fuzz
