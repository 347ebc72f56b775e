// No key, and nothing that was computed with one, is in device memory that is freed, and no byte is
// copied that was never written. The stand-ins for CUDA and HIP look at what is freed and copied,
// and their kernels leave bytes wherever real ones would.

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <span>
#include <string>

#include "paraes/device_segments.hpp"
#include "paraes/error.hpp"
#include "paraes/memory.hpp"
#include "src/core/locked_memory.hpp"
#include "tests/gpu/expect_has.hpp"
#include "tests/gpu/fake_driver.hpp"
#include "tests/gpu/fake_programs.hpp"
#include "tests/gpu/secret_work.hpp"
#include "tests/support/buffers.hpp"
#include "tests/support/callers_device.hpp"
#include "tests/support/evp_oracle.hpp"

namespace paraes::gpu {
namespace {

using support::Buffer;

constexpr const char* kernels_run = "kernels:1,";
void use_every_mode(const Vendor& vendor, const char* kernel, KeyExpansion expansion) {
  const auto pool = support::make_pool(vendor.id, kernel);
  const detail::GpuUse use{.key_expansion = expansion};
  const support::Look look = [](const char*) {};
  support::work_in_block_modes(pool, use, look);
  support::work_in_xts(pool, use, look);
  support::work_in_gcm(pool, use, look);
  support::work_with_many_keys(pool, use, 3);
  support::work_with_many_keys(pool, use, 100);  // needs more memory
  for (const unsigned keys : {1U, 3U}) {
    support::work_in_callers_memory(vendor.id, kernel, use, keys, look);
  }
}

// Keys of use_every_mode(), and an encrypted tweak.
void expect_no_secret_kept(const Fake& fake) {
  using support::make_key;
  for (const unsigned number : {1U, 5U, 100U, 133U, 200U, 202U}) {
    EXPECT_FALSE(fake.kept(make_key(32, number))) << "key " << number;
  }
  for (const unsigned number : {3U, 210U}) {
    const Buffer keys = make_key(64, number);
    EXPECT_FALSE(fake.kept(Bytes(keys).first(32))) << "key " << number;
    EXPECT_FALSE(fake.kept(Bytes(keys).last(32))) << "tweak key " << number;
  }
  const Buffer keys = make_key(64, 3);
  const Buffer tweak =
      support::evp_ecb(Direction::encrypt, Bytes(keys).last(32), Buffer(16, std::uint8_t{4}));
  EXPECT_FALSE(fake.kept(tweak)) << "tweak";
  // Values of messages may be kept: the counter of CTR.
  EXPECT_TRUE(fake.kept(make_key(16, 2)));
}

class DeviceMemory : public WithEachDriver {};
PARAES_FOR_EACH_DRIVER(DeviceMemory);

TEST_P(DeviceMemory, IsWipedBeforeItIsFreed) {
  const Programs programs(vendor_);
  for (const char* kernel : kernels) {
    for (const KeyExpansion expansion : {KeyExpansion::host, KeyExpansion::device}) {
      SCOPED_TRACE(std::string(kernel) + (expansion == KeyExpansion::host ? "" : ", on device"));
      fake_.reset();
      Fake::tell(kernels_run);
      use_every_mode(vendor_, kernel, expansion);
      EXPECT_GT(fake_.calls(name("cuMemFree_v2", "hipFree")), 30);
      EXPECT_EQ(fake_.unwiped(), 0);
      EXPECT_EQ(fake_.dirty(), 0);
      EXPECT_EQ(fake_.uninitialised(), 0);
      EXPECT_EQ(fake_.unpinned(), 0) << "the driver keeps a copy of keys";
      expect_no_secret_kept(fake_);
      EXPECT_EQ(fake_.live(), 0);
    }
  }
}

// Lets each call that may fail after a key was copied fail at its first, second, … use, and at some
// of those that follow.
TEST_P(DeviceMemory, IsWipedAfterEveryFailure) {
  static constexpr std::array of_cuda = {
      "cuLaunchKernel", "cuMemcpyHtoDAsync_v2", "cuMemcpyDtoHAsync_v2", "cuEventSynchronize",
      "cuEventCreate",  "cuEventRecord",        "cuEventElapsedTime",   "cuMemAlloc_v2"};
  static constexpr std::array of_hip = {
      "hipModuleLaunchKernel",   "hipMemcpyHtoDAsync", "hipMemcpyDtoHAsync",  "hipEventSynchronize",
      "hipEventCreateWithFlags", "hipEventRecord",     "hipEventElapsedTime", "hipMalloc"};
  const bool all = std::getenv("PARAES_LONG") != nullptr;
  const Programs programs(vendor_);
  unsigned failures = 0;
  for (const char* call : is_cuda() ? of_cuda : of_hip) {
    for (int use = 1;; use += all ? (use < 20 ? 1 : 7) : 1 + use / 4) {
      SCOPED_TRACE(std::string(call) + ", use " + std::to_string(use));
      fake_.reset();
      // Out of memory leads to smaller launches, and other errors to the caller.
      Fake::tell(kernels_run + ("fail:" + std::string(call) + ":" + std::to_string(use) + ":1"));
      const std::string message =
          message_of<Error>([&] { use_every_mode(vendor_, "reference", KeyExpansion::device); });
      EXPECT_EQ(fake_.unwiped(), 0) << message;
      if (fake_.calls(call) < use) break;
      if (!message.empty()) ++failures;
    }
  }
  EXPECT_GT(failures, all ? 100U : 50U);
}

// ---- Data of the caller's

// No call waits for the device, and none copies data to the host, but open() the verdicts.
TEST_P(DeviceMemory, CallsOnDataOfTheCallerDoNotWait) {
  const char* const download = name("cuMemcpyDtoHAsync_v2", "hipMemcpyDtoHAsync");
  const char* const allocate_host = name("cuMemHostAlloc", "hipHostMalloc");
  const char* const allocate = name("cuMemAlloc_v2", "hipMalloc");
  const char* const load = name("cuModuleLoadData", "hipModuleLoadData");
  const Programs programs(vendor_);
  Fake::tell(kernels_run);
  const DeviceStream stream{std::string(vendor_.id) + ":1", nullptr};
  const auto device = vendor_.open()->open(1);
  const support::CallersTexts texts(*device);
  const std::vector<DeviceMessage> all = support::callers_messages(1, {});
  const auto messages = std::span(all).last(1);
  const std::vector<std::uint8_t> key = support::make_key(16, 1);
  const DeviceOptions options{.kernel = "reference"};
  DeviceEcb ecb(stream, key, options);
  DeviceCbc cbc(stream, key, options);
  const std::vector<std::uint8_t> other_key = support::make_key(16, 3);
  DeviceCtr ctr(stream, std::vector<Bytes>{key, other_key}, options);
  DeviceXts xts(stream, support::make_key(32, 2), 16, options);
  DeviceGcm gcm(stream, key, options);
  // The stand-in does work at once. Now it says that it has not.
  Fake::tell(std::string(kernels_run) + "pending:1");
  static_cast<void>(device->free_bytes());  // its counters begin again
  const auto work = [&] {
    ecb.encrypt(texts.in(), texts.out(), messages);
    ecb.decrypt(texts.in(), texts.out(), messages);
    cbc.decrypt(texts.in(), texts.out(), messages);
    cbc.decrypt(texts.out(), texts.out(), messages);
    ctr.process(texts.in(), texts.out(), messages);
    xts.encrypt(texts.in(), texts.out(), messages);
    xts.decrypt(texts.in(), texts.out(), messages);
    gcm.encrypt(texts.in(), texts.out(), all);
    return gcm.decrypt(texts.out(), texts.in(), all);
  };
  const DeviceVerdict verdict = work();
  EXPECT_EQ(fake_.calls(allocate_host), 1) << "for the verdicts";
  static_cast<void>(work());
  EXPECT_EQ(fake_.calls(allocate_host), 2) << "the first verdicts are still to come";
  for (int call = 0; call < 2000; ++call) ctr.process(texts.in(), texts.out(), messages);
  EXPECT_GT(fake_.calls(allocate_host), 2) << "pinned memory was used again too early";
  EXPECT_LT(fake_.calls(allocate_host), 8) << "many descriptions share an allocation";
  EXPECT_EQ(waits(), 0);
  EXPECT_EQ(fake_.calls(download), 2) << "only the verdicts of each open()";
  EXPECT_EQ(fake_.calls(load), 0) << "the constructors have loaded the programs";
  EXPECT_FALSE(verdict.ready());
  EXPECT_EQ(message_of<Error>([&] { static_cast<void>(verdict.intact(0)); }),
            "the device has not verified the messages yet: synchronize its stream first");
  EXPECT_THROW(static_cast<void>(verdict.all_intact()), Error);

  Fake::tell(kernels_run);
  EXPECT_TRUE(verdict.ready());
  EXPECT_FALSE(verdict.all_intact()) << "the stand-in's kernels verify nothing";
  for (int call = 0; call < 500; ++call) static_cast<void>(work());
  EXPECT_EQ(fake_.calls(allocate_host), 0) << "the memory is used again";
  EXPECT_EQ(fake_.calls(allocate), 0);
  EXPECT_EQ(waits(), 0);

  Fake::tell(std::string(kernels_run) + "captured:1");
  EXPECT_HAS(message_of<InvalidArgument>([&] { gcm.encrypt(texts.in(), texts.out(), all); }),
             "the stream is being captured");
  EXPECT_EQ(fake_.calls(name("cuLaunchKernel", "hipModuleLaunchKernel")), 0);
  Fake::tell(kernels_run);
}

// Calls on several streams have memory of their own until they have ended, and the device orders
// those that share it. Streams may end before the cipher, and be those of threads.
TEST_P(DeviceMemory, CallsOnSeveralStreamsDoNotWait) {
  const char* const ordered = name("cuStreamWaitEvent", "hipStreamWaitEvent");
  const Programs programs(vendor_);
  Fake::tell(kernels_run);
  const auto device = vendor_.open()->open(1);
  const std::string id = std::string(vendor_.id) + ":1";
  const support::CallersTexts texts(*device);
  const std::vector<DeviceMessage> all = support::callers_messages(1, {});
  const auto in = texts.in();
  const auto out = texts.out();
  const std::vector<std::uint8_t> key = support::make_key(16, 1);
  {
    // Not the kernel of the test before: the context that is kept has the objects of that test.
    DeviceGcm gcm({id, nullptr}, key, {.kernel = "bitslice"});
    const auto caller = support::open_callers_device(id);
    Fake::tell(std::string(kernels_run) + "pending:1");
    static_cast<void>(device->free_bytes());  // its counters begin again
    std::vector<DeviceStream> streams = {{id, nullptr}, {id, reinterpret_cast<void*>(2)}};
    while (streams.size() < 10) streams.push_back(caller->make_stream());
    for (std::size_t i = 0; i < 8; ++i) gcm.encrypt(in, out, all, streams[i]);
    EXPECT_EQ(fake_.calls(ordered), 0) << "each has memory of its own";
    gcm.encrypt(in, out, all, streams[3]);
    EXPECT_EQ(fake_.calls(ordered), 1) << "its own earlier work, in case it is another stream";
    gcm.encrypt(in, out, all, streams[8]);
    gcm.encrypt(in, out, all, streams[9]);
    EXPECT_EQ(fake_.calls(ordered), 3) << "there is memory for eight";
    EXPECT_EQ(waits(), 0);
    Fake::tell(kernels_run);
    for (std::size_t i = 2; i < streams.size(); ++i) caller->destroy_stream(streams[i]);
  }
  EXPECT_EQ(fake_.unwiped(), 0);
  EXPECT_EQ(fake_.uninitialised(), 0);
}

// Only launches that take round keys by value, as CUDA's, need those that the device has expanded
// on the host, which keeps them in locked memory.
TEST_P(DeviceMemory, RoundKeysFromTheDeviceAreInLockedMemoryOrStayThere) {
  const Programs programs(vendor_);
  Fake::tell(kernels_run);
  // As the stand-in expands them.
  const std::vector<std::uint8_t> round_keys(sizeof(paraes_schedule), 0x5c);
  const auto are_locked = [&] {
    const auto arenas = locked_arenas();
    return std::any_of(arenas.begin(), arenas.end(), [&](const auto& arena) {
      return memmem(arena.data(), arena.size(), round_keys.data(), round_keys.size()) != nullptr;
    });
  };
  const auto pool = support::make_pool(vendor_.id, "reference");
  EXPECT_FALSE(are_locked());
  support::work_in_block_modes(pool, {.key_expansion = KeyExpansion::device},
                               [&](const char*) { EXPECT_EQ(are_locked(), is_cuda()); });
  EXPECT_FALSE(are_locked());
}

// ---- Copies and kernels at the same time

struct Clock {
  double all = 0;      // nanoseconds
  double busiest = 0;  // of the three: copies to the device, kernels, copies back
};

// Encrypts 64 MiB on a device whose copies and kernels are equally fast.
Clock time_of_a_message(const Fake& fake, const Vendor& vendor, unsigned streams,
                        std::size_t launch_bytes) {
  fake.reset();
  Fake::tell("kernels:1,rate:10,threads:" + std::to_string(streams));
  PoolOptions options;
  options.streams = streams;
  options.launch_bytes = launch_bytes;
  std::unique_ptr<Platform> platform = vendor.open();
  std::unique_ptr<Device> device = platform->open(0);
  std::vector<std::unique_ptr<DeviceContext>> contexts;
  contexts.push_back(std::make_unique<DeviceContext>(std::move(platform), std::move(device),
                                                     find_gpu_kernel("reference"), options));
  EXPECT_EQ(contexts[0]->launch_bytes(), launch_bytes);
  const auto pool = std::make_shared<DevicePool>(std::move(contexts));
  const support::Buffer key = support::make_key(32, 1);
  support::Buffer text(std::size_t{64} << 20);
  const auto cipher = detail::make_gpu_block(
      pool, std::make_unique<CipherKey>(find_kernel("auto"), key.data(), 32U), Executor(1), {});
  const support::Buffer counter(16, 0);
  cipher->ctr(counter.data(), 0, text.data(), text.data(), text.size());
  Clock clock;
  fake.function<void(int, double*, double*)>("paraes_fake_clock")(0, &clock.all, &clock.busiest);
  return clock;
}

class Overlap : public WithEachDriver {};
PARAES_FOR_EACH_DRIVER(Overlap);

TEST_P(Overlap, OfCopiesAndKernelsLeavesTheBusiestLittleToWaitFor) {
  const Programs programs(vendor_);
  const PoolOptions usual;
  const Clock clock = time_of_a_message(fake_, vendor_, usual.streams, usual.launch_bytes);
  EXPECT_GT(clock.busiest, 6e6);  // 64 MiB at 10 bytes a nanosecond
  EXPECT_LT(clock.all, 1.3 * clock.busiest);
  // The clock would notice: a few large launches fill and drain the device slowly, and a single
  // stream copies, computes and copies back.
  const Clock few = time_of_a_message(fake_, vendor_, 4, std::size_t{16} << 20);
  EXPECT_GT(few.all, 1.45 * few.busiest);
  const Clock alone = time_of_a_message(fake_, vendor_, 1, usual.launch_bytes);
  EXPECT_GT(alone.all, 2.9 * alone.busiest);
}

// A file of 64 MiB that is read into device memory: its segments are copied while others are
// opened.
TEST_P(Overlap, OfAMessageThatIsReadIntoDeviceMemory) {
  const Programs programs(vendor_);
  const support::Buffer key = support::make_key(32, 1);
  const Message::Parts parts = new_paraes_message(key);
  constexpr std::size_t size = std::size_t{64} << 20;
  const support::Buffer sealed(parts.layout.sealed_bytes(size));
  const MemorySource source(sealed);
  fake_.reset();
  Fake::tell("kernels:1,authentic:1,rate:10");
  const auto device = support::open_callers_device(std::string(vendor_.id) + ":0");
  {
    DeviceReader reader(device->make_stream(), source, parts, {.kernel = "reference"}, 1);
    reader.read(0, device->allocate(size));
  }
  Clock clock;
  fake_.function<void(int, double*, double*)>("paraes_fake_clock")(0, &clock.all, &clock.busiest);
  EXPECT_GT(clock.busiest, 6e6);
  EXPECT_LT(clock.all, 1.15 * clock.busiest);  // 1.33 with one slot for each thread
  EXPECT_EQ(fake_.unpinned(), 0);
  EXPECT_EQ(fake_.uninitialised(), 0);
}

}  // namespace
}  // namespace paraes::gpu
