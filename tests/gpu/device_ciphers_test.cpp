// The ciphers of paraes/devices.hpp, over memory and a stream that belong to the test: every
// kernel, mode and key size against OpenSSL, on the device that PARAES_TEST_DEVICE names
// (opencl:0).

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <memory>
#include <string>
#include <vector>

#include "paraes/devices.hpp"
#include "paraes/error.hpp"
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

std::array<std::uint8_t, 16> block(unsigned seed) {
  std::array<std::uint8_t, 16> made{};
  std::copy_n(support::make_key(16, seed).begin(), 16, made.begin());
  return made;
}

std::uint64_t whole_blocks(std::uint64_t bytes) { return (bytes + 15) / 16 * 16; }

// Messages of these sizes, one after another, each at a multiple of 16 bytes. Messages take the
// keys in turn.
std::vector<DeviceMessage> make_messages(std::span<const std::uint64_t> sizes, unsigned keys,
                                         std::size_t gap = 0) {
  std::vector<DeviceMessage> messages;
  std::uint64_t at = 0;
  for (const std::uint64_t bytes : sizes) {
    const auto number = static_cast<unsigned>(messages.size());
    messages.push_back({.in = at,
                        .out = at,
                        .bytes = bytes,
                        .key = number % keys,
                        .iv = block(1000 + number),
                        .tag = at + whole_blocks(bytes)});
    at += whole_blocks(bytes) + gap;
  }
  return messages;
}

// The room for tags behind the texts.
constexpr std::size_t tag_gap = 32;

struct Keys {
  std::vector<Buffer> bytes;
  std::vector<Bytes> spans;

  Keys(unsigned count, std::size_t key_bytes) {
    for (unsigned k = 0; k < count; ++k) bytes.push_back(support::make_key(key_bytes, 10 + k));
    for (const Buffer& key : bytes) spans.emplace_back(key);
  }
};

// One message; several; with several keys, of other sizes.
struct Load {
  unsigned keys;
  std::size_t key_bytes;
  std::vector<std::uint64_t> blocks;
};
const std::vector<Load> loads = {
    {1, 16, {1}}, {1, 32, {3, 0, 70, 1025, 33}}, {3, 24, {5, 1024, 2, 300, 64}}};

std::size_t total(const std::vector<DeviceMessage>& messages) {
  const DeviceMessage& last = messages.back();
  return last.out + whole_blocks(last.bytes) + tag_gap;
}

template <class Work>
void for_each_load(const Work& work) {
  for (const Load& load : loads) {
    for (const bool in_place : {false, true}) {
      SCOPED_TRACE(std::to_string(load.blocks.size()) + " messages, " + std::to_string(load.keys) +
                   " keys" + (in_place ? ", in place" : ""));
      work(load, in_place);
    }
  }
}

std::vector<std::uint64_t> in_bytes(const std::vector<std::uint64_t>& blocks, std::uint64_t more) {
  std::vector<std::uint64_t> bytes;
  for (const std::uint64_t n : blocks) bytes.push_back(16 * n + more);
  return bytes;
}

