// No key, and nothing that was computed with one, is in device memory that is freed, and no byte is
// copied that was never written. The stand-ins for CUDA and HIP look at what is freed and copied,
// and their kernels leave bytes wherever real ones would.

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <filesystem>
#include <span>
#include <string>

#include "paraes/error.hpp"
#include "src/core/locked_memory.hpp"
#include "src/gpu/programs/program_files.hpp"
#include "tests/gpu/fake_driver.hpp"
#include "tests/gpu/secret_work.hpp"
#include "tests/support/buffers.hpp"
#include "tests/support/environment.hpp"
#include "tests/support/evp_oracle.hpp"

namespace paraes::gpu {
namespace {

namespace fs = std::filesystem;
using support::Buffer;

constexpr const char* kernels_run = "kernels:1,";
constexpr const char* kernels[] = {"bitslice", "reference"};  // with sliced keys, and without

// Programs that the stand-in accepts, for all kernels, in a folder of PARAES_PROGRAM_PATH.
class Programs {
 public:
  explicit Programs(const Vendor& vendor)
      : folder_(fs::temp_directory_path() / ("paraes-programs-" + std::to_string(getpid()))),
        path_("PARAES_PROGRAM_PATH", folder_) {
    fs::create_directory(folder_);
    const std::string text = "fake program";
    const DeviceInfo info = vendor.open()->devices().at(0);
    for (const char* kernel : kernels) {
      const ProgramVariant one = variant_for(find_kernel_row(kernel), info);
      for (const ProgramVariant& variant : {one, for_many_keys(one)}) {
        write_program_file(folder_, prepared_name(variant, info.target),
                           pack(Binary(text.begin(), text.end())));
      }
    }
  }
  ~Programs() { fs::remove_all(folder_); }
  Programs(const Programs&) = delete;
  Programs& operator=(const Programs&) = delete;

