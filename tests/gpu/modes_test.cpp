// Every mode, key size and direction of every GPU kernel, against OpenSSL, on one device: the one
// that PARAES_TEST_DEVICE names, or opencl:0, which is PoCL on a machine without a GPU.

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <deque>
#include <iostream>
#include <string>
#include <thread>
#include <vector>

#include "paraes/devices.hpp"
#include "paraes/error.hpp"
#include "paraes/segments.hpp"
#include "src/cipher/gpu_key.hpp"
#include "src/gpu/caller_queue.hpp"
#include "src/gpu/pool.hpp"
#include "src/gpu/tiling.hpp"
#include "src/kernels/registry.hpp"
#include "src/modes/gcm.hpp"
#include "tests/gpu/each_kernel.hpp"
#include "tests/support/buffers.hpp"
#include "tests/support/environment.hpp"
#include "tests/support/evp_oracle.hpp"
#include "tests/support/kernels.hpp"
#include "tests/support/one_segment.hpp"
#include "tests/support/operations.hpp"
#include "tests/support/test_device.hpp"

namespace paraes {
namespace {

using support::Buffer;
using support::Operation;

using support::test_device;

// A limit that gives the smallest streams: four, with launches of 64 KiB.
constexpr std::uint64_t little_memory = 1;

std::vector<SegmentCipher::Segment> segments_of(const std::vector<Buffer>& in,
                                                std::vector<Buffer>& out) {
  std::vector<SegmentCipher::Segment> segments;
  for (std::size_t i = 0; i < in.size(); ++i) {
    segments.push_back({.index = i, .last = i + 1 == in.size(), .in = in[i], .out = out[i]});
  }
  return segments;
}

std::vector<Buffer> sealed_by(const SegmentCipher& cpu, const std::vector<Buffer>& plain) {
  std::vector<Buffer> sealed;
  for (std::size_t i = 0; i < plain.size(); ++i) {
    sealed.emplace_back(plain[i].size() + segment_tag_bytes);
    support::seal_segment(cpu, i, i + 1 == plain.size(), plain[i], sealed[i]);
  }
  return sealed;
}

class Gpu : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override { PARAES_NEEDS_DEVICE(test_device()); }

  [[nodiscard]] static Execution execution() {
    return {.kernel = GetParam(), .device = test_device(), .device_memory = little_memory};
  }

  static void check(const Operation& operation, std::size_t bytes, std::size_t key_bytes,
                    const Execution& how) {
    const support::Task task = operation.prepare(operation.direction, bytes, key_bytes);
    const auto context = [&] {
      return std::string(operation.name) +
             (operation.direction == Direction::encrypt ? " encryption, " : " decryption, ") +
             std::to_string(bytes) + " bytes, key of " + std::to_string(key_bytes);
    };
    support::PlacedBuffer out(bytes, bytes % 16);
    out.fill(Buffer(bytes, 0xa5));
    ASSERT_EQ(support::run_task(operation, task, how, task.in, out.span()), "") << context();
    ASSERT_TRUE(out.margins_intact()) << context();
    out.fill(task.in);
    ASSERT_EQ(support::run_task(operation, task, how, out.span(), out.span()), "")
        << context() << ", in place";
    ASSERT_TRUE(out.margins_intact()) << context();
  }

  // Checks every operation with a text of about so many bytes, if its texts may be as long.
  static void check_all(std::size_t bytes, const Execution& how, bool every_key_size = false) {
    for (const Operation& operation : support::all_operations()) {
      const std::size_t near = nearest(operation, bytes);
      if (near > operation.max_bytes) continue;
      for (const std::size_t key_bytes : operation.key_bytes) {
        check(operation, near, key_bytes, how);
        if (HasFatalFailure()) return;
        if (!every_key_size) break;
      }
    }
  }

