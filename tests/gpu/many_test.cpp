// Many small messages at once, each with its own key, on the device that PARAES_TEST_DEVICE names,
// or opencl:0. Results are compared with those of seal_message and open_message on the CPU.

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <deque>
#include <fstream>
#include <optional>
#include <string>
#include <vector>

#include "paraes/ciphers.hpp"
#include "paraes/devices.hpp"
#include "paraes/error.hpp"
#include "paraes/messages.hpp"
#include "src/cipher/gpu_key.hpp"
#include "src/core/key_schedule.hpp"
#include "src/gpu/pool.hpp"
#include "src/kernels/registry.hpp"
#include "tests/gpu/each_kernel.hpp"
#include "tests/gpu/expect_has.hpp"
#include "tests/support/buffers.hpp"
#include "tests/support/test_device.hpp"
#include "tests/support/whole_message.hpp"

namespace paraes {
namespace {

using support::Buffer;
using support::test_device;

enum class Kind { paraes, c2sp, tink };

// A message, whose key and plaintext depend on its number.
struct Sample {
  Kind kind = Kind::c2sp;
  std::size_t key_bytes = 32;
  std::uint64_t segment_bytes = 4096;  // tink
  std::size_t bytes = 0;
  unsigned number = 0;

  [[nodiscard]] Buffer key() const { return support::make_key(key_bytes, number + 1); }
  [[nodiscard]] Buffer plain() const { return support::pattern(bytes, number); }
  [[nodiscard]] TinkParameters tink() const {
    return {.segment_bytes = segment_bytes, .derived_key_bytes = key_bytes};
  }

  [[nodiscard]] Message fresh(const Execution& how) const {
    switch (kind) {
      case Kind::paraes:
        return Message(new_paraes_message(Preface::for_key(key_bytes), key(), {}), how);
      case Kind::tink:
        return Message(new_tink_message(tink(), key(), {}), how);
      default:
        return Message(new_c2sp_message(key(), {}), how);
    }
  }

  [[nodiscard]] Message opened(Bytes sealed, const Execution& how) const {
    switch (kind) {
      case Kind::paraes:
        return Message(open_paraes_message(sealed.first(paraes_header_bytes), key(), {}), how);
      case Kind::tink:
        return Message(open_tink_message(tink(), sealed.first(tink().header_bytes()), key(), {}),
                       how);
      default:
        return Message(open_c2sp_message(sealed.first(c2sp_header_bytes), key(), {}), how);
    }
  }
};

std::string text_of(const std::exception_ptr& error) {
  if (!error) return "";
  try {
    std::rethrow_exception(error);
  } catch (const std::exception& exception) {
    return exception.what();
  }
}

Buffer sealed_by_cpu(const Sample& sample) {
  return support::sealed(sample.fresh({}), sample.plain());
}

Buffer opened_by_cpu(const Sample& sample, const Buffer& sealed) {
  return support::opened(sample.opened(sealed, {}), sealed);
}

// A batch: messages, their input and output, and the list for seal_messages or open_messages.
struct Batch {
  std::deque<Message> messages;
  std::deque<Buffer> in;
  std::deque<Buffer> out;
  std::vector<WholeMessage> list;

  void add(Message message, Buffer bytes, std::size_t out_bytes) {
    messages.push_back(std::move(message));
    in.push_back(std::move(bytes));
    out.emplace_back(out_bytes, 0xa5);
    list.push_back(
        {.message = &messages.back(), .in = in.back(), .out = out.back(), .error = nullptr});
  }

  void add_to_seal(const Sample& sample, const Execution& how) {
    Message message = sample.fresh(how);
    const std::uint64_t size = message.layout().sealed_bytes(sample.bytes);
    add(std::move(message), sample.plain(), static_cast<std::size_t>(size));
  }

