// Programs of GPU kernels: compiling them for many chips, the cache, and prepared files.

#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "paraes/devices.hpp"
#include "paraes/error.hpp"
#include "src/cipher/gpu.hpp"
#include "src/gpu/pool.hpp"
#include "src/gpu/programs/program_files.hpp"
#include "src/kernels/registry.hpp"
#include "tests/gpu/expect_has.hpp"
#include "tests/support/buffers.hpp"
#include "tests/support/evp_oracle.hpp"
#include "tests/support/kernels.hpp"
#include "tests/support/message_of.hpp"
#include "tests/support/temporary_folder.hpp"
#include "tests/support/test_device.hpp"

namespace paraes::gpu {
namespace {

namespace fs = std::filesystem;
using support::Buffer;

std::vector<fs::path> files_in(const support::TemporaryFolder& folder) {
  std::vector<fs::path> list;
  for (const auto& entry : fs::recursive_directory_iterator(folder.path())) {
    if (entry.is_regular_file()) list.push_back(entry.path());
  }
  return list;
}

std::vector<std::uint8_t> read(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

// ---- Compilers without a GPU

class Targets : public testing::TestWithParam<const char*> {};

TEST_P(Targets, EveryKernelCompiles) {
  const std::string target = GetParam();
  const bool cuda = target.rfind("sm_", 0) == 0;
  const support::TemporaryFolder folder;
  std::size_t bytes = 0;
  std::vector<std::string> paths;
  for (const GpuKernel& kernel : gpu_kernel_table()) {
    try {
      const std::vector<std::string> made = prepare_programs(kernel.name, target, folder.path());
      // On CUDA the second program is for many keys. Kernels with sliced keys need none.
      ASSERT_EQ(made.size(), cuda && !kernel.sliced_keys ? 2U : 1U) << kernel.name;
      paths.insert(paths.end(), made.begin(), made.end());
    } catch (const Unavailable& error) {
      const char* const required = cuda ? "PARAES_REQUIRE_NVRTC" : "PARAES_REQUIRE_HIPRTC";
      if (std::getenv(required) != nullptr) FAIL() << error.what();
      GTEST_SKIP() << error.what();
    }
  }
  for (const std::string& path : paths) {
    const Binary binary = unpack(read(path));
    bytes += binary.size();
    ASSERT_GT(binary.size(), 4096U) << path;
    const std::string start(binary.begin(), binary.begin() + 4);
    // A cubin, or a bundle of code objects.
    ASSERT_TRUE(start == "\177ELF" || start == "__CL") << path;
    const std::string text(binary.begin(), binary.end());
    for (const char* entry : {"ecb_encrypt", "ecb_decrypt", "ctr", "cbc_decrypt", "xts_encrypt",
                              "xts_decrypt", "gcm_ctr", "ghash", "expand_keys"}) {
      ASSERT_NE(text.find(entry), std::string::npos) << path << " has no " << entry;
    }
  }
  EXPECT_EQ(files_in(folder).size(), paths.size());
  support::report("GPU programs for " + target + ": " + std::to_string(paths.size()) + ", " +
                  std::to_string(bytes) + " bytes");
}

std::string name_of(const testing::TestParamInfo<const char*>& target) { return target.param; }

INSTANTIATE_TEST_SUITE_P(Chips, Targets, testing::Values("sm_90", "gfx906", "gfx90a", "gfx1030"),
                         name_of);
INSTANTIATE_TEST_SUITE_P(LongChips, Targets,
                         testing::Values("sm_75", "sm_80", "sm_86", "sm_89", "sm_100", "sm_120"),
                         name_of);

// ---- Programs on a device

class OnDevice : public testing::Test {
 protected:
  void SetUp() override {
    device_ = support::test_device();
    PARAES_NEEDS_DEVICE(device_);
    setenv("XDG_CACHE_HOME", folder_.path().c_str(), 1);
    unsetenv("PARAES_PROGRAM_PATH");
  }

  // Encrypts with the program of `kernel`, checks the result, and returns where the program came
  // from. Each call has different options, because the process keeps pools.
  std::string origin(const GpuKernel& kernel, unsigned tables = 0) {
    const PoolOptions options{.memory_limit = ++uses_, .variant = {.tables = tables}};
    const auto pool = open_pool(parse_device(device_).value(), kernel, options);
    const Buffer key = support::make_key(16, 4);
    const Buffer counter = support::pattern(16, 200);
    const Buffer in = support::pattern(70000);
    Buffer out(in.size());
    detail::make_gpu_block(pool, std::make_unique<CipherKey>(find_kernel("auto"), key.data(), 16),
                           Executor(1), {})
        ->ctr(counter.data(), 0, in.data(), out.data(), in.size());
    EXPECT_EQ(support::difference(out, support::evp_ctr(key, counter, in)), "");
    return pool->contexts()[0]->program_origin();
  }

  std::string device_;
  support::TemporaryFolder folder_;
  std::uint64_t uses_ = 0;
};

TEST_F(OnDevice, CacheIgnoresDamagedFilesAndUnsafeFolders) {
  const GpuKernel& kernel = find_gpu_kernel("reference");
  EXPECT_EQ(origin(kernel), "compiled");
  EXPECT_EQ(origin(kernel), "cached");
  const std::vector<fs::path> files = files_in(folder_);
  ASSERT_EQ(files.size(), 1U) << "a temporary file was left";
  const std::vector<std::uint8_t> whole = read(files[0]);
  const auto write = [&](const std::vector<std::uint8_t>& bytes) {
    folder_.write(files[0].lexically_relative(folder_.path()), bytes);
  };
  for (const std::size_t at :
       {std::size_t{3}, std::size_t{20}, whole.size() / 2, whole.size() - 1}) {
    std::vector<std::uint8_t> damaged = whole;
    damaged[at] ^= 1;
    write(damaged);
    EXPECT_EQ(origin(kernel), "compiled") << "byte " << at;
    EXPECT_EQ(origin(kernel), "cached") << "the damaged entry was not replaced";
  }
  for (const std::size_t size :
       {std::size_t{0}, std::size_t{10}, std::size_t{60}, whole.size() / 2}) {
    write({whole.data(), whole.data() + size});
    EXPECT_EQ(origin(kernel), "compiled") << size << " bytes";
  }
  EXPECT_EQ(origin(kernel), "cached");
  // A folder that others can write is not trusted.
  chmod(folder_.path("paraes").c_str(), 0777);
  EXPECT_EQ(origin(kernel), "compiled");
  chmod(folder_.path("paraes").c_str(), 0700);
  setenv("XDG_CACHE_HOME", "/proc/no such folder", 1);
  EXPECT_EQ(origin(kernel), "compiled");
}

TEST_F(OnDevice, PreparedProgramIsUsedUnlessDamaged) {
  const GpuKernel& kernel = find_gpu_kernel("ttable-simple");
  const auto pool = open_pool(parse_device(device_).value(), kernel, {.memory_limit = ++uses_});
  Device& device = pool->contexts()[0]->device();
  const ProgramVariant& variant = pool->contexts()[0]->variant();
  const Binary binary = device.compile(source_of(kernel), options_of(variant));
  const std::string name = prepared_name(variant, device.info().target);
  const std::string path = folder_.write(name, pack(binary));
  const std::string folders = "/nowhere:" + folder_.path();
  setenv("PARAES_PROGRAM_PATH", folders.c_str(), 1);
  EXPECT_EQ(origin(kernel), path);
  // Everybody could exchange the file, and its machine code would run with the user's keys.
  chmod(folder_.path().c_str(), 0777);
  EXPECT_HAS(support::message_of<Unavailable>([&] { static_cast<void>(origin(kernel)); }),
             "everybody can write");
  chmod(folder_.path().c_str(), 0700);
  std::vector<std::uint8_t> damaged = pack(binary);
  damaged.back() ^= 1;
  folder_.write(name, damaged);
  EXPECT_HAS(support::message_of<DamagedProgram>([&] { static_cast<void>(origin(kernel)); }), path);
  unsetenv("PARAES_PROGRAM_PATH");
}

// Shared memory holds one, two or four tables, depending on the chip.
TEST_F(OnDevice, TtableIsRightWithOneTwoAndFourTables) {
  const GpuKernel& kernel = find_gpu_kernel("ttable");
  for (const unsigned tables : {1U, 2U, 4U}) static_cast<void>(origin(kernel, tables));
}

// A device that is not there.
DeviceInfo device_with(std::uint64_t shared_kib, const std::string& target = "",
                       const std::string& id = "opencl:9", const std::string& name = "Small GPU") {
  DeviceInfo info;
  info.id = id;
  info.name = name;
  info.target = target;
  info.shared_bytes = shared_kib << 10;
  return info;
}

bool has_option(const ProgramVariant& variant, const std::string& option) {
  const std::vector<std::string> options = options_of(variant);
  return std::count(options.begin(), options.end(), option) == 1;
}

// Why there is no such program.
std::string refusal(const GpuKernel& kernel, const DeviceInfo& info,
                    const VariantOptions& how = {}) {
  return support::message_of<Unavailable>(
      [&] { static_cast<void>(variant_for(kernel, info, how)); });
}

TEST(KernelRows, TablesFitSharedMemory) {
  const GpuKernel& kernel = find_gpu_kernel("ttable");
  for (const auto& [kib, tables] : {std::array{32U, 1U}, std::array{48U, 1U}, std::array{64U, 2U},
                                    std::array{99U, 2U}, std::array{227U, 2U}}) {
    const DeviceInfo info = device_with(kib);
    const ProgramVariant variant = variant_for(kernel, info);
    EXPECT_EQ(variant.tables, tables) << kib << " KiB";
    EXPECT_LE(mode_shared_bytes(variant), info.shared_bytes);
    EXPECT_LE(hash_shared_bytes(variant), info.shared_bytes);
  }
  EXPECT_NE(refusal(kernel, device_with(16)), "");
}

// Only CUDA keeps an argument by value in constant memory. On HIP and OpenCL it would lie in memory
// that nobody wipes, so that one program reads the keys of one message and of many from `keys`.
TEST(KernelRows, OnlyCudaPassesRoundKeysByValue) {
  const std::string option = "-DPARAES_KEYS_IN_MEMORY=1";
  for (const GpuKernel& kernel : gpu_kernel_table()) {
    for (const char* target : {"sm_90", "gfx90a:sramecc+:xnack-", "gfx1100", "Some OpenCL GPU"}) {
      const ProgramVariant one = variant_for(kernel, device_with(64, target));
      const bool by_value = target == std::string("sm_90") && !kernel.sliced_keys;
      EXPECT_EQ(has_option(one, option), !by_value) << kernel.name << " on " << target;
      EXPECT_EQ(options_of(for_many_keys(one)) == options_of(one), !by_value)
          << kernel.name << " on " << target;
    }
  }
}

TEST(KernelRows, GroupsFitTheDevice) {
  DeviceInfo info = device_with(64);
  for (const GpuKernel& kernel : gpu_kernel_table()) {
    for (const auto& [most, threads] :
         {std::array{0U, 256U}, std::array{1024U, 256U}, std::array{256U, 256U},
          std::array{255U, 128U}, std::array{192U, 128U}, std::array{128U, 128U}}) {
      info.max_threads = most;
      const ProgramVariant variant = variant_for(kernel, info);
      EXPECT_EQ(variant.group_threads, threads) << most;
      EXPECT_EQ(variant.hash_threads, threads) << most;
      for (const char* name : {"-DPARAES_GROUP_THREADS=", "-DPARAES_HASH_THREADS="}) {
        EXPECT_TRUE(has_option(variant, name + std::to_string(threads))) << name << threads;
      }
    }
    for (const unsigned most : {127U, 64U, 1U}) {
      info.max_threads = most;
      EXPECT_EQ(refusal(kernel, info),
                "GPU kernels need 128 threads in a group, and opencl:9 (Small GPU) allows " +
                    std::to_string(most));
    }
  }
}

TEST(KernelRows, GivenGroupThreadsReplaceTheKernelsOwn) {
  DeviceInfo info = device_with(64);
  for (const GpuKernel& kernel : gpu_kernel_table()) {
    const ProgramVariant own = variant_for(kernel, info);
    EXPECT_FALSE(own.full_groups);
    for (const unsigned threads : {32U, 64U, 96U, 128U, 256U, 512U, 1024U}) {
      const ProgramVariant variant = variant_for(kernel, info, {.group_threads = threads});
      EXPECT_EQ(variant.group_threads, threads);
      EXPECT_TRUE(variant.full_groups);
      EXPECT_EQ(variant.hash_threads, own.hash_threads);  // GHASH keeps its own
      EXPECT_TRUE(has_option(variant, "-DPARAES_GROUP_THREADS=" + std::to_string(threads)));
      // The file of another program has another name.
      EXPECT_EQ(cached_name(variant, info) == cached_name(own, info), threads == 256);
      EXPECT_EQ(prepared_name(variant, "sm_90") == prepared_name(own, "sm_90"), threads == 256);
    }
    for (const unsigned threads : {1U, 48U, 1025U, 1056U}) {
      EXPECT_THROW(static_cast<void>(variant_for(kernel, info, {.group_threads = threads})),
                   InvalidArgument)
          << threads;
    }
  }
  const ProgramVariant shared =
      variant_for(find_gpu_kernel("reference-shared"), info, {.group_threads = 512});
  EXPECT_EQ(mode_shared_bytes(shared), 16U * 512);
}

TEST(KernelRows, OptionsSelectTablesGroupsAndTheHash) {
  const DeviceInfo info = device_with(227, "sm_90");
  for (const GpuKernel& kernel : gpu_kernel_table()) {
    const ProgramVariant own = variant_for(kernel, info);
    EXPECT_EQ(own.tables, kernel.tables ? 2U : 0U);
    EXPECT_EQ(own.groups_per_unit, kernel.tables ? 3U : 0U);
    EXPECT_EQ(own.tensor_hash, kernel.name == "ttable" || kernel.name == "bitslice");
    // On other chips nobody has measured it.
    EXPECT_FALSE(variant_for(kernel, device_with(227, "sm_89")).tensor_hash);
    const ProgramVariant scalar = variant_for(kernel, info, {.tensor_hash = false});
    EXPECT_FALSE(scalar.tensor_hash);
    EXPECT_EQ(hash_groups(scalar), kernel.hash_tables ? 3U : 2U);
    const ProgramVariant other =
        variant_for(kernel, info, {.tables = 4, .groups_per_unit = 2, .tensor_hash = true});
    EXPECT_EQ(other.tables, kernel.tables ? 4U : 0U);
    EXPECT_EQ(other.groups_per_unit, 2U);
    EXPECT_TRUE(other.tensor_hash);
    for (const char* option : {"-DPARAES_HASH_TENSOR=1", "-DPARAES_GROUPS_PER_UNIT=2"}) {
      EXPECT_TRUE(has_option(other, option)) << option;
    }
    EXPECT_EQ(has_option(other, "-DPARAES_TABLES=4"), kernel.tables);
    EXPECT_NE(prepared_name(other, "sm_90"), prepared_name(own, "sm_90"));
  }
  for (const char* const target : {"sm_75", "sm_100", "gfx90a", ""}) {
    EXPECT_EQ(
        refusal(gpu_kernel_table()[1], device_with(227, target, "cuda:0", "a GPU"),
                {.tensor_hash = true}),
        "cuda:0 (a GPU) has no binary matrix products, which are of CUDA, on chips of compute "
        "capability 8.0 to 9.0");
  }
  // As docs/gpus.md makes programs for chips that are not here.
  EXPECT_EQ(
      refusal(gpu_kernel_table()[1], device_with(227, "sm_75", "sm_75", ""), {.tensor_hash = true})
          .rfind("sm_75 has no binary matrix products", 0),
      0U);
  EXPECT_NE(refusal(find_gpu_kernel("ttable"), device_with(64, "sm_90"), {.tables = 4}), "");
}

TEST(GpuTuning, IsCheckedAndLeavesTheRestAsItIs) {
  const PoolOptions usual;
  PoolOptions options;
  apply({}, options);
  EXPECT_EQ(options, usual);
  apply({.streams = 3, .launch_bytes = 1 << 20, .tables = 1, .groups_per_processor = 2}, options);
  EXPECT_EQ(options.streams, 3U);
  EXPECT_EQ(options.launch_bytes, std::size_t{1} << 20);
  EXPECT_EQ(options.variant, (VariantOptions{.tables = 1, .groups_per_unit = 2}));
  for (const GpuTuning& wrong : {GpuTuning{.streams = 65}, GpuTuning{.launch_bytes = 65535},
                                 GpuTuning{.launch_bytes = std::uint64_t{257} << 20},
                                 GpuTuning{.tables = 3}, GpuTuning{.groups_per_processor = 9}}) {
    EXPECT_THROW(apply(wrong, options), InvalidArgument);
  }
}

TEST(KernelRows, GivenGroupThreadsThatTheDeviceLacksAreUnavailable) {
  DeviceInfo info = device_with(64);
  info.max_threads = 256;
  const GpuKernel& kernel = find_gpu_kernel("reference-shared");
  EXPECT_EQ(variant_for(kernel, info, {.group_threads = 256}).group_threads, 256U);
  EXPECT_EQ(refusal(kernel, info, {.group_threads = 512}),
            "opencl:9 (Small GPU) allows at most 256 threads in a group, not 512");
  info.max_threads = 1024;
  info.shared_bytes = 8 << 10;
  EXPECT_EQ(variant_for(kernel, info, {.group_threads = 512}).group_threads, 512U);
  EXPECT_HAS(refusal(kernel, info, {.group_threads = 1024}), "needs 16384 bytes of shared memory");
}

TEST(KernelRows, OnlyBitsliceIsConstantTime) {
  for (const GpuKernel& kernel : gpu_kernel_table()) {
    EXPECT_EQ(kernel.timing == Timing::constant, kernel.name == "bitslice");
  }
  EXPECT_EQ(select_kernel("auto", "opencl", false).name, "bitslice");
  EXPECT_THROW(static_cast<void>(find_gpu_kernel("auto")), UnknownKernel);
  EXPECT_THROW(static_cast<void>(find_gpu_kernel("vaes512")), UnknownKernel);
}

}  // namespace
}  // namespace paraes::gpu
