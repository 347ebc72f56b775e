// Every operation of the public classes against OpenSSL's EVP, for every kernel and variant.

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "paraes/error.hpp"
#include "src/cipher/parallel_modes.hpp"
#include "src/core/counter.hpp"
#include "src/core/gf128.hpp"
#include "tests/support/buffers.hpp"
#include "tests/support/kernels.hpp"
#include "tests/support/operations.hpp"

namespace paraes {
namespace {

using support::all_operations;
using support::Buffer;
using support::difference;
using support::KernelTest;
using support::make_key;
using support::Operation;
using support::pattern;
using support::PlacedBuffer;
using support::run_task;
using support::Task;

// A counter block whose low `bits` bits wrap after `blocks` blocks. The bits above them are a
// pattern, in which a missing or an unwanted carry shows.
Buffer counter_before(unsigned bits, std::uint64_t blocks) {
  std::uint8_t below[16];
  std::fill(below, below + 8, blocks == 0 ? std::uint8_t{0} : std::uint8_t{0xff});
  store_be64(below + 8, 0 - blocks);
  Buffer counter = pattern(16, 0x21);
  std::copy(below + 16 - bits / 8, below + 16, counter.begin() + (16 - bits / 8));
  return counter;
}

class MatchesOpenSsl : public KernelTest {
 protected:
  // Runs `task` out of place, `misalignment` choosing the alignment of both buffers, and then in
  // place.
  void check(const Operation& operation, const Task& task, int threads,
             std::size_t misalignment = 0) {
    const std::size_t bytes = task.in.size();
    const auto context = [&] {
      return std::string(operation.name) + ", " + std::to_string(bytes) + " bytes, key of " +
             std::to_string(task.key.size()) + ", " + std::to_string(threads) + " threads";
    };
    PlacedBuffer in(bytes, 5 * misalignment);
    PlacedBuffer out(bytes, 11 * misalignment);
    in.fill(task.in);
    ASSERT_EQ(run_task(operation, task, execution(threads), in.span(), out.span()), "")
        << context();
    ASSERT_TRUE(out.margins_intact()) << context() << ": wrote outside the output";
    ASSERT_EQ(difference(in.span(), task.in), "") << context() << ": wrote to the input";
    ASSERT_EQ(run_task(operation, task, execution(threads), in.span(), in.span()), "")
        << context() << ", in place";
    ASSERT_TRUE(in.margins_intact()) << context() << ", in place: wrote outside the buffer";
  }

  // CTR where the low `bits` bits of the counter wrap after `before` blocks.
  void check_ctr(Bytes key, Bytes in, unsigned bits, std::uint64_t before, int threads) {
    const Buffer counter = counter_before(bits, before);
    const Buffer expected = support::evp_ctr(key, counter, in);
    Buffer out(in.size());
    Ctr(key, counter, execution(threads)).process(in, out);
    ASSERT_EQ(difference(out, expected), "")
        << "the counter passes 2^" << bits << " after " << before << " blocks";
  }

  // XTS where the number of a unit carries out of its low bytes after `before` units.
  void check_carry(std::size_t unit, std::size_t units, std::size_t carry_bytes, std::size_t before,
                   int threads) {
    const Buffer key = make_key(32, 15);
    const Buffer plain = pattern(unit * units);
    Buffer number(16, 0x5a);
    std::fill_n(number.begin(), carry_bytes, std::uint8_t{0xff});
    number[0] = static_cast<std::uint8_t>(0x100 - before);
    SCOPED_TRACE("carry out of " + std::to_string(carry_bytes) + " bytes after " +
                 std::to_string(before) + " units of " + std::to_string(unit));
    Xts xts(key, unit, execution(threads));
    Buffer out(plain.size());
    xts.encrypt(number, plain, out);
    ASSERT_EQ(difference(out, support::evp_xts(Direction::encrypt, key, number, unit, plain)), "");
    xts.decrypt(number, out, out);
    ASSERT_EQ(difference(out, plain), "");
  }

