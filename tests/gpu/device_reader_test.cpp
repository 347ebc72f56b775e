// Messages that are read into device memory, on the device that PARAES_TEST_DEVICE names.

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <random>
#include <string>

#include "paraes/device_segments.hpp"
#include "paraes/error.hpp"
#include "paraes/memory.hpp"
#include "tests/gpu/expect_has.hpp"
#include "tests/support/buffers.hpp"
#include "tests/support/callers_device.hpp"
#include "tests/support/message_of.hpp"
#include "tests/support/test_device.hpp"

namespace paraes {
namespace {

using support::Buffer;
using support::difference;
using support::message_of;
using support::pattern;
using support::test_device;

constexpr std::uint8_t untouched = 0xee;
const DeviceOptions options{.kernel = "reference"};

class ReaderOnDevice : public testing::Test {
 protected:
  void SetUp() override {
    PARAES_NEEDS_DEVICE(test_device());
    device_ = support::open_callers_device(test_device());
  }

  static Buffer sealed_message(const Message::Parts& parts, const Buffer& plain) {
    const Message message(parts);
    Buffer sealed(message.header().begin(), message.header().end());
    sealed.resize(message.layout().sealed_bytes(plain.size()));
    seal_segments(message, 0, true, plain, MutableBytes(sealed).subspan(message.header().size()),
                  1);
    return sealed;
  }

  // Segments of 4 KiB, so that small messages have many of them, and the first is shorter.
  static Message::Parts tink_message(Bytes key) {
    TinkParameters tink;
    tink.segment_bytes = 4096;
    return new_tink_message(tink, key, {});
  }

  // Bytes [offset, offset + bytes) at any address, with others around them that do not change.
  void expect_range(DeviceReader& reader, const Buffer& plain, std::uint64_t offset,
                    std::uint64_t bytes, std::size_t shift) {
    SCOPED_TRACE(std::to_string(bytes) + " bytes from " + std::to_string(offset));
    const DeviceBuffer all = device_->allocate(shift + bytes + 7);
    device_->write(all, Buffer(all.bytes, untouched));
    reader.read(offset, {all.memory, shift, bytes});
    Buffer expected(all.bytes, untouched);
    std::copy_n(plain.begin() + static_cast<std::ptrdiff_t>(offset), bytes,
                expected.begin() + static_cast<std::ptrdiff_t>(shift));
    EXPECT_EQ(difference(device_->read(all), expected), "");
  }