  void add_to_open(const Sample& sample, Buffer sealed, const Execution& how) {
    Message message = sample.opened(sealed, how);
    add(std::move(message), std::move(sealed), sample.bytes);
  }
};

// All formats and key sizes, with lengths around blocks, tiles and segments.
std::vector<Sample> samples() {
  std::vector<Sample> list;
  unsigned number = 0;
  const std::vector<std::size_t> lengths = {0,    1,     15,    16,    17,    511,   512,
                                            4055, 16383, 16384, 16385, 70000, 200000};
  for (const std::size_t key_bytes : {std::size_t{32}, std::size_t{16}}) {
    for (const std::size_t bytes : lengths) {
      for (const Kind kind : {Kind::paraes, Kind::c2sp, Kind::tink}) {
        list.push_back({.kind = kind, .key_bytes = key_bytes, .bytes = bytes, .number = number++});
      }
      // One segment, which may be longer than the segments of one key that share a launch.
      list.push_back({.kind = Kind::tink,
                      .key_bytes = key_bytes,
                      .segment_bytes = 1 << 20,
                      .bytes = bytes,
                      .number = number++});
    }
  }
  // One that is too long for a batch.
  list.push_back(
      {.kind = Kind::tink, .segment_bytes = 1 << 20, .bytes = 300000, .number = number++});
  return list;
}

class ManyMessages : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override { PARAES_NEEDS_DEVICE(test_device()); }

  [[nodiscard]] static Execution execution() {
    return {.kernel = GetParam(), .device = test_device(), .device_memory = 0};
  }

  // How many launches the first device has made since the last call.
  static std::uint64_t launches(const Execution& how) {
    const auto pool =
        gpu::open_pool(gpu::parse_device(how.device).value(), gpu::find_gpu_kernel(how.kernel),
                       {.memory_limit = how.device_memory});
    static std::uint64_t last = 0;
    const std::uint64_t now = pool->contexts()[0]->launches();
    const std::uint64_t made = now - last;
    last = now;
    return made;
  }

  // Seals `count` messages with these numbers of bytes at once, and opens them on the CPU.
  template <class Size>
  static void expect_sealed(unsigned count, const Execution& how, const Size& bytes_of) {
    Batch batch;
    for (unsigned i = 0; i < count; ++i) {
      batch.add_to_seal({.bytes = bytes_of(i), .number = i}, how);
    }
    seal_messages(batch.list);
    for (unsigned i = 0; i < count; ++i) {
      const Sample sample = {.bytes = bytes_of(i), .number = i};
      ASSERT_EQ(support::difference(opened_by_cpu(sample, batch.out[i]), sample.plain()), "") << i;
    }
  }