  // Every operation with messages of the lengths that `lengths_of` returns for it, whose keys have
  // one size after the other, or every size with PARAES_LONG.
  template <class LengthsOf>
  void check_lengths(LengthsOf lengths_of) {
    for (const Operation& operation : all_operations()) {
      const auto lengths = lengths_of(operation);
      const auto keys = operation.key_bytes;
      for (const std::size_t n : lengths) {
        for (std::size_t k = 0; k < keys.size(); ++k) {
          if (!support::is_long() && k != n / operation.step % keys.size()) continue;
          check(operation, operation.prepare(operation.direction, n, keys[k]), 1, n);
          if (HasFatalFailure()) return;
        }
      }
    }
  }
};

// All lengths of an operation from its shortest message to `longest` bytes.
std::set<std::size_t> every_length(const Operation& operation, std::size_t longest) {
  std::set<std::size_t> lengths;
  for (std::size_t n = operation.min_bytes; n <= longest; n += operation.step) lengths.insert(n);
  return lengths;
}

// Every length to 1,100 bytes: all messages shorter than the widest batch (64 blocks), and some
// that are longer. Above that, the lengths next to those where a kernel or a mode changes loops.
std::set<std::size_t> lengths_around_batches(const Operation& operation) {
  // Batches are 4, 8, 16, 32 or 64 blocks, and all of them end at multiples of 4 blocks. So do the
  // batch of XTS tweaks (64 units of 33 bytes) and the range of 256 blocks in which XTS is composed
  // from ECB.
  std::set<std::size_t> ends;
  for (std::size_t end = std::size_t{16} * 4; end <= 4096; end += std::size_t{16} * 4) {
    ends.insert(end);
  }
  ends.insert(std::size_t{16} * 254);  // the last byte of GCM's counter, which starts at 2, wraps
  ends.insert(std::size_t{16} * 512);  // the range in which GCM is composed from CTR and GHASH
  std::set<std::size_t> lengths = every_length(operation, 1100);
  for (const std::size_t end : ends) {
    // With 17 bytes more, XTS steals ciphertext from the block that follows a whole batch.
    for (const std::size_t n : {end - 16, end - 1, end, end + 1, end + 16, end + 17}) {
      if (n >= operation.min_bytes && (n - operation.min_bytes) % operation.step == 0) {
        lengths.insert(n);
      }
    }
  }
  return lengths;
}

TEST_P(MatchesOpenSsl, EveryMode_LengthsAroundBatches) { check_lengths(lengths_around_batches); }

// Takes up to 20 seconds per kernel. The name begins with "Long", by which ctest selects the tests
// of the long tier.
class LongLengths : public MatchesOpenSsl {};

TEST_P(LongLengths, EveryMode_EveryLengthTo4096_MatchesOpenSsl) {
  check_lengths([](const Operation& operation) { return every_length(operation, 4096); });
}

// Lengths that the executor cuts into 1, 2, 4 and 8 ranges, with and without a rest.
TEST_P(MatchesOpenSsl, EveryMode_OneToEightThreads) {
  const std::vector<int> some = {1, 2, 3, 8};
  const std::vector<int> all = {1, 2, 3, 4, 5, 6, 7, 8};
  for (const Operation& operation : all_operations()) {
    const std::size_t key_bytes = operation.key_bytes.back();
    for (const std::size_t wanted :
         {std::size_t{16}, std::size_t{4096}, std::size_t{16383}, std::size_t{32768},
          std::size_t{32769}, std::size_t{65536 + 4096 + 7}, std::size_t{131072},
          std::size_t{131072 + 513}, std::size_t{300001}}) {
      const std::size_t n = wanted / operation.step * operation.step;
      const Task task = operation.prepare(operation.direction, n, key_bytes);
      for (const int threads : support::is_long() ? all : some) {
        check(operation, task, threads, n + static_cast<unsigned>(threads));
        if (HasFatalFailure()) return;
      }
    }
  }
}

TEST_P(MatchesOpenSsl, EveryMode_SomeMebibytes) {
  const std::size_t mebibytes = kernel().timing == Timing::leaky ? 1
                                : support::is_long()             ? 5
                                                                 : 2;  // the table kernels are slow
  for (const Operation& operation : all_operations()) {
    const std::size_t n =
        std::min((mebibytes << 20) + 13, operation.max_bytes) / operation.step * operation.step;
    const Task task = operation.prepare(operation.direction, n, operation.key_bytes.front());
    for (const int threads : {1, 2}) {
      check(operation, task, threads, static_cast<unsigned>(threads) - 1);
      if (HasFatalFailure()) return;
    }
  }
}

// The smallest message for which two threads use non-temporal stores, or 0 if that is over
// 1 GiB.
std::size_t nontemporal_bytes() {
  const std::uint8_t bytes[2] = {};
  std::size_t low = 0;
  std::size_t high = std::size_t{1} << 30;
  if (!use_nontemporal_stores(bytes, bytes + 1, high, 2)) return 0;
  while (high - low > 1) {
    const std::size_t middle = low + (high - low) / 2;
    (use_nontemporal_stores(bytes, bytes + 1, middle, 2) ? high : low) = middle;
  }
  return high;
}

// A message larger than the caches, which is stored with non-temporal stores. OpenSSL's answer is
// computed and compared one chunk at a time, because the whole would need as much memory again.
class LargeMessage {
 public:
  static constexpr std::size_t chunk = 1U << 20;