class DeviceCiphers : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    PARAES_NEEDS_DEVICE(test_device());
    device_ = support::open_callers_device(test_device());
  }

  [[nodiscard]] static DeviceOptions options() { return {.kernel = GetParam()}; }

  // Runs `work(in, out)` on device memory with the pattern, into another buffer or in place, and
  // returns the output.
  template <class Work>
  Buffer run(std::size_t bytes, bool in_place, const Work& work) {
    // Texts begin at multiples of 16 bytes, buffers of memory anywhere else.
    const DeviceBuffer in = device_->allocate(bytes, 48);
    const DeviceBuffer out = in_place ? in : device_->allocate(bytes, 16);
    if (!in_place) device_->write(out, Buffer(bytes, 0xee));
    device_->write(in, pattern(bytes));
    work(in, out);
    return device_->read(out);
  }

  // Expects `bytes` of the result to be the messages' texts as `expected(message, text)` makes
  // them, and everything else to be untouched.
  template <class Expected>
  static void expect(const Buffer& result, const std::vector<DeviceMessage>& messages,
                     bool in_place, const Expected& expected) {
    const Buffer plain = pattern(result.size());
    Buffer all = in_place ? plain : Buffer(result.size(), 0xee);
    for (const DeviceMessage& message : messages) {
      const Bytes text = Bytes(plain).subspan(message.in, message.bytes);
      const Buffer wanted = expected(message, text);
      std::copy(wanted.begin(), wanted.end(),
                all.begin() + static_cast<std::ptrdiff_t>(message.out));
    }
    EXPECT_EQ(difference(result, all), "");
  }

  // Runs `work(cipher, in, out, messages)` for each load, with messages of blocks and `more` bytes,
  // and expects texts to become `expected(key, message, text)`.
  template <class Cipher, class Work, class Expected>
  void run_each_load(std::uint64_t more, const Work& work, const Expected& expected) {
    for_each_load([&](const Load& load, bool in_place) {
      const Keys keys(load.keys, load.key_bytes);
      Cipher cipher(device_->stream(), keys.spans, options());
      const auto messages = make_messages(in_bytes(load.blocks, more), load.keys);
      const Buffer result = run(total(messages), in_place, [&](const auto& in, const auto& out) {
        work(cipher, in, out, messages);
      });
      expect(result, messages, in_place, [&](const DeviceMessage& message, Bytes text) {
        return expected(keys.spans[message.key], message, text);
      });
    });
  }

  std::unique_ptr<support::CallersDevice> device_;
};

template <class Cipher>
void crypt(Cipher& cipher, Direction direction, const DeviceBuffer& in, const DeviceBuffer& out,
           std::span<const DeviceMessage> messages) {
  if (direction == Direction::encrypt) {
    cipher.encrypt(in, out, messages);
  } else {
    cipher.decrypt(in, out, messages);
  }
}

TEST_P(DeviceCiphers, EcbMatchesOpenssl) {
  for (const Direction direction : {Direction::encrypt, Direction::decrypt}) {
    run_each_load<DeviceEcb>(
        0,
        [&](DeviceEcb& cipher, const auto&... call) {
          EXPECT_EQ(cipher.kernel(), GetParam());
          crypt(cipher, direction, call...);
        },
        [&](Bytes key, const DeviceMessage&, Bytes text) {
          return support::evp_ecb(direction, key, text);
        });
  }
}

TEST_P(DeviceCiphers, CbcDecryptionMatchesOpenssl) {
  run_each_load<DeviceCbc>(
      0, [](DeviceCbc& cipher, const auto&... call) { cipher.decrypt(call...); },
      [](Bytes key, const DeviceMessage& message, Bytes text) {
        return support::evp_cbc(Direction::decrypt, key, message.iv, text);
      });
}

TEST_P(DeviceCiphers, CtrMatchesOpenssl) {
  run_each_load<DeviceCtr>(
      7, [](DeviceCtr& cipher, const auto&... call) { cipher.process(call...); },
      [](Bytes key, const DeviceMessage& message, Bytes text) {
        return support::evp_ctr(key, message.iv, text);
      });
}

TEST_P(DeviceCiphers, XtsMatchesOpenssl) {
  const Buffer key = support::make_key(64, 3);
  // Whole units, a shorter last one, less than one.
  const auto messages = make_messages(std::vector<std::uint64_t>{4096, 1040, 32}, 1);
  for (const std::size_t unit : {512U, 48U, 0U}) {
    DeviceXts cipher(device_->stream(), key, unit, options());
    for (const unsigned way : {0U, 1U, 2U, 3U}) {
      const bool in_place = way >= 2;
      const Direction direction = way % 2 == 0 ? Direction::encrypt : Direction::decrypt;
      SCOPED_TRACE("units of " + std::to_string(unit) + (in_place ? ", in place" : ""));
      const Buffer result = run(total(messages), in_place, [&](const auto& in, const auto& out) {
        crypt(cipher, direction, in, out, messages);
      });
      expect(result, messages, in_place, [&](const DeviceMessage& message, Bytes text) {
        // No unit needs ciphertext stealing.
        return support::evp_xts(direction, key, message.iv, unit, text);
      });
    }
  }
}

