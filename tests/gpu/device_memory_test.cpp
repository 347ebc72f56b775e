// No key, and nothing that was computed with one, is in device memory that is freed, and no byte is
// copied that was never written. The stand-ins for CUDA and HIP look at what is freed and copied,
// and their kernels leave bytes wherever real ones would.

#include <gtest/gtest.h>
#include <unistd.h>

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
#include "tests/support/environment.hpp"

namespace paraes::gpu {
namespace {

namespace fs = std::filesystem;

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
                       "cuStreamSynchronize", "cuEventCreate", "cuEventRecord",
                       "cuEventElapsedTime", "cuMemAlloc_v2"});
}

TEST(DeviceMemoryHip, IsWipedAfterEveryFailure) {
  expect_wiped_after_failures(
      hip, std::array{"hipModuleLaunchKernel", "hipMemcpyHtoDAsync", "hipMemcpyDtoHAsync",
                      "hipStreamSynchronize", "hipEventCreateWithFlags", "hipEventRecord",
                      "hipEventElapsedTime", "hipMalloc"});
}

// Whether the host holds round keys that the stand-in has expanded, while it uses them.
void expect_round_keys_on_host(const Vendor& vendor, bool expected) {
  const Fake fake(vendor);
  NEEDS_FAKE(fake, false);
  const Programs programs(vendor);
  Fake::tell(kernels_run);
  const std::vector<std::uint8_t> round_keys(sizeof(paraes_schedule), 0x5c);
  const auto are_locked = [&] {
    const auto arena = locked_arena();
    return memmem(arena.data(), arena.size(), round_keys.data(), round_keys.size()) != nullptr;
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

}  // namespace
}  // namespace paraes::gpu