  static void expect_same_as_cpu(const Execution& how) {
    const std::vector<Sample> list = samples();
    Batch sealing;
    Batch opening;
    for (const Sample& sample : list) {
      sealing.add_to_seal(sample, how);
      opening.add_to_open(sample, sealed_by_cpu(sample), how);
    }
    seal_messages(sealing.list);
    open_messages(opening.list);
    for (std::size_t i = 0; i < list.size(); ++i) {
      const std::string context =
          "message " + std::to_string(i) + " of " + std::to_string(list[i].bytes) + " bytes";
      ASSERT_EQ(text_of(sealing.list[i].error), "") << context;
      ASSERT_EQ(text_of(opening.list[i].error), "") << context;
      const Buffer plain = list[i].plain();
      ASSERT_EQ(support::difference(opened_by_cpu(list[i], sealing.out[i]), plain), "") << context;
      ASSERT_EQ(support::difference(opening.out[i], plain), "") << context;
    }
  }
};

TEST_P(ManyMessages, EveryFormatAndLengthMatchesTheCpu) { expect_same_as_cpu(execution()); }

TEST_P(ManyMessages, MappedTransferAndKeyExpansionOnTheDeviceMatchTheCpu) {
  Execution how = execution();
  how.transfer = Transfer::mapped;
  how.key_expansion = KeyExpansion::device;
  expect_same_as_cpu(how);
}

// The smallest streams: a launch has 64 KiB of text, 64 keys and about four times as many segments.
TEST_P(ManyMessages, LittleDeviceMemoryMatchesTheCpu) {
  Execution how = execution();
  how.device_memory = 1;
  expect_same_as_cpu(how);
  expect_sealed(500, how, [](unsigned i) { return i * 7U; });
}

// However many messages and keys a batch has, it launches each entry once: for hash keys, key
// stream, tag masks and tags, and if needed for copying, expanding and slicing the keys.
TEST_P(ManyMessages, BatchLaunchesEachEntryOnce) {
  if (test_device().find('+') != std::string::npos) GTEST_SKIP() << "it needs a single device";
  for (const KeyExpansion expansion : {KeyExpansion::host, KeyExpansion::device}) {
    Execution how = execution();
    how.key_expansion = expansion;
    const bool sliced = gpu::find_gpu_kernel(how.kernel).sliced_keys;
    // With CUDA and HIP a kernel copies the keys.
    const bool copies = test_device().rfind("opencl", 0) != 0;
    const std::uint64_t expected = 4U + (copies ? 1U : 0U) + (sliced ? 1U : 0U) +
                                   (expansion == KeyExpansion::device ? 1U : 0U);
    for (unsigned round = 0; round < 3; ++round) {
      Batch sealing;
      std::vector<Sample> list;
      for (unsigned i = 0; i < 300; ++i) {
        list.push_back({.bytes = (i * 37U) % 5000, .number = 1000 * round + i});
        sealing.add_to_seal(list.back(), how);
      }
      static_cast<void>(launches(how));
      seal_messages(sealing.list);
      EXPECT_EQ(launches(how), expected);
      Batch opening;
      for (unsigned i = 0; i < 300; ++i) opening.add_to_open(list[i], sealing.out[i], how);
      static_cast<void>(launches(how));
      open_messages(opening.list);
      EXPECT_EQ(launches(how), expected);
      for (unsigned i = 0; i < 300; ++i) {
        ASSERT_EQ(text_of(opening.list[i].error), "") << i;
        ASSERT_EQ(support::difference(opening.out[i], list[i].plain()), "") << i;
        if (i % 50 != 7) continue;
        const Buffer on_cpu = opened_by_cpu(list[i], sealing.out[i]);
        ASSERT_EQ(support::difference(on_cpu, list[i].plain()), "") << i;
      }
    }
  }
}

// A cipher whose key streams hold can use it again after a batch with other keys.
TEST_P(ManyMessages, BatchDoesNotDisturbAnotherCipher) {
  const Sample sample = {.bytes = 50000, .number = 5};
  const Buffer sealed = sealed_by_cpu(sample);
  const Message message = sample.opened(sealed, execution());
  for (unsigned round = 0; round < 3; ++round) {
    ASSERT_EQ(support::difference(support::opened(message, sealed), sample.plain()), "");
    expect_sealed(3, execution(), [](unsigned) { return 999U; });
  }
}

// The complements of a key and of one of its round keys, so that neither stays in memory.
class HiddenKey {
 public:
  explicit HiddenKey(const Buffer& bytes) {
    KeySchedule schedule;
    find_kernel("auto").expand(schedule, bytes.data(), static_cast<unsigned>(bytes.size()));
    for (std::size_t i = 0; i < key_bytes; ++i) {
      hidden_[0][i] = static_cast<std::uint8_t>(~bytes[i]);
      hidden_[1][i] = static_cast<std::uint8_t>(~schedule.encrypt[7][i]);
    }
  }
  void expect_in_memory(bool expected) const {
    EXPECT_EQ(found(), (std::array{expected, expected})) << "the key, and its round key";
  }

 private:
  static constexpr std::size_t key_bytes = 16;  // at the least; a round key