  static std::size_t nearest(const Operation& operation, std::size_t bytes) {
    if (bytes <= operation.min_bytes) return operation.min_bytes;
    return operation.min_bytes + (bytes - operation.min_bytes) / operation.step * operation.step;
  }
};

TEST_P(Gpu, EveryOperationAndLengthMatchesOpenssl) {
  std::size_t messages = 0;
  for (const Operation& operation : support::all_operations()) {
    for (const std::size_t key_bytes : operation.key_bytes) {
      std::size_t last = operation.max_bytes + 1;
      // Around the sizes of a block, of tiles of 32 to 1024 blocks, and of a range that is hashed
      // separately.
      for (const std::size_t length :
           {0, 1, 16, 31, 64, 511, 512, 529, 2048, 4096, 8192, 16384, 16400, 16399, 20000, 33000}) {
        const std::size_t bytes = nearest(operation, length);
        if (bytes == last || bytes > operation.max_bytes) continue;
        last = bytes;
        check(operation, bytes, key_bytes, execution());
        if (HasFatalFailure()) return;
        ++messages;
      }
    }
  }
  support::report("GPU: " + std::to_string(messages) + " messages through kernel " + GetParam() +
                  " on " + test_device());
}

// Small enough for a simulator that checks every access: see tests/gpu/simulated.
TEST_P(Gpu, LittleOfEverything) {
  for (const Operation& operation : support::all_operations()) {
    // More than 32 blocks, so that threads of a warp-sized group have more than one. The last block
    // is partial if the mode allows that.
    const support::Task task = operation.prepare(operation.direction, nearest(operation, 535), 32);
    Buffer out(task.in.size(), 0xa5);
    ASSERT_EQ(support::run_task(operation, task, execution(), task.in, out), "") << operation.name;
  }
  // Segments of several ciphers, which use the program for many keys.
  Execution how = execution();
  how.key_expansion = KeyExpansion::device;
  const Buffer nonce = support::pattern(12, 9);
  const std::vector<std::size_t> sizes = {1, 535, 64};
  std::deque<SegmentCipher> ciphers;
  std::deque<Buffer> plain;
  std::deque<Buffer> sealed;
  std::vector<CipherSegment> cipher_segments;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    ciphers.emplace_back(support::make_key(32, static_cast<unsigned>(i) + 1), nonce,
                         SegmentCipher::Nonces::counted, how);
    plain.push_back(support::pattern(sizes[i]));
    sealed.emplace_back(sizes[i] + segment_tag_bytes);
    cipher_segments.push_back(
        {.cipher = &ciphers.back(), .segment = {.in = plain[i], .out = sealed[i]}});
  }
  SegmentCipher::crypt(Direction::encrypt, cipher_segments);
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    const SegmentCipher on_cpu(support::make_key(32, static_cast<unsigned>(i) + 1), nonce,
                               SegmentCipher::Nonces::counted, {});
    Buffer expected(sealed[i].size());
    support::seal_segment(on_cpu, 0, false, plain[i], expected);
    ASSERT_EQ(support::difference(sealed[i], expected), "") << "segment " << i;
  }
}

// Launches run one after another. Phases then do not overlap, so their times add up to at most the
// total.
TEST_P(Gpu, PhasesWithoutOverlapAddUpToAtMostTheTotal) {
  Execution how = execution();
  how.overlap = false;
  check_all(5 * 65536 + 777, how);
  Ctr ctr(support::make_key(16, 1), Buffer(16), how);
  Buffer data = support::pattern(std::size_t{1} << 20);
  const auto start = std::chrono::steady_clock::now();
  ctr.process(data, data);
  const std::chrono::nanoseconds whole = std::chrono::steady_clock::now() - start;
  const PhaseTimes times = ctr.take_device_times();
  EXPECT_GT(times.kernel, 0U);
  EXPECT_LE(times.key_expansion + times.host_to_device + times.kernel + times.device_to_host,
            static_cast<std::uint64_t>(whole.count()));
}

TEST_P(Gpu, SeveralLaunchesMatchOpenssl) { check_all(5 * 65536 + 777, execution()); }

TEST_P(Gpu, MappedTransferAndKeyExpansionOnTheDeviceMatchOpenssl) {
  Execution how = execution();
  how.transfer = Transfer::mapped;
  how.key_expansion = KeyExpansion::device;
  check_all(5000, how, true);
}

