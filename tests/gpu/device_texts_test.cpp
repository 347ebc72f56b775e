// Messages in memory of their own, at any address, and calls on any stream, on the device that
// PARAES_TEST_DEVICE names (opencl:0): every kernel and mode against OpenSSL.

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "paraes/device_segments.hpp"
#include "paraes/devices.hpp"
#include "paraes/error.hpp"
#include "paraes/messages.hpp"
#include "tests/gpu/each_kernel.hpp"
#include "tests/gpu/expect_has.hpp"
#include "tests/support/buffers.hpp"
#include "tests/support/callers_device.hpp"
#include "tests/support/evp_oracle.hpp"
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

// A text and its result in memory of their own, with bytes around them that must not change.
struct Place {
  DeviceBuffer in;
  DeviceBuffer out;
  DeviceBuffer tag;
  Buffer plain;
};

class TextsOnDevice : public testing::Test {
 protected:
  void SetUp() override {
    PARAES_NEEDS_DEVICE(test_device());
    device_ = support::open_callers_device(test_device());
  }

  // `bytes` bytes, `shift` bytes after the beginning of an allocation that ends with them.
  DeviceBuffer allocate(std::size_t bytes, std::size_t shift, std::size_t behind) {
    DeviceBuffer all = device_->allocate(shift + bytes + behind);
    device_->write(all, Buffer(all.bytes, untouched));
    return {all.memory, shift, bytes};
  }

  // Texts of these sizes: input, output and tag at all residues of 16, which differ. What they have
  // around them is in the same allocation. `together`: all inputs in one, all outputs in one.
  void make_texts(std::span<const std::size_t> sizes, bool in_place, bool together) {
    std::size_t number = 0;
    DeviceBuffer all_in{};
    DeviceBuffer all_out{};
    DeviceBuffer all_tags{};
    constexpr std::size_t room = 64;
    std::size_t total = 0;
    for (const std::size_t bytes : sizes) total += bytes + room;
    if (together) {
      all_in = allocate(total, 0, 0);
      all_out = in_place ? all_in : allocate(total, 0, 0);
      all_tags = allocate(room * sizes.size(), 0, 0);
    }
    std::size_t at = 0;
    for (const std::size_t bytes : sizes) {
      const std::size_t in_shift = number % 16;
      const std::size_t out_shift = in_place ? in_shift : (5 * number + 3) % 16;
      Place place;
      place.plain = pattern(bytes, static_cast<unsigned>(number));
      if (together) {
        const std::size_t from = (at + 15) / 16 * 16;
        place.in = {all_in.memory, from + in_shift, bytes};
        place.out = {all_out.memory, from + out_shift, bytes};
        place.tag = {all_tags.memory, room * number + (7 * number + 1) % 16, 16};
        at = from + bytes + 16;
      } else {
        place.in = allocate(bytes, in_shift, 0);
        place.out = in_place ? place.in : allocate(bytes, out_shift, 0);
        place.tag = allocate(16, (7 * number + 1) % 16, 0);
      }
      device_->write(place.in, place.plain);
      places_.push_back(place);
      ++number;
    }
  }

  [[nodiscard]] std::vector<DeviceText> texts(unsigned keys) const {
    std::vector<DeviceText> texts;
    for (const Place& place : places_) {
      const auto number = static_cast<unsigned>(texts.size());
      DeviceText text{.in = place.in, .out = place.out, .key = number % keys, .tag = place.tag};
      std::copy_n(support::make_key(16, 1000 + number).begin(), 16, text.iv.begin());
      texts.push_back(text);
    }
    return texts;
  }

  // Expects each result, and that nothing around results and tags has changed.
  void expect_results(const std::function<Buffer(std::size_t)>& expected, const char* what) {
    for (std::size_t i = 0; i < places_.size(); ++i) {
      ASSERT_EQ(difference(device_->read(places_[i].out), expected(i)), "")
          << what << ", text " << i << " of " << places_[i].in.bytes << " bytes at "
          << places_[i].in.offset << ", its result at " << places_[i].out.offset;
    }
    expect_rest(&Place::out);
    expect_rest(&Place::tag);
  }

  void expect_rest(DeviceBuffer Place::*part) {
    for (const Place& place : places_) {
      const DeviceBuffer& buffer = place.*part;
      const std::size_t before = std::min<std::size_t>(buffer.offset, 4);
      const DeviceBuffer front{buffer.memory, buffer.offset - before, before};
      EXPECT_EQ(difference(device_->read(front), Buffer(before, untouched)), "")
          << "before " << buffer.offset;
    }
  }