  // Whether the key and the round key occur in memory that this process can write. If the device
  // is a CPU, that includes device memory.
  [[nodiscard]] std::array<bool, 2> found() const {
    std::array<bool, 2> found = {};
    std::array<std::array<std::uint8_t, key_bytes>, 2> wanted;
    std::ifstream maps("/proc/self/maps");
    const Descriptor memory(open("/proc/self/mem", O_RDONLY | O_CLOEXEC));
    Buffer window(std::size_t{1} << 20);
    for (std::string line; std::getline(maps, line);) {
      std::uintptr_t begin = 0;
      std::uintptr_t end = 0;
      std::array<char, 5> rights = {};
      if (std::sscanf(line.c_str(), "%zx-%zx %4s", &begin, &end, rights.data()) != 3) continue;
      if (rights[0] != 'r' || rights[1] != 'w') continue;
      while (begin < end) {
        const std::size_t bytes = std::min(window.size(), end - begin);
        const ssize_t n = pread(memory.get(), window.data(), bytes, static_cast<off_t>(begin));
        if (n <= 0) break;
        begin += static_cast<std::size_t>(n);
        // The search's own copies are not in the memory that was read.
        for (std::size_t k = 0; k < 2; ++k) {
          for (std::size_t i = 0; i < key_bytes; ++i) wanted[k][i] = hidden_[k][i] ^ 0xff;
          found[k] |= memmem(window.data(), static_cast<std::size_t>(n), wanted[k].data(),
                             key_bytes) != nullptr;
          secure_zero(wanted[k].data(), key_bytes);
        }
        secure_zero(window.data(), static_cast<std::size_t>(n));
      }
    }
    return found;
  }