  // 16 bytes more than whole chunks, so that a result that starts at an odd address ends with a
  // partial block.
  LargeMessage()
      : bytes_(std::max<std::size_t>(nontemporal_bytes() / chunk + 1, 80) * chunk + 16),
        in_(bytes_, 16),
        out_(bytes_) {
    in_.fill(pattern(bytes_));
  }

  [[nodiscard]] Bytes in() { return in_.span(); }
  [[nodiscard]] MutableBytes out() { return out_.span(); }

  // Calls `run(in, out)`. `out` begins `skip` bytes after the start of a cache line; `in` is as
  // many bytes of the input, from its start. `expected(at, bytes)` returns the right output for
  // `bytes`, the chunk of the input that begins at offset `at`.
  template <class Run, class Expected>
  void check(const char* name, std::size_t skip, Run run, Expected expected) {
    const MutableBytes result = out().subspan(skip);
    const Bytes source = in().first(result.size());
    std::fill(result.begin(), result.end(), std::uint8_t{0});
    ASSERT_TRUE(use_nontemporal_stores(source.data(), result.data(), result.size(), 2));
    run(source, result);
    for (std::size_t at = 0; at < result.size(); at += chunk) {
      const std::size_t n = std::min(chunk, result.size() - at);
      ASSERT_EQ(difference(result.subspan(at, n), expected(at, source.subspan(at, n))), "")
          << name << ", from byte " << at << " of " << result.size();
    }
    ASSERT_TRUE(in_.margins_intact() && out_.margins_intact())
        << name << ": wrote outside a buffer";
  }