  std::unique_ptr<support::CallersDevice> device_;
  std::vector<Place> places_;
  Buffer key_ = support::make_key(32, 7);
};

// More than a tile, whole blocks and not, less than a word, a single byte, nothing.
const std::vector<std::size_t> any_sizes = {1,  15, 16,  17,  33,   100, 511, 512, 513,
                                            31, 0,  160, 496, 1025, 3,   640, 70,  2};
const std::vector<std::size_t> whole_sizes = {16, 32,  48, 160,  512, 528, 16,  1040, 64,
                                              16, 112, 80, 2048, 16,  96,  240, 32,   256};

class AnyAddress : public TextsOnDevice, public testing::WithParamInterface<std::string> {
 protected:
  [[nodiscard]] static DeviceOptions options() {
    return {.kernel = GetParam(), .any_address = true};
  }

  struct Shape {
    bool in_place;
    bool together;
  };
  template <class Work>
  void for_each_shape(std::span<const std::size_t> sizes, const Work& work) {
    for (const Shape shape : {Shape{false, false}, Shape{true, false}, Shape{false, true}}) {
      SCOPED_TRACE(std::string(shape.in_place ? "in place" : "apart") +
                   (shape.together ? ", in one allocation" : ""));
      places_.clear();
      make_texts(sizes, shape.in_place, shape.together);
      work();
      if (HasFatalFailure()) return;
    }
  }

  [[nodiscard]] Bytes plain(std::size_t i) const { return places_[i].plain; }
};

TEST_P(AnyAddress, BlockModesMatchOpenssl) {
  DeviceEcb ecb(device_->stream(), key_, options());
  for_each_shape(whole_sizes, [&] {
    ecb.encrypt(texts(1));
    expect_results([&](auto i) { return support::evp_ecb(Direction::encrypt, key_, plain(i)); },
                   "ECB");
  });
  for_each_shape(whole_sizes, [&] {
    ecb.decrypt(texts(1));
    expect_results([&](auto i) { return support::evp_ecb(Direction::decrypt, key_, plain(i)); },
                   "ECB decryption");
  });
  DeviceCbc cbc(device_->stream(), key_, options());
  for_each_shape(whole_sizes, [&] {
    const auto list = texts(1);
    cbc.decrypt(list);
    expect_results(
        [&](auto i) { return support::evp_cbc(Direction::decrypt, key_, list[i].iv, plain(i)); },
        "CBC");
  });
}

TEST_P(AnyAddress, CtrMatchesOpenssl) {
  const Buffer other = support::make_key(32, 8);
  const std::vector<Bytes> keys = {key_, other};
  for (const unsigned count : {1U, 2U}) {
    DeviceCtr ctr(device_->stream(), std::span(keys).first(count), options());
    for_each_shape(any_sizes, [&] {
      const auto list = texts(count);
      ctr.process(list);
      expect_results(
          [&](auto i) { return support::evp_ctr(keys[list[i].key], list[i].iv, plain(i)); }, "CTR");
    });
  }
}

TEST_P(AnyAddress, XtsMatchesOpenssl) {
  const Buffer key = support::make_key(64, 3);
  DeviceXts xts(device_->stream(), key, 512, options());
  for (const Direction direction : {Direction::encrypt, Direction::decrypt}) {
    for_each_shape(whole_sizes, [&] {
      const auto list = texts(1);
      direction == Direction::encrypt ? xts.encrypt(list) : xts.decrypt(list);
      expect_results(
          [&](auto i) { return support::evp_xts(direction, key, list[i].iv, 512, plain(i)); },
          "XTS");
    });
  }
}