support::Sealed sealed_by_openssl(const Keys& keys, const DeviceMessage& message, Bytes plain) {
  return support::evp_gcm_encrypt(keys.spans[message.key], Bytes(message.iv).first(12), message.aad,
                                  plain.subspan(message.in, message.bytes));
}

Bytes text_of(const Buffer& all, const DeviceMessage& message) {
  return Bytes(all).subspan(message.out, message.bytes);
}

// Seals and opens messages in place, whatever lies between them.
void expect_sealed_and_opened(DeviceGcm& cipher, support::CallersDevice& device, const Keys& keys,
                              const DeviceBuffer& memory,
                              const std::vector<DeviceMessage>& messages) {
  const Buffer plain = pattern(memory.bytes);
  device.write(memory, plain);
  cipher.encrypt(memory, memory, messages);
  const Buffer sealed = device.read(memory);
  for (const DeviceMessage& message : messages) {
    const support::Sealed right = sealed_by_openssl(keys, message, plain);
    ASSERT_EQ(difference(text_of(sealed, message), right.text), "") << message.in;
    ASSERT_EQ(difference(Bytes(sealed).subspan(message.tag, 16), right.tag), "") << message.in;
  }
  const DeviceVerdict verdict = cipher.decrypt(memory, memory, messages);
  const Buffer opened = device.read(memory);
  EXPECT_TRUE(verdict.all_intact());
  for (const DeviceMessage& message : messages) {
    ASSERT_EQ(difference(text_of(opened, message), text_of(plain, message)), "") << message.in;
  }
  device.write(memory, sealed);
}

Buffer aad_of(const DeviceMessage& message, bool has_aad) {
  return has_aad ? pattern(message.bytes % 50 + 1, 77) : Buffer();
}

TEST_P(DeviceCiphers, GcmMatchesOpenssl) {
  for_each_load([&](const Load& load, bool in_place) {
    for (const bool has_aad : {false, true}) {
      SCOPED_TRACE(has_aad ? "with associated data" : "");
      const Keys keys(load.keys, load.key_bytes);
      DeviceGcm cipher(device_->stream(), keys.spans, options());
      auto messages = make_messages(in_bytes(load.blocks, has_aad ? 9 : 0), load.keys, tag_gap);
      std::vector<Buffer> aads;
      for (DeviceMessage& message : messages) aads.push_back(aad_of(message, has_aad));
      for (std::size_t i = 0; i < messages.size(); ++i) messages[i].aad = aads[i];
      const Buffer sealed = run(total(messages), in_place, [&](const auto& in, const auto& out) {
        cipher.encrypt(in, out, messages);
      });
      const Buffer plain = pattern(sealed.size());
      Buffer expected = in_place ? plain : Buffer(sealed.size(), 0xee);
      for (const DeviceMessage& message : messages) {
        const support::Sealed right = sealed_by_openssl(keys, message, plain);
        std::copy(right.text.begin(), right.text.end(), &expected[message.out]);
        std::copy(right.tag.begin(), right.tag.end(), &expected[message.tag]);
      }
      ASSERT_EQ(difference(sealed, expected), "");

      // Every second message is damaged, in turn in its associated data, its text and its tag.
      Buffer damaged = sealed;
      for (std::size_t i = 1; i < messages.size(); i += 2) {
        const std::size_t part = (i / 2 + (in_place ? 1 : 0)) % 3;
        if (part == 0 && has_aad) {
          aads[i][0] ^= 1;
        } else if (part < 2 && messages[i].bytes != 0) {
          damaged[messages[i].out + messages[i].bytes - 1] ^= 0x80;
        } else {
          damaged[messages[i].tag + 15] ^= 1;
        }
      }
      const DeviceBuffer in = device_->allocate(damaged.size(), 16);
      const DeviceBuffer out = in_place ? in : device_->allocate(damaged.size());
      if (!in_place) device_->write(out, Buffer(damaged.size(), 0xee));
      device_->write(in, damaged);
      const DeviceVerdict verdict = cipher.decrypt(in, out, messages);
      const Buffer opened = device_->read(out);
      ASSERT_EQ(verdict.messages(), messages.size());
      Buffer texts = in_place ? damaged : Buffer(damaged.size(), 0xee);
      for (std::size_t i = 0; i < messages.size(); ++i) {
        EXPECT_EQ(verdict.intact(i), i % 2 == 0) << i;
        const auto* const from = &plain[messages[i].in];
        auto* const to = &texts[messages[i].out];
        std::copy(from, from + messages[i].bytes, to);
        if (i % 2 == 1) std::fill(to, to + messages[i].bytes, std::uint8_t{0});
      }
      EXPECT_EQ(verdict.all_intact(), messages.size() == 1);
      EXPECT_EQ(difference(opened, texts), "");
    }
  });
}