 private:
  fs::path folder_;
  support::ScopedEnvironment path_;
};

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
  // What messages have may be kept: the counter of CTR.
  EXPECT_TRUE(fake.kept(make_key(16, 2)));
}

void expect_wiped(const Vendor& vendor) {
  const Fake fake(vendor);
  NEEDS_FAKE(fake, false);
  const Programs programs(vendor);
  for (const char* kernel : kernels) {
    for (const KeyExpansion expansion : {KeyExpansion::host, KeyExpansion::device}) {
      SCOPED_TRACE(std::string(kernel) + (expansion == KeyExpansion::host ? "" : ", on device"));
      fake.function<void()>("paraes_fake_reset")();
      Fake::tell(kernels_run);
      use_every_mode(vendor, kernel, expansion);
      EXPECT_GT(fake.calls(&vendor == &cuda ? "cuMemFree_v2" : "hipFree"), 30);
      EXPECT_EQ(fake.unwiped(), 0);
      EXPECT_EQ(fake.dirty(), 0);
      EXPECT_EQ(fake.uninitialised(), 0);
      EXPECT_EQ(fake.unpinned(), 0) << "the driver keeps a copy of keys";
      expect_no_secret_kept(fake);
      EXPECT_EQ(fake.live(), 0);
    }
  }
}

TEST(DeviceMemoryCuda, IsWipedBeforeItIsFreed) { expect_wiped(cuda); }
TEST(DeviceMemoryHip, IsWipedBeforeItIsFreed) { expect_wiped(hip); }

// Lets each call that may fail after a key was copied fail at its first, second, … use.
void expect_wiped_after_failures(const Vendor& vendor, std::span<const char* const> calls) {
  const Fake fake(vendor);
  NEEDS_FAKE(fake, false);
  const Programs programs(vendor);
  unsigned failures = 0;
  for (const char* call : calls) {
    for (int use = 1;; use += use < 20 ? 1 : 7) {
      SCOPED_TRACE(std::string(call) + ", use " + std::to_string(use));
      fake.function<void()>("paraes_fake_reset")();
      // Out of memory leads to smaller launches, and other errors to the caller.
      Fake::tell(kernels_run + ("fail:" + std::string(call) + ":" + std::to_string(use) + ":1"));
      const std::string message =
          message_of<Error>([&] { use_every_mode(vendor, "reference", KeyExpansion::device); });
      EXPECT_EQ(fake.unwiped(), 0) << message;
      if (fake.calls(call) < use) break;
      if (!message.empty()) ++failures;
    }
  }
  EXPECT_GT(failures, 100U);
}

TEST(DeviceMemoryCuda, IsWipedAfterEveryFailure) {
  expect_wiped_after_failures(
      cuda, std::array{"cuLaunchKernel", "cuMemcpyHtoDAsync_v2", "cuMemcpyDtoHAsync_v2",
                       "cuEventSynchronize", "cuEventCreate", "cuEventRecord", "cuEventElapsedTime",
                       "cuMemAlloc_v2"});
}

TEST(DeviceMemoryHip, IsWipedAfterEveryFailure) {
  expect_wiped_after_failures(
      hip, std::array{"hipModuleLaunchKernel", "hipMemcpyHtoDAsync", "hipMemcpyDtoHAsync",
                      "hipEventSynchronize", "hipEventCreateWithFlags", "hipEventRecord",
                      "hipEventElapsedTime", "hipMalloc"});
}

// ---- Data of the caller's

// No call waits for the device, and none copies data to the host, but open() the verdicts.
void expect_no_waiting(const Vendor& vendor) {
  const Fake fake(vendor);
  NEEDS_FAKE(fake, false);
  const bool is_cuda = &vendor == &cuda;
  const char* const wait = is_cuda ? "cuStreamSynchronize" : "hipStreamSynchronize";
  const char* const wait_for_event = is_cuda ? "cuEventSynchronize" : "hipEventSynchronize";
  const char* const download = is_cuda ? "cuMemcpyDtoHAsync_v2" : "hipMemcpyDtoHAsync";
  const char* const allocate_host = is_cuda ? "cuMemHostAlloc" : "hipHostMalloc";
  const char* const allocate = is_cuda ? "cuMemAlloc_v2" : "hipMalloc";
  const char* const load = is_cuda ? "cuModuleLoadData" : "hipModuleLoadData";
  const Programs programs(vendor);
  Fake::tell(kernels_run);
  const DeviceStream stream{std::string(vendor.id) + ":1", nullptr};
  const auto device = vendor.open()->open(1);
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
    gcm.seal(texts.in(), texts.out(), all);
    return gcm.open(texts.out(), texts.in(), all);
  };
  const DeviceVerdict verdict = work();
  EXPECT_EQ(fake.calls(allocate_host), 1) << "for the verdicts";
  static_cast<void>(work());
  EXPECT_EQ(fake.calls(allocate_host), 2) << "the first verdicts are still to come";
  for (int call = 0; call < 2000; ++call) ctr.process(texts.in(), texts.out(), messages);
  EXPECT_GT(fake.calls(allocate_host), 2) << "pinned memory was used again too early";
  EXPECT_LT(fake.calls(allocate_host), 8) << "many descriptions share an allocation";
  EXPECT_EQ(fake.calls(wait) + fake.calls(wait_for_event), 0);
  EXPECT_EQ(fake.calls(download), 2) << "only the verdicts of each open()";
  EXPECT_EQ(fake.calls(load), 0) << "the constructors have loaded the programs";
  EXPECT_FALSE(verdict.ready());
  EXPECT_EQ(message_of<Error>([&] { static_cast<void>(verdict.intact(0)); }),
            "the device has not verified the messages yet: synchronize its stream first");
  EXPECT_THROW(static_cast<void>(verdict.all_intact()), Error);

  Fake::tell(kernels_run);
  EXPECT_TRUE(verdict.ready());
  EXPECT_FALSE(verdict.all_intact()) << "the stand-in's kernels verify nothing";
  for (int call = 0; call < 500; ++call) static_cast<void>(work());
  EXPECT_EQ(fake.calls(allocate_host), 0) << "the memory is used again";
  EXPECT_EQ(fake.calls(allocate), 0);
  EXPECT_EQ(fake.calls(wait) + fake.calls(wait_for_event), 0);