 private:
  std::size_t bytes_;
  PlacedBuffer in_;
  PlacedBuffer out_;
};

Buffer ctr_from(Bytes key, Buffer counter, std::size_t at, Bytes bytes) {
  add_be128(counter.data(), at / 16);
  return support::evp_ctr(key, counter, bytes);
}

// One kernel is enough: guard_pages_test.cpp and tests/unit/kernel_functions_test.cpp compare the
// functions of every kernel.
TEST(LargeMessageOfEveryMode, OneAndTwoThreads_MatchOpenSsl) {
  if (nontemporal_bytes() == 0) {
    GTEST_SKIP() << "this machine's caches are so large that 1 GiB is stored without non-temporal "
                    "stores";
  }
  LargeMessage message;
  const Buffer key = make_key(32, 20);
  const Buffer iv = counter_before(32, 3000);
  const Execution one{"auto", 1};
  const Execution two{"auto", 2};
  // Outputs that begin with a cache line, one block after it, and at an odd address.
  for (const std::size_t skip : {0, 16, 5}) {
    message.check(
        "CTR", skip,
        [&](Bytes in, MutableBytes out) { Ctr(key, iv, skip == 0 ? one : two).process(in, out); },
        [&](std::size_t at, Bytes bytes) { return ctr_from(key, iv, at, bytes); });
  }
  for (const Direction direction : {Direction::encrypt, Direction::decrypt}) {
    const bool encrypting = direction == Direction::encrypt;
    for (const std::size_t skip : {16, 0}) {
      message.check(
          encrypting ? "ECB encrypt" : "ECB decrypt", skip,
          [&](Bytes in, MutableBytes out) {
            Ecb ecb(key, skip == 0 ? one : two);
            encrypting ? ecb.encrypt(in, out) : ecb.decrypt(in, out);
          },
          [&](std::size_t, Bytes bytes) { return support::evp_ecb(direction, key, bytes); });
    }
    // Units of whole blocks, units that end within a vector, and units that end with a partial
    // block; outputs that begin with a cache line, one block after it, and at an odd address. On
    // two threads, the second thread starts within the message.
    const struct {
      std::size_t unit, skip;
    } shapes[] = {{512, 0}, {8192, 16}, {528, 16}, {4099, 16}, {4096, 7}};
    for (const auto& [unit, skip] : shapes) {
      const Buffer keys = make_key(64, 21);
      const Buffer number = pattern(16, 250);
      message.check(
          encrypting ? "XTS encrypt" : "XTS decrypt", skip,
          [&, unit = unit](Bytes in, MutableBytes out) {
            Xts xts(keys, unit, encrypting ? one : two);
            encrypting ? xts.encrypt(number, in, out) : xts.decrypt(number, in, out);
          },
          [&, unit = unit, skip = skip](std::size_t at, Bytes bytes) {
            // All units that hold these bytes. A rest under 16 bytes belongs to the unit before it.
            const std::size_t message_bytes = message.out().size() - skip;
            std::size_t begin = at / unit * unit;
            if (message_bytes - begin < 16) begin -= unit;
            std::size_t end = (at + bytes.size() + unit - 1) / unit * unit;
            if (end + 16 > message_bytes) end = message_bytes;
            Buffer first(number);
            add_le128(first.data(), begin / unit);
            const Buffer units = support::evp_xts(direction, keys, first, unit,
                                                  message.in().subspan(begin, end - begin));
            const auto first_byte = units.begin() + static_cast<std::ptrdiff_t>(at - begin);
            return Buffer(first_byte, first_byte + static_cast<std::ptrdiff_t>(bytes.size()));
          });
    }
  }
  for (const std::size_t skip : {0, 16}) {
    message.check(
        "CBC decrypt", skip,
        [&](Bytes in, MutableBytes out) { Cbc(key, iv, skip == 0 ? two : one).decrypt(in, out); },
        [&](std::size_t at, Bytes bytes) {
          const Bytes chain = at == 0 ? Bytes(iv) : message.in().subspan(at - 16, 16);
          return support::evp_cbc(Direction::decrypt, key, chain, bytes);
        });
  }
  Buffer counter = pattern(12, 44);
  const Buffer nonce(counter);
  counter.insert(counter.end(), {0, 0, 0, 2});
  std::array<std::uint8_t, 16> tag;
  Buffer cipher;
  for (const std::size_t skip : {0, 16, 1}) {
    message.check(
        "GCM encrypt", skip,
        [&](Bytes in, MutableBytes out) {
          Gcm(key, skip == 0 ? one : two).encrypt(nonce, iv, in, out, tag);
        },
        [&](std::size_t at, Bytes bytes) { return ctr_from(key, counter, at, bytes); });
    if (HasFatalFailure()) return;
    cipher.assign(message.out().begin() + static_cast<std::ptrdiff_t>(skip), message.out().end());
    const MutableBytes out = message.out().subspan(skip);
    ASSERT_NO_THROW(Gcm(key, skip == 0 ? two : one).decrypt(nonce, iv, cipher, out, tag));
    ASSERT_EQ(difference(out, message.in().first(cipher.size())), "");
  }
  {
    Buffer in_place(cipher);
    ASSERT_NO_THROW(Gcm(key, one).decrypt(nonce, iv, in_place, in_place, tag));
    ASSERT_EQ(difference(in_place, message.in().first(in_place.size())), "");
  }
  const MutableBytes out = message.out().first(cipher.size());
  cipher[cipher.size() / 2] ^= 1;
  ASSERT_THROW(Gcm(key, two).decrypt(nonce, iv, cipher, out, tag), IntegrityError);
  ASSERT_TRUE(std::all_of(out.begin(), out.end(), [](std::uint8_t b) { return b == 0; }));
}

// From every last byte of the counter, because some kernels share work between the blocks before it
// wraps. A carry out of the bytes above is the same wherever it comes from, up to the widest batch.
TEST_P(MatchesOpenSsl, Ctr_CounterWraps) {
  const Buffer key = make_key(32, 9);
  const Buffer in = pattern(16 * 300 + 7);
  for (unsigned bits = 8; bits <= 128; bits += 8) {
    const std::uint64_t most = bits <= 16 ? 256 : 66;
    for (std::uint64_t before = 0; before <= most; ++before) {
      ASSERT_NO_FATAL_FAILURE(check_ctr(key, in, bits, before, 1));
    }
  }
}

// The counter wraps in each thread's range, around the blocks 2304 and 4352 at which the second and
// the third range begin, and at the end. Ranges are whole multiples of 256 blocks.
TEST_P(MatchesOpenSsl, Ctr_CounterWrapsOnThreeThreads) {
  const Buffer key = make_key(16, 10);
  const Buffer in = pattern(100003);
  for (const unsigned bits : {32U, 64U, 128U}) {
    for (const std::uint64_t before :
         {0, 1, 1024, 2303, 2304, 2305, 3000, 4351, 4352, 4353, 5000, 6250, 6251}) {
      ASSERT_NO_FATAL_FAILURE(check_ctr(key, in, bits, before, 3));
    }
  }
}

TEST_P(MatchesOpenSsl, Ctr_SeekToAnyOffset) {
  const Buffer key = make_key(24, 11);
  const Buffer counter = counter_before(64, 3);
  Ctr ctr(key, counter, execution());
  const Buffer in = pattern(1000);
  for (const std::uint64_t offset :
       {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{15}, std::uint64_t{16}, std::uint64_t{47},
        std::uint64_t{48}, std::uint64_t{4097}, (std::uint64_t{1} << 36) - 5,
        (std::uint64_t{1} << 36) + 16, (std::uint64_t{1} << 63) + 9, ~std::uint64_t{0} - 2000}) {
    for (const std::size_t n : {0, 1, 15, 16, 17, 1000}) {
      // The oracle starts at the block that holds the offset, and drops the bytes before it.
      Buffer start(counter);
      add_be128(start.data(), offset / 16);
      Buffer shifted(offset % 16);
      shifted.insert(shifted.end(), in.begin(), in.begin() + static_cast<std::ptrdiff_t>(n));
      const Buffer whole = support::evp_ctr(key, start, shifted);
      const Buffer expected(whole.begin() + static_cast<std::ptrdiff_t>(offset % 16), whole.end());
      Buffer out(n);
      ctr.seek(offset);
      ctr.process(Bytes(in).first(n), out);
      ASSERT_EQ(difference(out, expected), "") << "offset " << offset;
    }
  }
}

// A 16-byte nonce whose J0 (SP 800-38D section 7.1 step 2) is `j0` under `key`: with one nonce
// block N and the length block L, J0 = ((N H) ^ L) H, which can be solved for N.
std::array<std::uint8_t, 16> nonce_for_j0(Bytes key, const std::uint8_t j0[16]) {
  const Buffer zero(16);
  const Buffer h_bytes = support::evp_ecb(Direction::encrypt, key, zero);
  // 1/H = H^(2^128 - 2), the product of H^(2^i) for i from 1 to 127.
  Gf128 square = load_gf128(h_bytes.data());
  Gf128 inverse{std::uint64_t{1} << 63, 0};
  for (int i = 1; i < 128; ++i) {
    square = multiply(square, make_factor(square));
    inverse = multiply(inverse, make_factor(square));
  }
  const Gf128Factor divide = make_factor(inverse);
  Gf128 n = multiply(load_gf128(j0), divide);
  n.low ^= 128;  // L: no AAD bits, 128 nonce bits
  n = multiply(n, divide);
  std::array<std::uint8_t, 16> nonce;
  store_gf128(nonce.data(), n);
  return nonce;
}

// SP 800-38D section 6.5 counts modulo 2^32 and keeps the upper 96 bits. With a 12-byte nonce the
// counter starts at 2, and no message is long enough to wrap it. The test computes 16-byte nonces
// whose counter starts shortly before the wrap.
TEST_P(MatchesOpenSsl, Gcm_CounterWraps) {
  const Buffer aad = pattern(20, 3);
  const auto check_wrap = [&](Bytes key, std::uint32_t before, Bytes in, int threads) {
    Buffer j0 = pattern(16, 0xf0);
    store_be32(j0.data() + 12, 0 - before);
    const auto nonce = nonce_for_j0(key, j0.data());
    const support::Sealed expected = support::evp_gcm_encrypt(key, nonce, aad, in);
    {
      // Checks the nonce: the first block is encrypted with the counter block after J0.
      Buffer first(j0);
      add_be32(first.data(), 1);
      const Buffer stream = support::evp_ctr(key, first, in.first(16));
      ASSERT_EQ(difference(stream, Bytes(expected.text).first(16)), "");
    }
    SCOPED_TRACE(std::to_string(before) + " blocks before the wrap");
    Gcm gcm(key, execution(threads));
    Buffer out(in.size());
    std::array<std::uint8_t, 16> tag;
    gcm.encrypt(nonce, aad, in, out, tag);
    ASSERT_EQ(difference(out, expected.text), "");
    ASSERT_EQ(difference(tag, expected.tag), "");
    ASSERT_NO_THROW(gcm.decrypt(nonce, aad, out, out, tag));
    ASSERT_EQ(difference(out, in), "");
  };
  const Buffer in = pattern(16 * 150 + 9);
  for (const std::size_t key_bytes : {16, 24, 32}) {
    const Buffer key = make_key(key_bytes, 12);
    for (std::uint32_t before = 0; before <= 140; ++before) {
      check_wrap(key, before, in, 1);
      if (HasFatalFailure()) return;
    }
  }
  const Buffer longer = pattern(100003);
  const Buffer key = make_key(16, 13);
  // The first counter block is the tag's; on three threads ranges begin at blocks 2304 and 4352.
  for (const std::uint32_t before : {1U, 2U, 1025U, 2303U, 2304U, 2305U, 2306U, 4351U, 4352U, 4353U,
                                     4354U, 5000U, 6250U, 6251U}) {
    for (const int threads : {1, 3}) {
      check_wrap(key, before, longer, threads);
      if (HasFatalFailure()) return;
    }
  }
}

TEST_P(MatchesOpenSsl, Xts_UnitsAndTheirNumbers) {
  for (const std::size_t unit : {16, 17, 31, 32, 33, 48, 63, 64, 100, 512, 520, 4096}) {
    // Numbers of whole units around one and two batches of tweaks (64 units each), with every
    // rest: from none, over those that join the unit before, to those that make another unit.
    for (const std::size_t units : {1, 2, 3, 63, 64, 65, 128, 129}) {
      if (unit * units > 40000) continue;
      const Buffer key = make_key(units % 2 == 0 ? 32 : 64, 14);
      Xts xts(key, unit, execution());
      for (std::size_t rest = 0; rest <= 33 && rest < unit + 16; ++rest) {
        SCOPED_TRACE(std::to_string(units) + " units of " + std::to_string(unit) + " + " +
                     std::to_string(rest));
        const Buffer plain = pattern(unit * units + rest);
        Buffer number(16, 0xff);  // wraps at 2^128 within the message
        number[0] = rest % 2 == 0 ? 0xfd : 0x80;
        const Buffer cipher = support::evp_xts(Direction::encrypt, key, number, unit, plain);
        Buffer out(plain.size());
        xts.encrypt(number, plain, out);
        ASSERT_EQ(difference(out, cipher), "");
        xts.decrypt(number, out, out);
        ASSERT_EQ(difference(out, plain), "");
      }
    }
  }
}

// Carries at every place of a batch of tweaks (64 units) and between batches.
TEST_P(MatchesOpenSsl, Xts_UnitNumbersCarry) {
  for (const std::size_t carry_bytes : {1, 4, 8, 12, 16}) {
    for (std::size_t before = 1; before <= 66; ++before) {
      ASSERT_NO_FATAL_FAILURE(check_carry(16, 80, carry_bytes, before, 1));
    }
    // In whole batches, and in the ranges of several threads.
    for (const std::size_t before : {2, 63, 160}) {
      for (const int threads : {1, 4}) {
        ASSERT_NO_FATAL_FAILURE(check_carry(512, 200, carry_bytes, before, threads));
      }
    }
  }
}

// Sizes of successive calls. Each list is repeated until the message ends.
const std::vector<std::vector<std::size_t>> splits = {
    {1}, {2, 3}, {15}, {16}, {17}, {1, 16, 15}, {7, 64, 129, 0}, {31, 256, 5, 1023}, {511}, {2000}};

// Calls use(part) for consecutive parts of `data`, whose sizes are the next of `sizes` times
// `unit`.
template <class Use>
void for_each_part(MutableBytes data, const std::vector<std::size_t>& sizes, std::size_t unit,
                   const Use& use) {
  for (std::size_t i = 0; !data.empty(); ++i) {
    const std::size_t n = std::min(unit * sizes[i % sizes.size()], data.size());
    use(data.first(n));
    data = data.subspan(n);
  }
}

TEST_P(MatchesOpenSsl, Ctr_CallsOfManySizes) {
  const Buffer key = make_key(16, 16);
  const Buffer in = pattern(4099);
  for (const unsigned bits : {32U, 64U, 96U, 128U}) {
    const Buffer counter = counter_before(bits, 40);
    const Buffer expected = support::evp_ctr(key, counter, in);
    for (const auto& sizes : splits) {
      for (const int threads : {1, 2}) {
        Buffer out(in);
        Ctr ctr(key, counter, execution(threads));
        for_each_part(out, sizes, 1, [&](MutableBytes part) { ctr.process(part, part); });
        ASSERT_EQ(difference(out, expected), "") << "first call of " << sizes[0] << " bytes";
      }
    }
  }
}

TEST_P(MatchesOpenSsl, Cbc_CallsOfManySizes) {
  const Buffer key = make_key(24, 17);
  const Buffer iv = pattern(16, 90);
  const Buffer plain = pattern(16 * 2100);
  const Buffer cipher = support::evp_cbc(Direction::encrypt, key, iv, plain);
  for (const auto& sizes : splits) {
    for (const int threads : {1, 2}) {
      for (const Direction direction : {Direction::encrypt, Direction::decrypt}) {
        const bool encrypting = direction == Direction::encrypt;
        Buffer out(encrypting ? plain : cipher);
        Cbc cbc(key, iv, execution(threads));
        for_each_part(out, sizes, 16, [&](MutableBytes part) {
          encrypting ? cbc.encrypt(part, part) : cbc.decrypt(part, part);
        });
        ASSERT_EQ(difference(out, encrypting ? cipher : plain), "")
            << "first call of " << sizes[0] << " blocks";
      }
    }
  }
}

// 2,048 bytes of AAD are two batches of the widest GHASH.
TEST_P(MatchesOpenSsl, Gcm_EveryAadLengthTo2048) {
  const Buffer key = make_key(16, 19);
  const Buffer nonce = pattern(12);
  const Buffer plain = pattern(33);
  Gcm gcm(key, execution());
  for (std::size_t n = 0; n <= 2048; ++n) {
    const Buffer aad = pattern(n, 7);
    const support::Sealed expected = support::evp_gcm_encrypt(key, nonce, aad, plain);
    Buffer out(plain.size());
    std::array<std::uint8_t, 16> tag;
    gcm.encrypt(nonce, aad, plain, out, tag);
    ASSERT_EQ(difference(tag, expected.tag), "") << "AAD of " << n;
    ASSERT_NO_THROW(gcm.decrypt(nonce, aad, expected.text, out, tag)) << "AAD of " << n;
  }
}

PARAES_FOR_EVERY_KERNEL(MatchesOpenSsl);

// A position in the stream has 64 bits. Behind it, the key stream would begin again.
TEST(CtrStream, EndsAtByte2To64) {
  const Buffer key = make_key(16, 10);
  const Buffer counter = counter_before(128, 5);
  const Buffer plain = pattern(16);
  // Block 2^60 - 1, in which byte 2^64 - 1 would be, has the counter 2^60 - 6.
  Buffer last(16);
  store_be64(last.data() + 8, (std::uint64_t{1} << 60) - 6);
  const Buffer expected = support::evp_ctr(key, last, plain);
  for (const int threads : {1, 4}) {
    Ctr ctr(key, counter, {"auto", threads});
    Buffer out(15);
    ctr.seek(UINT64_MAX - 15);
    ctr.process(Bytes(plain).first(15), out);
    EXPECT_EQ(difference(out, Bytes(expected).first(15)), "");
    // The stream is used up.
    Buffer one(1, 0x5a);
    EXPECT_THROW(ctr.process(Bytes(plain).first(1), one), InvalidArgument);
    EXPECT_EQ(one[0], 0x5a);
    EXPECT_NO_THROW(ctr.process({}, {}));
    // A call that begins before the end and goes beyond it.
    for (const std::uint64_t from : {UINT64_MAX - 15, UINT64_MAX - 100000}) {
      ctr.seek(from);
      Buffer beyond(200000, 0x5a);
      EXPECT_THROW(ctr.process(beyond, beyond), InvalidArgument);
      EXPECT_EQ(beyond, Buffer(200000, 0x5a));
    }
    // The object is still good.
    ctr.seek(0);
    Buffer again(16);
    ctr.process(plain, again);
    EXPECT_EQ(difference(again, support::evp_ctr(key, counter, plain)), "");
  }
}

PARAES_FOR_EVERY_KERNEL(LongLengths);

}  // namespace
}  // namespace paraes