// Texts that are hashed in several ranges, the first of which is shorter than the others.
TEST_P(DeviceCiphers, LongGcmMessagesMatchOpenssl) {
  const Keys keys(2, 16);
  DeviceGcm cipher(device_->stream(), keys.spans, options());
  for (const std::uint64_t bytes : {65536U, 65552U, 1000003U}) {
    SCOPED_TRACE(bytes);
    const std::vector<std::uint64_t> sizes = {100, bytes, 16};
    const auto messages = make_messages(sizes, 2, tag_gap);
    const DeviceBuffer in = device_->allocate(total(messages));
    expect_sealed_and_opened(cipher, *device_, keys, in, messages);
    if (HasFatalFailure()) return;
    Buffer sealed = device_->read(in);
    sealed[messages[1].out + 20000] ^= 4;
    device_->write(in, sealed);
    const DeviceVerdict verdict = cipher.decrypt(in, in, messages);
    const Buffer withheld = device_->read(in);
    EXPECT_TRUE(verdict.intact(0));
    EXPECT_FALSE(verdict.intact(1));
    EXPECT_TRUE(verdict.intact(2));
    EXPECT_EQ(difference(text_of(withheld, messages[1]), Buffer(bytes)), "");
  }
}

// The product of the numbers of messages and of tiles exceeds 32 bits.
TEST_P(DeviceCiphers, CallsMayHaveManyMessages) {
  constexpr unsigned count = 70000;
  const Keys keys(2, 16);
  const std::vector<std::uint64_t> sizes(count, 16);
  const auto messages = make_messages(sizes, 2, tag_gap);
  const DeviceBuffer in = device_->allocate(total(messages));
  const Buffer plain = pattern(in.bytes);
  DeviceCtr ctr(device_->stream(), keys.spans, options());
  device_->write(in, plain);
  ctr.process(in, in, messages);
  const Buffer processed = device_->read(in);
  for (const DeviceMessage& message : messages) {
    const Buffer right =
        support::evp_ctr(keys.spans[message.key], message.iv, text_of(plain, message));
    ASSERT_EQ(difference(text_of(processed, message), right), "") << message.in / 48;
  }

  if (GetParam() != "bitslice") return;  // GHASH does not depend on tiles, and takes long on a CPU
  DeviceGcm gcm(device_->stream(), keys.spans, options());
  expect_sealed_and_opened(gcm, *device_, keys, in, messages);
}

