// Texts of more than 2^32 bytes, in calls of the modes and in streams. The names begin with "Long",
// by which ctest selects the tests of the long tier.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <memory>

#include "paraes/ciphers.hpp"
#include "paraes/streams.hpp"
#include "tests/limits/windows.hpp"
#include "tests/support/buffers.hpp"
#include "tests/support/evp_oracle.hpp"
#include "tests/support/kernels.hpp"

namespace paraes {
namespace {

using limits::RepeatedWindow;
using limits::RepeatingSource;
using support::Buffer;
using support::difference;
using support::KernelTest;
using support::make_key;
using support::pattern;

constexpr std::size_t unit_bytes = 4096;
constexpr std::uint64_t text_bytes =
    (std::uint64_t{1} << 32) + (std::uint64_t{1} << 20) + unit_bytes;
constexpr std::size_t window_bytes = RepeatedWindow::window_bytes;

// number + n for a big-endian number whose low 64 bits do not overflow.
Buffer plus(Buffer number, std::uint64_t n) {
  for (std::size_t i = 16; i-- > 8;) {
    n += number[i];
    number[i] = static_cast<std::uint8_t>(n);
    n >>= 8;
  }
  return number;
}

Buffer reversed(Buffer bytes) {
  std::reverse(bytes.begin(), bytes.end());
  return bytes;
}

// A mode of which any part of a text can be computed alone, by OpenSSL. The text repeats `window`.
struct Mode {
  BlockMode mode;
  Direction direction;
  const char* name;

  [[nodiscard]] Buffer key() const { return make_key(mode == BlockMode::xts ? 64 : 32, 40); }
  // CTR's counter: 32 bits wrap within the text.
  [[nodiscard]] Buffer iv() const {
    Buffer iv = pattern(16, 50);
    if (mode == BlockMode::ctr) std::fill(iv.begin() + 12, iv.end(), std::uint8_t{0xf0});
    return iv;
  }
  // The output for `n` bytes at `offset` of the text, whole data units.
  [[nodiscard]] Buffer expected(Bytes window, std::uint64_t offset, std::size_t n) const {
    const auto at = static_cast<std::size_t>(offset % window.size());
    const Bytes in = window.subspan(at, n);
    switch (mode) {
      case BlockMode::ecb:
        return support::evp_ecb(direction, key(), in);
      case BlockMode::cbc: {
        const Bytes chain =
            offset == 0 ? Bytes(iv_) : window.subspan((at == 0 ? window.size() : at) - 16, 16);
        return support::evp_cbc(direction, key(), chain, in);
      }
      case BlockMode::ctr:
        return support::evp_ctr(key(), plus(iv(), offset / 16), in);
      case BlockMode::xts:
        break;
    }
    // The number is little-endian.
    const Buffer number = reversed(plus(reversed(iv()), offset / unit_bytes));
    return support::evp_xts(direction, key(), number, unit_bytes, in);
  }

  Buffer iv_ = iv();
};

const Mode modes[] = {{BlockMode::ecb, Direction::encrypt, "ECB encryption"},
                      {BlockMode::cbc, Direction::decrypt, "CBC decryption"},
                      {BlockMode::ctr, Direction::encrypt, "CTR"},
                      {BlockMode::xts, Direction::encrypt, "XTS encryption"},
                      {BlockMode::xts, Direction::decrypt, "XTS decryption"}};

void run(const Mode& mode, const Execution& execution, Bytes in, MutableBytes out) {
  switch (mode.mode) {
    case BlockMode::ecb:
      return Ecb(mode.key(), execution).encrypt(in, out);
    case BlockMode::cbc:
      return Cbc(mode.key(), mode.iv(), execution).decrypt(in, out);
    case BlockMode::ctr:
      return Ctr(mode.key(), mode.iv(), execution).process(in, out);
    case BlockMode::xts:
      break;
  }
  Xts xts(mode.key(), unit_bytes, execution);
  mode.direction == Direction::encrypt ? xts.encrypt(mode.iv(), in, out)
                                       : xts.decrypt(mode.iv(), in, out);
}

class LongTexts : public KernelTest {};

TEST_P(LongTexts, CallsOver2To32Bytes_MatchOpenSsl) {
  const RepeatedWindow in(text_bytes);
  const RepeatedWindow out(text_bytes);
  const Buffer window = pattern(window_bytes, 5);
  std::copy(window.begin(), window.end(), in.window().begin());
  for (const Mode& mode : modes) {
    std::fill(out.window().begin(), out.window().end(), std::uint8_t{0});
    run(mode, execution(), in.span(text_bytes), out.span(text_bytes));
    RepeatedWindow::for_what_is_left(
        text_bytes, [&](std::size_t at, std::size_t n, std::uint64_t offset) {
          ASSERT_EQ(difference(out.window().subspan(at, n), mode.expected(window, offset, n)), "")
              << mode.name << " from byte " << offset;
        });
    ASSERT_EQ(difference(in.window(), window), "") << mode.name << ": wrote to the input";
  }
}

PARAES_FOR_KERNELS(LongTexts, [](const Kernel& kernel) { return kernel.timing != Timing::leaky; });

// Keeps what came last at each place of a window.
class WindowSink : public Sink {
 public:
  void write(Bytes data) override {
    for (const std::uint8_t byte : data)
      window[static_cast<std::size_t>(at++ % window.size())] = byte;
  }
  void commit() override {}

  Buffer window = Buffer(window_bytes);
  std::uint64_t at = 0;
};

TEST(LongStreams, MessagesOver2To32Bytes_MatchOpenSsl) {
  const Buffer window = pattern(window_bytes, 6);
  for (const Mode& mode : modes) {
    const Buffer key = mode.key();
    const Buffer iv = mode.iv();
    const auto stream =
        raw_stream(mode.direction, {.mode = mode.mode,
                                    .key = key,
                                    .iv = mode.mode == BlockMode::ecb ? Bytes() : Bytes(iv),
                                    .padding = false,
                                    .unit_bytes = unit_bytes,
                                    .execution = {.kernel = {}, .threads = 2}});
    RepeatingSource source(window, text_bytes);
    WindowSink sink;
    std::uint64_t progress = 0;
    const CopyResult result =
        copy_stream(source, *stream, sink, [&](std::uint64_t bytes) { progress = bytes; });
    ASSERT_EQ(result.bytes_in, text_bytes) << mode.name;
    ASSERT_EQ(result.bytes_out, text_bytes) << mode.name;
    ASSERT_EQ(progress, text_bytes) << mode.name;
    ASSERT_EQ(sink.at, text_bytes) << mode.name;
    RepeatedWindow::for_what_is_left(text_bytes, [&](std::size_t at, std::size_t n,
                                                     std::uint64_t offset) {
      ASSERT_EQ(difference(Bytes(sink.window).subspan(at, n), mode.expected(window, offset, n)), "")
          << mode.name << " from byte " << offset;
    });
  }
}

}  // namespace
}  // namespace paraes