// Segments of all lengths under one key, sealed and opened at once, against the CPU.
TEST_P(Gpu, SegmentsOfEveryLengthMatchTheCpu) {
  for (const std::size_t key_bytes : {std::size_t{16}, std::size_t{32}}) {
    const Buffer key = support::make_key(key_bytes, 3);
    const Buffer nonce = support::pattern(12, 9);
    const SegmentCipher on_cpu(key, nonce, SegmentCipher::Nonces::counted, {});
    const SegmentCipher on_gpu(key, nonce, SegmentCipher::Nonces::counted, execution());
    EXPECT_EQ(on_gpu.kernel(), GetParam());
    EXPECT_EQ(on_gpu.device(), test_device());
    const std::vector<std::size_t> sizes = {0,     1,     15,    16,    17,   255,
                                            256,   4080,  4096,  4097,  9000, 16384,
                                            16384, 16384, 16384, 70000, 33,   0};
    std::vector<Buffer> plain;
    std::vector<Buffer> sealed;
    std::vector<Buffer> opened;
    for (const std::size_t size : sizes) {
      plain.push_back(support::pattern(size, static_cast<unsigned>(plain.size())));
      sealed.emplace_back(size + segment_tag_bytes, 0xa5);
      opened.emplace_back(size, 0xa5);
    }
    auto segments = segments_of(plain, sealed);
    on_gpu.crypt(Direction::encrypt, segments);
    const std::vector<Buffer> expected = sealed_by(on_cpu, plain);
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      ASSERT_EQ(support::difference(sealed[i], expected[i]), "") << "segment " << i;
    }
    // One segment is damaged: only that one is refused, and its output is zero.
    constexpr std::size_t damaged = 9;
    sealed[damaged][sizes[damaged] + 3] ^= 1;
    segments = segments_of(sealed, opened);
    on_gpu.crypt(Direction::decrypt, segments);
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      ASSERT_EQ(segments[i].intact, i != damaged) << "segment " << i;
      const Buffer right = i == damaged ? Buffer(sizes[i]) : plain[i];
      ASSERT_EQ(support::difference(opened[i], right), "") << "segment " << i;
    }
  }
}

// Texts in page-locked memory, in place and not. CUDA and HIP copy them directly; OpenCL does not
// say what is page-locked.
TEST_P(Gpu, PageLockedTextsMatchTheCpu) {
  const gpu::DeviceNames names = gpu::parse_device(test_device()).value();
  const auto platform = gpu::open_platform(names.runtime);
  const auto device = platform->open(names.indices[0]);
  constexpr std::size_t bytes = 300'005;
  const auto in_memory = device->allocate_pinned(bytes, false);
  const auto out_memory = device->allocate_pinned(bytes, false);
  const MutableBytes in = in_memory->host();
  EXPECT_EQ(device->is_page_locked(in.data(), bytes), names.runtime != "opencl");
  EXPECT_FALSE(device->is_page_locked(in.data(), bytes + (std::size_t{64} << 20)));
  const Buffer plain = support::pattern(bytes);
  EXPECT_FALSE(device->is_page_locked(plain.data(), bytes));
  const Buffer key = support::make_key(32, 4);
  const Buffer xts_key = support::make_key(64, 5);
  const Buffer iv = support::pattern(16, 8);
  for (const bool in_place : {false, true}) {
    const MutableBytes out = in_place ? in : out_memory->host();
    // Work(execution, in, out) is the same on the CPU and on the device.
    const auto expect_same = [&](const char* what, const auto& work) {
      std::copy(plain.begin(), plain.end(), in.begin());
      Buffer expected(bytes);
      work(Execution{}, plain, expected);
      work(execution(), in, out);
      EXPECT_EQ(support::difference(out, expected), "") << what << (in_place ? ", in place" : "");
    };
    expect_same("CTR", [&](const Execution& how, Bytes from, MutableBytes to) {
      Ctr cipher(key, iv, how);
      cipher.process(from.first(7), to.first(7));
      cipher.process(from.subspan(7), to.subspan(7));
    });
    expect_same("XTS", [&](const Execution& how, Bytes from, MutableBytes to) {
      Xts(xts_key, 4096, how).encrypt(iv, from, to);
    });
    expect_same("CBC", [&](const Execution& how, Bytes from, MutableBytes to) {
      Cbc(key, iv, how).decrypt(from.first(bytes - 5), to.first(bytes - 5));
      std::copy(from.end() - 5, from.end(), to.end() - 5);
    });
    Buffer tag(16);
    expect_same("GCM", [&](const Execution& how, Bytes from, MutableBytes to) {
      Buffer own(16);
      Gcm(key, how).encrypt(iv, {}, from, to, own);
      if (how.device.empty()) tag = own;
      EXPECT_EQ(own, tag);
    });
    // `out` now has the ciphertext.
    Gcm gcm(key, execution());
    Buffer forged = tag;
    forged[3] ^= 1;
    std::copy(out.begin(), out.end(), in.begin());
    EXPECT_THROW(gcm.decrypt(iv, {}, in, out, forged), IntegrityError);
    EXPECT_EQ(support::difference(out, Buffer(bytes)), "");
    if (in_place) continue;
    gcm.decrypt(iv, {}, in, out, tag);
    EXPECT_EQ(support::difference(out, plain), "");
  }
}