  std::array<std::array<std::uint8_t, key_bytes>, 2> hidden_;
};

#ifdef __has_feature  // Clang, which has no macros for this
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define PARAES_SANITIZED
#endif
#endif
#if defined(PARAES_SANITIZED) || defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define PARAES_NEEDS_MEMORY_SEARCH() GTEST_SKIP() << "the sanitizer maps too much memory to search"
#else
#define PARAES_NEEDS_MEMORY_SEARCH() static_cast<void>(0)
#endif

// A batch leaves no keys and no round keys behind, neither in host memory nor on the device.
TEST_P(ManyMessages, BatchWipesItsKeys) {
  PARAES_NEEDS_MEMORY_SEARCH();
  for (const KeyExpansion expansion : {KeyExpansion::host, KeyExpansion::device}) {
    Execution how = execution();
    how.key_expansion = expansion;
    std::optional<HiddenKey> hidden;
    {
      std::deque<SegmentCipher> ciphers;
      std::deque<Buffer> sealed;
      std::vector<CipherSegment> segments;
      const Buffer plain = support::pattern(1000);
      for (unsigned i = 0; i < 70; ++i) {
        Buffer key = support::make_key(32, 77 * i + 9000);
        if (i == 33) hidden.emplace(key);
        ciphers.emplace_back(key, Buffer(12), SegmentCipher::Nonces::counted, how);
        secure_zero(key.data(), key.size());
        sealed.emplace_back(plain.size() + segment_tag_bytes);
        segments.push_back(
            {.cipher = &ciphers.back(), .segment = {.in = plain, .out = sealed.back()}});
      }
      SegmentCipher::crypt(Direction::encrypt, segments);
      hidden->expect_in_memory(true);
    }
    hidden->expect_in_memory(false);
  }
}

// The key of a single cipher, of `bitslice`: the other kernels pass it to CUDA's driver.
TEST(OneKey, IsWipedWithItsCipher) {
  PARAES_NEEDS_DEVICE(test_device());
  PARAES_NEEDS_MEMORY_SEARCH();
  for (const KeyExpansion expansion : {KeyExpansion::host, KeyExpansion::device}) {
    Execution how;
    how.device = test_device();
    how.kernel = "bitslice";
    how.key_expansion = expansion;
    std::optional<HiddenKey> hidden;
    {
      Buffer key = support::make_key(32, 4711);
      hidden.emplace(key);
      Ctr cipher(key, Buffer(16), how);
      secure_zero(key.data(), key.size());
      Buffer text = support::pattern(100'000);
      cipher.process(text, text);
      hidden->expect_in_memory(true);
    }
    hidden->expect_in_memory(false);
  }
}

// A stream that is returned because of an exception has waited for pending work and holds no key.
// The next use of the same key expands it again, and its result is right.
TEST_P(ManyMessages, FailedLaunchWipesTheKeyOfItsStream) {
  const Execution how = execution();
  const auto pool =
      gpu::open_pool(gpu::parse_device(how.device).value(), gpu::find_gpu_kernel(how.kernel), {});
  const Buffer key = support::make_key(32, 12345);
  const auto material = detail::make_key_material(key, 1, false, KeyExpansion::host);
  const Buffer plain = support::pattern(4096);
  Buffer expected(plain.size());
  Ecb(key).encrypt(plain, expected);
  // Returns the time that the key expansion took, zero if the stream held the key.
  const auto encrypt = [&](const char* entry) {
    gpu::DevicePool::Lease lease(*pool);
    gpu::Stream& stream = lease.stream();
    stream.use_key(*material);
    std::copy(plain.begin(), plain.end(), stream.input());
    stream.stage_in(plain.size());
    paraes_message message = gpu::make_message(0, 0, plain.size(), nullptr);
    stream.launch(entry, {&message, 1});
    stream.stage_out(plain.size());
    stream.finish();
    EXPECT_TRUE(std::equal(expected.begin(), expected.end(), stream.output()));
    return stream.take_times().key_expansion;
  };
  EXPECT_GT(encrypt("ecb_encrypt"), 0U);
  EXPECT_EQ(encrypt("ecb_encrypt"), 0U);
  EXPECT_THROW(encrypt("no_such_entry"), Error);
  EXPECT_GT(encrypt("ecb_encrypt"), 0U);
}

// Opens a batch with damaged messages: only these fail, each with its own error.
void expect_only_damaged_messages_fail(const Execution& how) {
  Batch batch;
  std::vector<Sample> list;
  for (unsigned i = 0; i < 8; ++i) {
    list.push_back({.kind = i == 6 ? Kind::tink : Kind::paraes, .bytes = 40000U + i, .number = i});
    Buffer sealed = sealed_by_cpu(list.back());
    Message message = list.back().opened(sealed, how);
    if (i == 2) sealed[sealed.size() - 1] ^= 1;               // the tag of the last segment
    if (i == 3) sealed[paraes_header_bytes + 20000] ^= 0x80;  // segment 1
    if (i == 4) sealed.resize(paraes_header_bytes + 16400);   // ends with a full segment
    if (i == 6) sealed[100] ^= 1;  // segment 0, whose failure may mean a wrong key
    batch.add(std::move(message), sealed, i == 5 ? 39999 : list.back().bytes);
  }
  open_messages(batch.list);
  EXPECT_THROW(std::rethrow_exception(batch.list[3].error), IntegrityError);
  EXPECT_THROW(std::rethrow_exception(batch.list[4].error), IntegrityError);
  EXPECT_THROW(std::rethrow_exception(batch.list[5].error), InvalidArgument);
  const std::vector<std::string> says = {
      "", "", "segment 2", "segment 1", "truncated", "needs a buffer", "wrong key", ""};
  for (unsigned i = 0; i < 8; ++i) {
    const std::string text = text_of(batch.list[i].error);
    EXPECT_HAS(text, says[i]) << i;
    EXPECT_EQ(text.empty(), says[i].empty()) << i << ": " << text;
    const Buffer right = text.empty() ? list[i].plain() : Buffer(batch.out[i].size());
    EXPECT_EQ(support::difference(batch.out[i], right), "") << i;
  }
}

TEST_P(ManyMessages, OnlyDamagedMessagesFail) { expect_only_damaged_messages_fail(execution()); }

TEST(ManyMessagesOnTheCpu, OnlyDamagedMessagesFail) { expect_only_damaged_messages_fail({}); }

TEST(ManyMessagesOnTheCpu, SealedMessagesOpenAgain) {
  Batch sealing;
  const std::vector<Sample> list = samples();
  for (const Sample& sample : list) sealing.add_to_seal(sample, {});
  seal_messages(sealing.list);
  for (std::size_t i = 0; i < list.size(); ++i) {
    ASSERT_EQ(support::difference(opened_by_cpu(list[i], sealing.out[i]), list[i].plain()), "");
  }
  seal_messages({});
  open_messages({});
}

TEST(ManyMessagesOnTheCpu, OutputOfTheWrongSizeIsRefused) {
  Batch batch;
  const Sample sample = {.bytes = 10, .number = 1};
  batch.add(sample.fresh({}), sample.plain(), 10);
  seal_messages(batch.list);
  EXPECT_THROW(std::rethrow_exception(batch.list[0].error), InvalidArgument);
}

PARAES_FOR_EACH_GPU_KERNEL(Kernels, ManyMessages);

}  // namespace
}  // namespace paraes