  std::unique_ptr<support::CallersDevice> device_;
  const Buffer key_ = support::make_key(32);
};

TEST_F(ReaderOnDevice, ReadsAnyRangeOfEveryFormat) {
  const Message::Parts messages[] = {new_paraes_message(key_), new_c2sp_message(key_),
                                     tink_message(key_)};
  std::mt19937 random(20261129);
  for (const Message::Parts& parts : messages) {
    const std::uint64_t segment = parts.layout.segment_bytes;
    // A whole number of segments: C2SP's last one is then empty.
    for (const std::uint64_t size :
         {std::uint64_t{0}, std::uint64_t{1}, segment, 3 * segment, 3 * segment + 1234}) {
      const Buffer plain = pattern(size);
      const Buffer sealed = sealed_message(parts, plain);
      const MemorySource source(sealed);
      DeviceReader reader(device_->stream(), source, parts, options);
      ASSERT_EQ(reader.size(), size);
      EXPECT_EQ(reader.kernel(), "reference");
      expect_range(reader, plain, 0, size, 8);
      expect_range(reader, plain, size, 0, 0);
      for (int i = 0; i < 6 && size > 1; ++i) {
        const std::uint64_t offset = random() % size;
        expect_range(reader, plain, offset, random() % (size - offset) + 1, random() % 16);
      }
      EXPECT_HAS(message_of<InvalidArgument>([&] {
                   reader.read(1, {device_->allocate(size + 1).memory, 0, size});
                 }),
                 "is not within the plaintext");
    }
  }
}

// More than all slots together have.
TEST_F(ReaderOnDevice, UsesItsSlotsAgain) {
  const Message::Parts parts = new_paraes_message(key_);
  const Buffer plain = pattern((std::size_t{25} << 20) + 77);
  const Buffer sealed = sealed_message(parts, plain);
  const MemorySource source(sealed);
  for (const int threads : {1, 2}) {
    DeviceReader reader(device_->stream(), source, parts, options, threads);
    expect_range(reader, plain, 0, plain.size(), 3);
    expect_range(reader, plain, 100'000, plain.size() - 300'000, 0);
    expect_range(reader, plain, 65'535, 2, 1);
  }
}

TEST_F(ReaderOnDevice, NamesTheFirstBadSegmentAndIsStillOfUse) {
  const Message::Parts parts = tink_message(key_);
  const SegmentLayout& layout = parts.layout;
  const Buffer plain = pattern(std::size_t{9} << 20);
  Buffer sealed = sealed_message(parts, plain);
  const std::uint64_t bad = 1500;
  for (const std::uint64_t segment : {bad, bad + 3, bad + 700}) {
    sealed[layout.sealed_offset(segment) + 9] ^= 1;
  }
  const MemorySource source(sealed);
  DeviceReader reader(device_->stream(), source, parts, options, 2);
  const DeviceBuffer out = device_->allocate(plain.size());
  device_->write(out, Buffer(plain.size(), untouched));
  try {
    reader.read(0, out);
    FAIL() << "no error";
  } catch (const BadSegment& error) {
    EXPECT_EQ(error.segment(), bad);
    EXPECT_HAS(error.what(), "segment 1500 does not authenticate");
  }
  // Nothing but authentic plaintext, zeros in its place, or what was there before.
  const Buffer found = device_->read(out);
  for (std::uint64_t segment = 0; segment * 4096 < plain.size(); ++segment) {
    const std::uint64_t from = layout.plain_offset(segment);
    const auto bytes = static_cast<std::size_t>(
        std::min<std::uint64_t>(layout.plain_offset(segment + 1), plain.size()) - from);
    const Bytes part = Bytes(found).subspan(static_cast<std::size_t>(from), bytes);
    const Buffer zeros(bytes);
    const Buffer before(bytes, untouched);
    const bool is_bad = segment == bad || segment == bad + 3 || segment == bad + 700;
    EXPECT_TRUE(difference(part, zeros).empty() || difference(part, before).empty() ||
                (!is_bad && difference(part, Bytes(plain).subspan(from, bytes)).empty()))
        << "segment " << segment;
  }
  // A part of a bad segment is not handed out either.
  device_->write(out, Buffer(plain.size(), untouched));
  EXPECT_THROW(reader.read(layout.plain_offset(bad) + 100, {out.memory, 0, 50}), BadSegment);
  EXPECT_EQ(difference(device_->read({out.memory, 0, 50}), Buffer(50)), "");
  expect_range(reader, plain, 0, layout.plain_offset(bad), 0);
}

TEST_F(ReaderOnDevice, ReportsASourceThatFails) {
  class Failing : public MemorySource {
   public:
    using MemorySource::MemorySource;
    [[nodiscard]] std::size_t read_at(std::uint64_t offset, MutableBytes buffer) const override {
      if (offset > (std::uint64_t{5} << 20)) throw IoError("the disk has failed", EIO);
      return MemorySource::read_at(offset, buffer);
    }
  };
  const Message::Parts parts = new_paraes_message(key_);
  const Buffer plain = pattern(std::size_t{12} << 20);
  const Buffer sealed = sealed_message(parts, plain);
  const Failing source(sealed);
  DeviceReader reader(device_->stream(), source, parts, options, 2);
  const DeviceBuffer out = device_->allocate(plain.size());
  EXPECT_HAS(message_of<IoError>([&] { reader.read(0, out); }), "the disk has failed");
  expect_range(reader, plain, 5, 1000, 0);
  // Truncated where a segment ends: its size says that it is whole.
  const std::size_t less = sealed.size() - 4096;
  const MemorySource shorter(Bytes(sealed).first(less));
  DeviceReader of_shorter(device_->stream(), shorter, parts, options, 2);
  EXPECT_THROW(of_shorter.read(0, {out.memory, 0, of_shorter.size()}), BadSegment);
}

}  // namespace
}  // namespace paraes