// A second call needs more memory for its messages than the first, while the first may still run.
TEST_P(DeviceCiphers, CallsFollowEachOtherWithoutWaiting) {
  const Keys keys(1, 32);
  DeviceCtr cipher(device_->stream(), keys.spans, options());
  std::vector<DeviceBuffer> buffers;
  std::vector<std::vector<DeviceMessage>> calls;
  for (unsigned count = 1; count <= 400; count = 3 * count + 1) {
    calls.push_back(make_messages(std::vector<std::uint64_t>(count, 40), 1));
    buffers.push_back(device_->allocate(total(calls.back())));
    device_->write(buffers.back(), pattern(buffers.back().bytes));
  }
  for (std::size_t i = 0; i < calls.size(); ++i) cipher.process(buffers[i], buffers[i], calls[i]);
  for (std::size_t i = 0; i < calls.size(); ++i) {
    expect(device_->read(buffers[i]), calls[i], true,
           [&](const DeviceMessage& message, Bytes text) {
             return support::evp_ctr(keys.bytes[0], message.iv, text);
           });
  }
}

PARAES_FOR_EACH_GPU_KERNEL(, DeviceCiphers);

// ---- What does not depend on the kernel

class DeviceCalls : public testing::Test {
 protected:
  void SetUp() override {
    PARAES_NEEDS_DEVICE(test_device());
    device_ = support::open_callers_device(test_device());
    in_ = device_->allocate(256);
    out_ = device_->allocate(256);
    device_->write(in_, pattern(256));
    device_->write(out_, pattern(256, 100));
  }

  template <class Work>
  static std::string refusal(const Work& work) {
    return message_of<InvalidArgument>(work);
  }

  // The error of a call, which must not have written anything.
  template <class Work>
  std::string error_of(const Work& work) {
    const std::string message = refusal(work);
    EXPECT_EQ(difference(device_->read(in_), pattern(256)), "") << message;
    EXPECT_EQ(difference(device_->read(out_), pattern(256, 100)), "") << message;
    return message;
  }

  std::unique_ptr<support::CallersDevice> device_;
  DeviceBuffer in_;
  DeviceBuffer out_;
  Buffer key_ = support::make_key(16, 1);
};

TEST_F(DeviceCalls, MessagesOfWrongPlacesAndKeysAreRefused) {
  constexpr std::uint64_t most = ~std::uint64_t{0};
  const std::pair<std::vector<DeviceMessage>, const char*> wrong[] = {
      {{{.in = 0, .out = 0, .bytes = 257}},
       "message 0: its input, 257 bytes at 0, is not within the buffer of 256"},
      {{{}, {.in = 0, .out = 16, .bytes = 256}}, "message 1: its output"},
      {{{.in = most - 15, .out = 0, .bytes = 32}}, "message 0: its input"},
      {{{.in = 0, .out = 0, .bytes = most}}, "message 0: its input"},
      {{{.in = 0, .out = 0, .bytes = 16, .key = 1}},
       "message 0: there is no key 1: the cipher has 1"},
      {{{.in = 0, .out = 0, .bytes = 32}, {.in = 0, .out = 16, .bytes = 16}},
       "its output overlaps that of message"},
  };
  DeviceCtr cipher(device_->stream(), key_, {.kernel = "reference"});
  for (const auto& [messages, part] : wrong) {
    EXPECT_HAS(error_of([&, &given = messages] { cipher.process(in_, out_, given); }), part);
  }
  EXPECT_HAS(error_of([&] {
               cipher.process({0, 0, 64}, out_, {});
             }),
             "the input buffer is a null pointer");
  EXPECT_HAS(error_of([&] {
               cipher.process(in_, {out_.memory, most, 64}, {});
             }),
             "the output buffer is larger than memory can be");
}