// Runs `work(t)`, which says what is wrong, on several threads at the same time.
template <class Work>
void expect_right_on_threads(unsigned count, const Work& work) {
  std::vector<std::string> wrong(count);
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < count; ++t) {
    threads.emplace_back([&, t] {
      try {
        for (unsigned round = 0; round < 3 && wrong[t].empty(); ++round) wrong[t] = work(t);
      } catch (const std::exception& error) {
        wrong[t] = error.what();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const std::string& text : wrong) EXPECT_EQ(text, "");
}

// Ciphers with different keys take turns on the same streams.
TEST_P(Gpu, SeveralKeysOnSeveralThreadsMatchOpenssl) {
  const Buffer in = support::pattern(40000);
  constexpr unsigned count = 4;
  const auto key = [](unsigned t) { return support::make_key(t % 2 == 0 ? 16 : 32, t); };
  std::array<Buffer, count> right;  // computed here, because the oracle is for one thread
  for (unsigned t = 0; t < count; ++t) {
    right[t] = support::evp_ctr(key(t), support::pattern(16, t), in);
  }
  expect_right_on_threads(count, [&](unsigned t) {
    Ctr cipher(key(t), support::pattern(16, t), execution());
    Buffer out(in.size());
    cipher.process(in, out);
    return support::difference(out, right[t]);
  });
}

// Concurrent callers wait for streams, and each has more launches than there are free streams.
TEST_P(Gpu, SeveralCallersWithSeveralLaunchesMatchTheCpu) {
  // One launch for 64 KiB.
  const std::vector<Buffer> plain(16, support::pattern(16384));
  expect_right_on_threads(6, [&](unsigned t) {
    const Buffer key = support::make_key(16, t);
    const SegmentCipher on_cpu(key, Buffer(12), SegmentCipher::Nonces::counted, {});
    const SegmentCipher on_gpu(key, Buffer(12), SegmentCipher::Nonces::counted, execution());
    std::vector<Buffer> sealed(plain.size(), Buffer(plain[0].size() + segment_tag_bytes));
    auto segments = segments_of(plain, sealed);
    on_gpu.crypt(Direction::encrypt, segments);
    const std::vector<Buffer> expected = sealed_by(on_cpu, plain);
    std::string wrong;
    for (std::size_t i = 0; i < sealed.size() && wrong.empty(); ++i) {
      wrong = support::difference(sealed[i], expected[i]);
    }
    return wrong;
  });
}

// Data units that are larger than a launch.
TEST_P(Gpu, XtsUnitsLargerThanALaunchMatchTheCpu) {
  constexpr std::size_t unit = std::size_t{128} << 10;
  const Buffer key = support::make_key(64, 12);
  const Buffer first(16, 5);
  const Buffer in = support::pattern(3 * unit + 100);
  Buffer expected(in.size());
  Buffer out(in.size());
  Xts(key, unit).encrypt(first, in, expected);
  Xts cipher(key, unit, execution());
  cipher.encrypt(first, in, out);
  EXPECT_EQ(support::difference(out, expected), "");
  cipher.decrypt(first, out, out);
  EXPECT_EQ(support::difference(out, in), "");
}

// bitslice computes the tweaks of this many units in planes, but not those of one less.
TEST_P(Gpu, XtsOfManyUnitsMatchesTheCpu) {
  const auto context =
      gpu::open_context(gpu::parse_device(test_device()).value(), gpu::find_gpu_kernel(GetParam()));
  const Buffer key = support::make_key(64, 12);
  std::vector<std::unique_ptr<gpu::KeyMaterial>> keys;
  keys.push_back(detail::make_key_material(key, 2, false, KeyExpansion::host));
  Buffer first(16, 0xff);  // counting carries into the last byte
  first[0] = 0x80;
  first[15] = 7;
  std::uint64_t most = 2;
  while (gpu::few_unit_tweaks(*context->variant().kernel, std::max(context->info().processors, 1U),
                              most)) {
    ++most;
  }
  for (const std::uint64_t units : {most, most - 1, std::uint64_t{5000}}) {
    constexpr std::size_t unit = 32;
    const Buffer in = support::pattern(unit * units);
    Buffer expected(in.size());
    Xts(key, unit).encrypt(first, in, expected);
    const gpu::Memory device_in = context->device().allocate(in.size() + 16);
    const gpu::Memory device_out = context->device().allocate(in.size() + 16);
    gpu::CallerQueues queues(context, keys);
    gpu::CallerQueue& work = queues.on_own();
    work.queue().upload(device_in, 0, in.data(), in.size());
    paraes_message message = gpu::make_message(0, 0, in.size(), first.data());
    work.launches().xts({&device_in, &device_out}, Direction::encrypt, message, unit / 16, nullptr);
    Buffer out(in.size());
    work.queue().download(out.data(), device_out, 0, out.size());
    work.queue().finish();
    EXPECT_EQ(support::difference(out, expected), "") << units << " units";
  }
}

// Two nonces of other than 96 bits: after the counter J0 of one, a tile can count within the low 16
// bits; after that of the other, it cannot. tests/gpu/simulated compares the instructions that the
// two take, and reads the lines that this test prints.
TEST_P(Gpu, SecretCountersMatchOpenssl) {
  const Buffer key = support::make_key(16, 21);
  const GcmKey on_cpu(find_kernel("reference"), key.data(), 16);
  const auto nonce_where = [&](const auto& condition) {
    Buffer nonce(16);
    for (std::uint32_t i = 0;; ++i) {
      store_be32(nonce.data(), i);
      const GcmCounter j0 = gcm_initial_counter(on_cpu, nonce.data(), nonce.size());
      if (condition(load_be32(j0.block + 12) & 0xffff)) return nonce;
    }
  };
  const Buffer nonces[] = {nonce_where([](std::uint32_t low) { return low < 0x8000; }),
                           nonce_where([](std::uint32_t low) { return low > 0xff00; })};
  Gcm cipher(key, execution());
  const auto pool =
      gpu::open_pool(gpu::parse_device(test_device()).value(), gpu::find_gpu_kernel(GetParam()),
                     {.memory_limit = little_memory});
  const auto material = detail::make_key_material(key, 1, true, KeyExpansion::host);
  for (const Buffer& nonce : nonces) {
    const Buffer text = support::pattern(100, 3);
    const support::Sealed sealed = support::evp_gcm_encrypt(key, nonce, {}, text);
    Buffer out(text.size());
    std::cout << "one message:" << std::endl;
    ASSERT_NO_THROW(cipher.decrypt(nonce, {}, sealed.text, out, sealed.tag));
    EXPECT_EQ(support::difference(out, text), "");
    // The CPU masked that tag. Here the GPU does.
    gpu::DevicePool::Lease lease(*pool);
    gpu::Stream& stream = lease.stream();
    stream.use_key(*material);
    paraes_message message = gpu::make_message(
        0, 0, text.size(), gcm_initial_counter(on_cpu, nonce.data(), nonce.size()).block);
    message.flags = PARAES_SECRET_COUNTER;
    message.tag = detail::padded(text.size());
    std::copy(text.begin(), text.end(), stream.input());
    stream.stage_in(message.tag);
    stream.launch("gcm_ctr", {&message, 1});
    stream.launch_hash(1);
    stream.stage_out(message.tag + 16);
    stream.finish();
    const Bytes output(stream.output(), message.tag + 16);
    EXPECT_EQ(support::difference(output.first(text.size()), sealed.text), "");
    EXPECT_EQ(support::difference(output.last(16), sealed.tag), "");
    stream.forget_key(material->id);
  }
}

// Chunks of a stream that begin anywhere in a block.
TEST_P(Gpu, CtrInChunksOfOddSizesMatchesOpenssl) {
  const Buffer key = support::make_key(16, 8);
  const Buffer counter(16, 0xff);
  const Buffer in = support::pattern(70000);
  const Buffer expected = support::evp_ctr(key, counter, in);
  Ctr cipher(key, counter, execution());
  Buffer out(in.size());
  std::size_t at = 0;
  for (std::size_t n = 1; at < in.size(); n = n * 3 + 1) {
    const std::size_t bytes = std::min(n, in.size() - at);
    cipher.process(Bytes(in).subspan(at, bytes), MutableBytes(out).subspan(at, bytes));
    at += bytes;
  }
  EXPECT_EQ(support::difference(out, expected), "");
}

// One stream of small launches, and then many.
TEST_P(Gpu, TunedCtrMatchesOpenssl) {
  const Buffer key = support::make_key(32, 9);
  const Buffer counter(16, 0xfe);
  const Buffer in = support::pattern(300'000);
  const Buffer expected = support::evp_ctr(key, counter, in);
  for (const unsigned streams : {1U, 20U}) {
    Execution tuned = execution();
    tuned.gpu_tuning = {.streams = streams, .launch_bytes = std::uint64_t{64} << 10};
    Ctr cipher(key, counter, tuned);
    Buffer out(in.size());
    cipher.process(in, out);
    EXPECT_EQ(support::difference(out, expected), "") << streams << " streams";
  }
  Execution wrong = execution();
  wrong.gpu_tuning.launch_bytes = 1;
  EXPECT_THROW(Ctr(key, counter, wrong), InvalidArgument);
}

PARAES_FOR_EACH_GPU_KERNEL(Kernels, Gpu);

}  // namespace
}  // namespace paraes