TEST_P(AnyAddress, GcmMatchesOpenssl) {
  DeviceGcm gcm(device_->stream(), key_, options());
  // The last is hashed in ranges.
  std::vector<std::size_t> sizes = any_sizes;
  sizes.push_back(70'001);
  for_each_shape(sizes, [&] {
    const Buffer aad = pattern(13, 50);
    auto list = texts(1);
    for (std::size_t i = 0; i < list.size(); i += 3) list[i].aad = aad;
    gcm.encrypt(list);
    const auto right = [&](std::size_t i) {
      return support::evp_gcm_encrypt(key_, Bytes(list[i].iv).first(12), list[i].aad, plain(i));
    };
    expect_results([&](auto i) { return right(i).text; }, "GCM");
    for (std::size_t i = 0; i < list.size(); ++i) {
      ASSERT_EQ(difference(device_->read(list[i].tag), right(i).tag), "") << "tag " << i;
    }
    if (HasFatalFailure()) return;

    // Back to where the plaintext was, every third one damaged.
    std::vector<DeviceText> back = list;
    for (std::size_t i = 0; i < back.size(); ++i) {
      std::swap(back[i].in, back[i].out);
      if (i % 3 != 1) continue;
      Buffer tag = device_->read(back[i].tag);
      tag[i % 16] ^= 4;
      device_->write(back[i].tag, tag);
    }
    const DeviceVerdict verdict = gcm.decrypt(back);
    device_->synchronize();
    for (std::size_t i = 0; i < back.size(); ++i) {
      EXPECT_EQ(verdict.intact(i), i % 3 != 1) << i;
      const Buffer expected = i % 3 == 1 ? Buffer(plain(i).size()) : places_[i].plain;
      ASSERT_EQ(difference(device_->read(back[i].out), expected), "") << "opened text " << i;
    }
  });
}

PARAES_FOR_EACH_GPU_KERNEL(, AnyAddress);

// ---- Arguments

class DeviceTexts : public TextsOnDevice {
 protected:
  static constexpr std::array<std::size_t, 2> sizes = {64, 32};

  void SetUp() override {
    TextsOnDevice::SetUp();
    if (IsSkipped()) return;
    make_texts(sizes, false, false);
  }

  [[nodiscard]] std::string refusal(const std::function<void(std::vector<DeviceText>&)>& change) {
    DeviceGcm gcm(device_->stream(), key_, {.kernel = "reference"});
    auto list = texts(1);
    change(list);
    const std::string message = message_of<InvalidArgument>([&] { gcm.encrypt(list); });
    for (const Place& place : places_) {
      EXPECT_EQ(difference(device_->read(place.out), Buffer(place.out.bytes, untouched)), "");
    }
    return message;
  }
};

TEST_F(DeviceTexts, AreChecked) {
  EXPECT_HAS(refusal([](auto& list) { list[1].out.bytes = 31; }),
             "message 1: its input has 32 bytes, and its output 31");
  EXPECT_HAS(refusal([](auto& list) { list[0].tag.bytes = 12; }),
             "message 0: its tag has 12 bytes, not 16");
  EXPECT_HAS(refusal([](auto& list) { list[0].in.memory = 0; }),
             "message 0: its input is a null pointer");
  EXPECT_HAS(refusal([](auto& list) { list[0].tag = {}; }), "message 0: its tag has 0 bytes");
  EXPECT_HAS(refusal([](auto& list) { list[1].key = 1; }), "there is no key 1");
  EXPECT_HAS(refusal([](auto& list) {
               list[1].out = {list[0].out.memory, 20, 32};
             }),
             "its output overlaps that of message");
  EXPECT_HAS(refusal([](auto& list) {
               list[1].in = {list[0].out.memory, 4, 32};
             }),
             "message 1: its input overlaps the output of message 0");
  EXPECT_HAS(refusal([](auto& list) {
               list[1].tag = {list[0].out.memory, 10, 16};
             }),
             "its output overlaps that of message");
}

// ---- Streams

TEST_F(DeviceTexts, WorkOnAnyStreamOfTheDevice) {
  DeviceCtr ctr(device_->stream(), key_, {.kernel = "reference"});
  const auto list = texts(1);
  const auto expect_encrypted = [&] {
    device_->synchronize();
    expect_results([&](auto i) { return support::evp_ctr(key_, list[i].iv, places_[i].plain); },
                   "CTR");
    for (const Place& place : places_) device_->write(place.out, Buffer(place.out.bytes, 0));
  };
  // More streams than calls may be on at once, each destroyed right after its call.
  for (int round = 0; round < 12; ++round) {
    const DeviceStream other = device_->make_stream();
    ctr.process(list, other);
    device_->synchronize();
    device_->destroy_stream(other);
    expect_encrypted();
  }
  std::vector<DeviceStream> streams;
  for (int i = 0; i < 12; ++i) streams.push_back(device_->make_stream());
  for (int round = 0; round < 3; ++round) {
    for (const DeviceStream& stream : streams) {
      // Each text is processed by one stream at a time.
      ctr.process(std::span(list).first(1), stream);
      device_->synchronize();
      ctr.process(std::span(list).last(1), stream);
      device_->synchronize();
    }
    ctr.process(list);
    expect_encrypted();
  }
  for (const DeviceStream& stream : streams) device_->destroy_stream(stream);
}

TEST_F(DeviceTexts, StreamOfAnotherDeviceIsRefused) {
  DeviceCtr ctr(device_->stream(), key_, {.kernel = "reference"});
  EXPECT_HAS(message_of<InvalidArgument>([&] {
               ctr.process(texts(1), {"cuda:7", nullptr});
             }),
             "the stream is on 'cuda:7', and the cipher on");
}

// ---- Segments

class SegmentsOnDevice : public TextsOnDevice {
 protected:
  struct Format {
    const char* name;
    Message::Parts parts;
  };
  [[nodiscard]] std::vector<Format> formats() const {
    TinkParameters tink;
    tink.segment_bytes = 4096;
    std::vector<Format> all;
    all.push_back({"paraes", new_paraes_message(key_)});
    all.push_back({"c2sp", new_c2sp_message(key_)});
    all.push_back({"tink", new_tink_message(tink, key_, {})});
    return all;
  }

  // The segments from `first` on, with the bytes of a file in front of them: they lie at 4,056, 56
  // or elsewhere that is no multiple of 16.
  void expect_opened(DeviceSegments& segments, const Message& message, const Buffer& plain,
                     const Buffer& sealed, std::uint64_t first) {
    const SegmentLayout& layout = message.layout();
    const std::uint64_t from = layout.plain_offset(first);
    const std::uint64_t at = layout.sealed_offset(first) - layout.header_bytes;
    const DeviceBuffer all = device_->allocate(sealed.size());
    device_->write(all, sealed);
    const DeviceBuffer in{all.memory, at, sealed.size() - at};
    const DeviceBuffer out = device_->allocate(plain.size() - from, 5);
    const DeviceVerdict verdict = segments.open(first, true, in, out);
    device_->synchronize();
    check_segments(verdict, first, layout, true);
    EXPECT_EQ(difference(device_->read(out), Bytes(plain).subspan(from)), "");
  }
};

TEST_F(SegmentsOnDevice, AreThoseOfTheHost) {
  for (const Format& format : formats()) {
    SCOPED_TRACE(format.name);
    const Message message(format.parts);
    const SegmentLayout& layout = message.layout();
    const DeviceOptions options{.kernel = "reference"};
    DeviceSegments segments(device_->stream(), format.parts, options);
    const Buffer plain = pattern(5 * layout.segment_bytes + 1234);
    Buffer sealed(layout.sealed_bytes(plain.size()) - layout.header_bytes);
    seal_segments(message, 0, true, plain, sealed, 1);

    const DeviceBuffer in = device_->allocate(plain.size(), 3);
    const DeviceBuffer out = device_->allocate(sealed.size(), 8);
    device_->write(in, plain);
    segments.seal(0, true, in, out);
    EXPECT_EQ(difference(device_->read(out), sealed), "");
    // A few from the midst.
    const std::uint64_t from = layout.plain_offset(2);
    const std::uint64_t two = 2 * layout.segment_bytes;
    const DeviceBuffer part{in.memory, in.offset + from, two};
    const DeviceBuffer sealed_part = device_->allocate(two + 2 * segment_tag_bytes);
    segments.seal(2, false, part, sealed_part);
    const std::uint64_t at = layout.sealed_offset(2) - layout.header_bytes;
    EXPECT_EQ(difference(device_->read(sealed_part),
                         Bytes(sealed).subspan(at, two + 2 * segment_tag_bytes)),
              "");
    for (const std::uint64_t first : {0U, 1U, 3U, 5U}) {
      expect_opened(segments, message, plain, sealed, first);
    }

    sealed[layout.sealed_offset(3) - layout.header_bytes + 100] ^= 1;
    device_->write(out, sealed);
    const DeviceVerdict verdict = segments.open(0, true, out, in);
    const Buffer opened = device_->read(in);
    EXPECT_FALSE(verdict.intact(3));
    EXPECT_TRUE(verdict.intact(4));
    EXPECT_HAS(message_of<BadSegment>([&] { check_segments(verdict, 0, layout, true); }),
               "segment 3 does not authenticate");
    Buffer expected = plain;
    const auto begin = expected.begin() + static_cast<std::ptrdiff_t>(layout.plain_offset(3));
    std::fill_n(begin, layout.segment_bytes, std::uint8_t{0});
    EXPECT_EQ(difference(opened, expected), "");

    EXPECT_HAS(message_of<InvalidArgument>([&] { segments.seal(0, false, in, out); }),
               "only the last segment");
    EXPECT_HAS(message_of<InvalidArgument>([&] { segments.seal(0, true, in, in); }),
               "but the buffer has");
  }
}

}  // namespace
}  // namespace paraes