TEST_F(DeviceCalls, OverlapsInPlaceAreRefused) {
  DeviceCtr cipher(device_->stream(), key_, {.kernel = "reference"});
  const auto in_place = [&](const std::vector<DeviceMessage>& messages) {
    return error_of([&] { cipher.process(in_, in_, messages); });
  };
  EXPECT_HAS(in_place({{.in = 0, .out = 16, .bytes = 32}}), "its input overlaps the output");
  EXPECT_HAS(in_place({{.in = 0, .out = 64, .bytes = 16}, {.in = 64, .out = 0, .bytes = 16}}),
             "its input overlaps the output of message");
  // Unsorted, and not overlapping.
  const std::vector<DeviceMessage> apart = {{.in = 64, .out = 64, .bytes = 16},
                                            {.in = 0, .out = 0, .bytes = 16}};
  cipher.process(in_, in_, apart);
  device_->synchronize();
}

TEST_F(DeviceCalls, GcmTagsAreChecked) {
  DeviceGcm cipher(device_->stream(), key_, {.kernel = "reference"});
  const auto seal = [&](const DeviceMessage& message) {
    return error_of([&] { cipher.encrypt(in_, out_, {&message, 1}); });
  };
  EXPECT_HAS(seal({.in = 0, .out = 0, .bytes = 32, .tag = 30}), "its output overlaps");
  EXPECT_HAS(seal({.in = 0, .out = 0, .bytes = 32, .tag = 244}), "its tag, 16 bytes at 244");
  EXPECT_HAS(seal({.in = 0, .out = 0, .bytes = 32, .tag = 16}), "its output overlaps");
  const DeviceMessage tag_in_output{.in = 0, .out = 32, .bytes = 32, .tag = 32};
  EXPECT_HAS(error_of([&] {
               static_cast<void>(cipher.decrypt(in_, in_, {&tag_in_output, 1}));
             }),
             "its tag overlaps the output");
}

TEST_F(DeviceCalls, ModesRefuseSizesThatTheyCannotProcess) {
  const DeviceMessage odd{.in = 0, .out = 0, .bytes = 20};
  const DeviceStream stream = device_->stream();
  const DeviceOptions options{.kernel = "reference"};
  DeviceEcb ecb(stream, key_, options);
  EXPECT_HAS(error_of([&] { ecb.encrypt(in_, out_, {&odd, 1}); }), "section 5.2");
  DeviceCbc cbc(stream, key_, options);
  EXPECT_HAS(error_of([&] { cbc.decrypt(in_, out_, {&odd, 1}); }), "section 5.2");
  DeviceXts xts(stream, support::make_key(32, 2), 64, options);
  EXPECT_HAS(error_of([&] { xts.encrypt(in_, out_, {&odd, 1}); }), "ciphertext stealing (Xts)");
  const DeviceMessage none{};
  EXPECT_HAS(error_of([&] { xts.decrypt(in_, out_, {&none, 1}); }), "at least one");
  EXPECT_HAS(refusal([&] { DeviceXts(stream, support::make_key(32, 2), 24); }),
             "data units of whole blocks");
  EXPECT_HAS(refusal([&] { DeviceXts(stream, Buffer(32), 64); }), "must differ");
}

TEST_F(DeviceCalls, KeysAreChecked) {
  const DeviceStream stream = device_->stream();
  EXPECT_HAS(refusal([&] { DeviceCtr(stream, Buffer(17)); }), "not 17");
  EXPECT_HAS(refusal([&] { DeviceCtr(stream, std::vector<Bytes>()); }), "at least one key");
  const Buffer longer = support::make_key(32, 5);
  const std::vector<Bytes> mixed = {key_, longer};
  EXPECT_HAS(refusal([&] { DeviceCtr(stream, mixed); }), "one size, not 16 and 32");
  EXPECT_HAS(message_of<UnknownKernel>([&] { DeviceCtr(stream, key_, {.kernel = "aesni"}); }),
             "no GPU kernel 'aesni'");
}

TEST_F(DeviceCalls, StreamsAreChecked) {
  for (const char* device : {"cpu", "cuda:0+1", "opencl:0", ""}) {
    EXPECT_HAS(refusal([&] { DeviceCtr({device, nullptr}, key_); }), "a stream is on one device");
  }
  EXPECT_HAS(refusal([&] { DeviceCtr({"opencl", nullptr}, key_); }), "OpenCL has no default queue");
}