  Fake::tell(std::string(kernels_run) + "captured:1");
  EXPECT_NE(message_of<InvalidArgument>([&] {
              gcm.seal(texts.in(), texts.out(), all);
            }).find("the stream is being captured"),
            std::string::npos);
  EXPECT_EQ(fake.calls(is_cuda ? "cuLaunchKernel" : "hipModuleLaunchKernel"), 0);
  Fake::tell(kernels_run);
}

TEST(DeviceMemoryCuda, CallsOnDataOfTheCallerDoNotWait) { expect_no_waiting(cuda); }
TEST(DeviceMemoryHip, CallsOnDataOfTheCallerDoNotWait) { expect_no_waiting(hip); }

// Whether the host holds round keys that the stand-in has expanded, while it uses them.
void expect_round_keys_on_host(const Vendor& vendor, bool expected) {
  const Fake fake(vendor);
  NEEDS_FAKE(fake, false);
  const Programs programs(vendor);
  Fake::tell(kernels_run);
  const std::vector<std::uint8_t> round_keys(sizeof(paraes_schedule), 0x5c);
  const auto are_locked = [&] {
    const auto arenas = locked_arenas();
    return std::any_of(arenas.begin(), arenas.end(), [&](const auto& arena) {
      return memmem(arena.data(), arena.size(), round_keys.data(), round_keys.size()) != nullptr;
    });
  };
  const auto pool = support::make_pool(vendor.id, "reference");
  EXPECT_FALSE(are_locked());
  support::work_in_block_modes(pool, {.key_expansion = KeyExpansion::device},
                               [&](const char*) { EXPECT_EQ(are_locked(), expected); });
  EXPECT_FALSE(are_locked());
}

// They come back to the host only for launches that take them by value.
TEST(DeviceMemoryCuda, RoundKeysFromTheDeviceAreInLockedMemory) {
  expect_round_keys_on_host(cuda, true);
}
TEST(DeviceMemoryHip, RoundKeysOfTheDeviceStayThere) { expect_round_keys_on_host(hip, false); }

// ---- Copies and kernels at the same time

struct Clock {
  double all = 0;      // nanoseconds
  double busiest = 0;  // of the three: copies to the device, kernels, copies back
};

// Encrypts 64 MiB on a device whose copies and kernels are equally fast.
Clock time_of_a_message(const Fake& fake, const Vendor& vendor, unsigned streams,
                        std::size_t launch_bytes) {
  fake.function<void()>("paraes_fake_reset")();
  Fake::tell("kernels:1,rate:10,threads:" + std::to_string(streams));
  PoolOptions options;
  options.streams = streams;
  options.launch_bytes = launch_bytes;
  std::unique_ptr<Platform> platform = vendor.open();
  std::unique_ptr<Device> device = platform->open(0);
  std::vector<std::unique_ptr<DeviceContext>> contexts;
  contexts.push_back(std::make_unique<DeviceContext>(std::move(platform), std::move(device),
                                                     find_kernel_row("reference"), options));
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

void expect_overlap(const Vendor& vendor) {
  const Fake fake(vendor);
  NEEDS_FAKE(fake, false);
  const Programs programs(vendor);
  const PoolOptions usual;
  const Clock clock = time_of_a_message(fake, vendor, usual.streams, usual.launch_bytes);
  EXPECT_GT(clock.busiest, 6e6);  // 64 MiB at 10 bytes a nanosecond
  EXPECT_LT(clock.all, 1.3 * clock.busiest);
  // The clock would notice: a few large launches fill and drain the device slowly, and a single
  // stream copies, computes and copies back.
  const Clock few = time_of_a_message(fake, vendor, 4, std::size_t{16} << 20);
  EXPECT_GT(few.all, 1.45 * few.busiest);
  const Clock alone = time_of_a_message(fake, vendor, 1, usual.launch_bytes);
  EXPECT_GT(alone.all, 2.9 * alone.busiest);
}

TEST(OverlapCuda, OfCopiesAndKernelsLeavesTheBusiestLittleToWaitFor) { expect_overlap(cuda); }
TEST(OverlapHip, OfCopiesAndKernelsLeavesTheBusiestLittleToWaitFor) { expect_overlap(hip); }

}  // namespace
}  // namespace paraes::gpu