// A handle of OpenCL's memory is no address: the sum of one and an offset means nothing.
TEST_F(DeviceCalls, OpenClBuffersAreToldApartByTheirHandles) {
  if (device_->stream().device != "opencl") GTEST_SKIP() << "here they are addresses";
  constexpr std::size_t bytes = std::size_t{1} << 20;
  std::vector<DeviceBuffer> buffers;
  for (int i = 0; i < 64; ++i) buffers.push_back(device_->allocate(bytes));
  std::sort(buffers.begin(), buffers.end(),
            [](const auto& a, const auto& b) { return a.memory < b.memory; });
  std::size_t near = 0;  // the first of the two that are nearest to each other
  const auto apart = [&](std::size_t i) { return buffers[i + 1].memory - buffers[i].memory; };
  for (std::size_t i = 1; i + 1 < buffers.size(); ++i) {
    if (apart(i) < apart(near)) near = i;
  }
  const std::uint64_t distance = apart(near);
  ASSERT_LT(distance + 64, bytes) << "no two handles are near enough for this test";
  device_->write(buffers[near], pattern(bytes));
  device_->write(buffers[near + 1], Buffer(bytes));
  DeviceCbc cipher(device_->stream(), key_, {.kernel = "reference"});
  const DeviceMessage message{.in = distance, .out = 0, .bytes = 64};
  cipher.decrypt(buffers[near], buffers[near + 1], {&message, 1});
  const Buffer text = pattern(bytes);
  EXPECT_EQ(difference(Bytes(device_->read(buffers[near + 1])).first(64),
                       support::evp_cbc(Direction::decrypt, key_, message.iv,
                                        Bytes(text).subspan(distance, 64))),
            "");
}

// Two GPUs can share a context, and each needs programs and memory of its own.
TEST_F(DeviceCalls, DevicesOfOneOpenClContextAreToldApart) {
  if (device_->stream().device != "opencl") GTEST_SKIP() << "CUDA and HIP have a context a device";
  const std::vector<DeviceStream> streams = device_->streams();
  if (streams.size() < 2) GTEST_SKIP() << "there is one OpenCL device; see gpu.two_devices_ciphers";
  const DeviceMessage message{.in = 0, .out = 0, .bytes = 256};
  DeviceCtr first(streams[0], key_, {.kernel = "reference"});
  DeviceCtr second(streams[1], key_, {.kernel = "reference"});
  EXPECT_NE(first.device(), second.device());
  first.process(in_, out_, {&message, 1});
  device_->synchronize();
  second.process(out_, out_, {&message, 1});
  device_->synchronize();
  EXPECT_EQ(difference(device_->read(out_), pattern(256)), "");
}

TEST_F(DeviceCalls, EmptyCallsDoNothing) {
  DeviceGcm cipher(device_->stream(), key_, {.kernel = "reference"});
  cipher.encrypt(in_, out_, {});
  const DeviceVerdict verdict = cipher.decrypt({}, {}, {});
  EXPECT_EQ(verdict.messages(), 0U);
  EXPECT_TRUE(verdict.ready());
  EXPECT_TRUE(verdict.all_intact());
  EXPECT_THROW(static_cast<void>(verdict.intact(0)), InvalidArgument);
}

TEST_F(DeviceCalls, VerdictsOutliveTheirCipher) {
  auto cipher =
      std::make_unique<DeviceGcm>(device_->stream(), key_, DeviceOptions{.kernel = "reference"});
  const DeviceMessage message{.in = 0, .out = 0, .bytes = 100, .tag = 112};
  cipher->encrypt(in_, out_, {&message, 1});
  const DeviceVerdict verdict = cipher->decrypt(out_, in_, {&message, 1});
  cipher.reset();
  EXPECT_TRUE(verdict.ready());
  EXPECT_TRUE(verdict.all_intact());
}

}  // namespace
}  // namespace paraes
