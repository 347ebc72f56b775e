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
#include "src/gpu/device/sizes.h"
#include "src/gpu/pool.hpp"
#include "src/gpu/programs/prepare.hpp"
#include "src/gpu/programs/program_files.hpp"
#include "src/kernels/registry.hpp"
#include "tests/support/buffers.hpp"
#include "tests/support/builds.hpp"
#include "tests/support/evp_oracle.hpp"
#include "tests/support/message_of.hpp"
#include "tests/support/test_device.hpp"

namespace paraes::gpu {
namespace {

namespace fs = std::filesystem;
using support::Buffer;

// A temporary folder.
class Folder {
 public:
  Folder() {
    std::string name = fs::temp_directory_path() / "paraes.XXXXXX";
    if (mkdtemp(name.data()) == nullptr) throw std::runtime_error("no temporary folder");
    path_ = name;
  }
  ~Folder() { fs::remove_all(path_); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

  [[nodiscard]] const fs::path& path() const { return path_; }
  [[nodiscard]] std::vector<fs::path> files() const {
    std::vector<fs::path> list;
    for (const auto& entry : fs::recursive_directory_iterator(path_)) {
      if (entry.is_regular_file()) list.push_back(entry.path());
    }
    return list;
  }

 private:
  fs::path path_;
};

std::vector<std::uint8_t> read(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

void write(const fs::path& path, const std::vector<std::uint8_t>& bytes) {
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file.write(reinterpret_cast<const char*>(bytes.data()),
             static_cast<std::streamsize>(bytes.size()));
}

// ---- Compilers without a GPU

class Targets : public testing::TestWithParam<const char*> {};

void compile_all(const std::string& target, const char* require) {
  const Folder folder;
  std::size_t bytes = 0;
  std::vector<std::string> paths;
  for (const KernelRow& row : kernel_rows()) {
    try {
      const std::vector<std::string> made = prepare(row, target, folder.path());
      // On CUDA the second program is for many keys. Kernels with sliced keys need none.
      const bool cuda = target.rfind("sm_", 0) == 0;
      ASSERT_EQ(made.size(), cuda && !row.sliced_keys ? 2U : 1U) << row.name;
      paths.insert(paths.end(), made.begin(), made.end());
    } catch (const Unavailable& error) {
      if (std::getenv(require) != nullptr) FAIL() << error.what();
      GTEST_SKIP() << error.what();
    }
  }
  for (const std::string& path : paths) {
    const Binary binary = unpack(read(path));
    bytes += binary.size();
    ASSERT_GT(binary.size(), 4096U) << path;
    const std::string start(binary.begin(), binary.begin() + 4);
    // A cubin, or a bundle of code objects.
    ASSERT_TRUE(start ==
                    "\x7f"
                    "ELF" ||
                start == "__CL")
        << path;
    const std::string text(binary.begin(), binary.end());
    for (const char* entry : {"ecb_encrypt", "ecb_decrypt", "ctr", "cbc_decrypt", "xts_encrypt",
                              "xts_decrypt", "gcm_ctr", "ghash", "expand_keys"}) {
      ASSERT_NE(text.find(entry), std::string::npos) << path << " has no " << entry;
    }
  }
  EXPECT_EQ(folder.files().size(), paths.size());
  support::report("GPU programs for " + target + ": " + std::to_string(paths.size()) + ", " +
                  std::to_string(bytes) + " bytes");
}

TEST_P(Targets, EveryKernelCompiles) {
  const std::string target = GetParam();
  compile_all(target,
              target.rfind("sm_", 0) == 0 ? "PARAES_REQUIRE_NVRTC" : "PARAES_REQUIRE_HIPRTC");
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

  // Encrypts with the program of `row`, checks the result, and returns where the program came from.
  // Each call has different options, because the process keeps pools.
  std::string origin(const KernelRow& row, unsigned tables = 0) {
    const PoolOptions options{.memory_limit = ++uses_, .variant = {.tables = tables}};
    const auto pool = open_pool(parse_device(device_).value(), row, options);
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
  Folder folder_;
  std::uint64_t uses_ = 0;
};

TEST_F(OnDevice, CacheIgnoresDamagedFilesAndUnsafeFolders) {
  const KernelRow& row = find_kernel_row("reference");
  EXPECT_EQ(origin(row), "compiled");
  EXPECT_EQ(origin(row), "cached");
  const std::vector<fs::path> files = folder_.files();
  ASSERT_EQ(files.size(), 1U) << "a temporary file was left";
  const std::vector<std::uint8_t> whole = read(files[0]);
  for (const std::size_t at :
       {std::size_t{3}, std::size_t{20}, whole.size() / 2, whole.size() - 1}) {
    std::vector<std::uint8_t> damaged = whole;
    damaged[at] ^= 1;
    write(files[0], damaged);
    EXPECT_EQ(origin(row), "compiled") << "byte " << at;
    EXPECT_EQ(origin(row), "cached") << "the damaged entry was not replaced";
  }
  for (const std::size_t size :
       {std::size_t{0}, std::size_t{10}, std::size_t{60}, whole.size() / 2}) {
    write(files[0], {whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size)});
    EXPECT_EQ(origin(row), "compiled") << size << " bytes";
  }
  EXPECT_EQ(origin(row), "cached");
  // A folder that others can write is not trusted.
  chmod((folder_.path() / "paraes").c_str(), 0777);
  EXPECT_EQ(origin(row), "compiled");
  chmod((folder_.path() / "paraes").c_str(), 0700);
  setenv("XDG_CACHE_HOME", "/proc/no such folder", 1);
  EXPECT_EQ(origin(row), "compiled");
}

TEST_F(OnDevice, PreparedProgramIsUsedUnlessDamaged) {
  const KernelRow& row = find_kernel_row("ttable-simple");
  const auto pool = open_pool(parse_device(device_).value(), row, {.memory_limit = ++uses_});
  Device& device = pool->contexts()[0]->device();
  const ProgramVariant& variant = pool->contexts()[0]->variant();
  const Binary binary = device.compile(source_of(row), options_of(variant));
  const fs::path path = folder_.path() / prepared_name(variant, device.info().target);
  write(path, pack(binary));
  const std::string folders = "/nowhere:" + folder_.path().string();
  setenv("PARAES_PROGRAM_PATH", folders.c_str(), 1);
  EXPECT_EQ(origin(row), path);
  // Everybody could exchange the file, and its machine code would run with the user's keys.
  chmod(folder_.path().c_str(), 0777);
  try {
    static_cast<void>(origin(row));
    FAIL() << "a program was used that everybody can exchange";
  } catch (const Unavailable& error) {
    EXPECT_NE(std::string(error.what()).find("everybody can write"), std::string::npos)
        << error.what();
  }
  chmod(folder_.path().c_str(), 0700);
  std::vector<std::uint8_t> damaged = pack(binary);
  damaged.back() ^= 1;
  write(path, damaged);
  try {
    static_cast<void>(origin(row));
    FAIL() << "a damaged program was used";
  } catch (const DamagedProgram& error) {
    EXPECT_NE(std::string(error.what()).find(path), std::string::npos) << error.what();
  }
  unsetenv("PARAES_PROGRAM_PATH");
}

// Shared memory holds one, two or four tables, depending on the chip.
TEST_F(OnDevice, TtableIsRightWithOneTwoAndFourTables) {
  const KernelRow& row = find_kernel_row("ttable");
  for (const unsigned tables : {1U, 2U, 4U}) static_cast<void>(origin(row, tables));
}

TEST(KernelRows, TablesFitSharedMemory) {
  const KernelRow& row = find_kernel_row("ttable");
  DeviceInfo info;
  info.id = "opencl:9";
  for (const auto& [kib, tables] : {std::array{32U, 1U}, std::array{48U, 1U}, std::array{64U, 2U},
                                    std::array{99U, 2U}, std::array{227U, 2U}}) {
    info.shared_bytes = std::uint64_t{kib} << 10;
    const ProgramVariant variant = variant_for(row, info);
    EXPECT_EQ(variant.tables, tables) << kib << " KiB";
    EXPECT_LE(mode_shared_bytes(variant), info.shared_bytes);
    EXPECT_LE(hash_shared_bytes(variant), info.shared_bytes);
  }
  info.shared_bytes = 16 << 10;
  EXPECT_THROW(static_cast<void>(variant_for(row, info)), Unavailable);
}

// Only CUDA keeps an argument by value in constant memory. On HIP and OpenCL it would lie in memory
// that nobody wipes, so that one program reads the keys of one message and of many from `keys`.
TEST(KernelRows, OnlyCudaPassesRoundKeysByValue) {
  const std::string option = "-DPARAES_KEYS_IN_MEMORY=1";
  for (const KernelRow& row : kernel_rows()) {
    for (const char* target : {"sm_90", "gfx90a:sramecc+:xnack-", "gfx1100", "Some OpenCL GPU"}) {
      DeviceInfo info;
      info.target = target;
      info.shared_bytes = std::uint64_t{64} << 10;
      const ProgramVariant one = variant_for(row, info);
      const ProgramVariant many = for_many_keys(one);
      const bool by_value = info.target == "sm_90" && !row.sliced_keys;
      const std::vector<std::string> options = options_of(one);
      EXPECT_EQ(std::count(options.begin(), options.end(), option), by_value ? 0 : 1)
          << row.name << " on " << target;
      EXPECT_EQ(options_of(many) == options, !by_value) << row.name << " on " << target;
    }
  }
}

TEST(KernelRows, GroupsFitTheDevice) {
  DeviceInfo info;
  info.id = "opencl:9";
  info.name = "Small GPU";
  info.shared_bytes = 64 << 10;
  for (const KernelRow& row : kernel_rows()) {
    for (const auto& [most, threads] :
         {std::array{0U, 256U}, std::array{1024U, 256U}, std::array{256U, 256U},
          std::array{255U, 128U}, std::array{192U, 128U}, std::array{128U, 128U}}) {
      info.max_threads = most;
      const ProgramVariant variant = variant_for(row, info);
      EXPECT_EQ(variant.group_threads, threads) << most;
      EXPECT_EQ(variant.hash_threads, threads) << most;
      const std::vector<std::string> options = options_of(variant);
      for (const char* name : {"GROUP", "HASH"}) {
        const std::string option =
            "-DPARAES_" + std::string(name) + "_THREADS=" + std::to_string(threads);
        EXPECT_EQ(std::count(options.begin(), options.end(), option), 1) << option;
      }
    }
    for (const unsigned most : {127U, 64U, 1U}) {
      info.max_threads = most;
      try {
        static_cast<void>(variant_for(row, info));
        ADD_FAILURE() << row.name << " takes groups of " << most;
      } catch (const Unavailable& error) {
        EXPECT_EQ(std::string(error.what()),
                  "GPU kernels need 128 threads in a group, and opencl:9 (Small GPU) allows " +
                      std::to_string(most));
      }
    }
  }
}

TEST(KernelRows, GivenGroupThreadsReplaceTheKernelsOwn) {
  DeviceInfo info;
  info.id = "opencl:9";
  info.name = "Small GPU";
  info.shared_bytes = 64 << 10;
  for (const KernelRow& row : kernel_rows()) {
    const ProgramVariant own = variant_for(row, info);
    EXPECT_FALSE(own.full_groups);
    for (const unsigned threads : {32U, 64U, 96U, 128U, 256U, 512U, 1024U}) {
      const ProgramVariant variant = variant_for(row, info, {.group_threads = threads});
      EXPECT_EQ(variant.group_threads, threads);
      EXPECT_TRUE(variant.full_groups);
      EXPECT_EQ(variant.hash_threads, own.hash_threads);  // GHASH keeps its own
      const std::vector<std::string> options = options_of(variant);
      const std::string option = "-DPARAES_GROUP_THREADS=" + std::to_string(threads);
      EXPECT_EQ(std::count(options.begin(), options.end(), option), 1) << option;
      // The file of another program has another name.
      EXPECT_EQ(cached_name(variant, info) == cached_name(own, info), threads == 256);
      EXPECT_EQ(prepared_name(variant, "sm_90") == prepared_name(own, "sm_90"), threads == 256);
    }
    for (const unsigned threads : {1U, 48U, 1025U, 1056U}) {
      EXPECT_THROW(static_cast<void>(variant_for(row, info, {.group_threads = threads})),
                   InvalidArgument)
          << threads;
    }
  }
  const ProgramVariant shared =
      variant_for(find_kernel_row("reference-shared"), info, {.group_threads = 512});
  EXPECT_EQ(mode_shared_bytes(shared), 16U * 512);
}

TEST(KernelRows, OptionsSelectTablesGroupsAndTheHash) {
  DeviceInfo info;
  info.target = "sm_90";
  info.shared_bytes = 227 << 10;
  for (const KernelRow& row : kernel_rows()) {
    const ProgramVariant own = variant_for(row, info);
    EXPECT_EQ(own.tables, row.tables ? 2U : 0U);
    EXPECT_EQ(own.groups_per_unit, row.tables ? 3U : 0U);
    EXPECT_EQ(own.tensor_hash, row.name == "ttable" || row.name == "bitslice");
    info.target = "sm_89";  // on which nobody has measured it
    EXPECT_FALSE(variant_for(row, info).tensor_hash);
    info.target = "sm_90";
    const ProgramVariant scalar = variant_for(row, info, {.tensor_hash = false});
    EXPECT_FALSE(scalar.tensor_hash);
    EXPECT_EQ(hash_groups(scalar), row.hash_tables ? 3U : 2U);
    const ProgramVariant other =
        variant_for(row, info, {.tables = 4, .groups_per_unit = 2, .tensor_hash = true});
    EXPECT_EQ(other.tables, row.tables ? 4U : 0U);
    EXPECT_EQ(other.groups_per_unit, 2U);
    EXPECT_TRUE(other.tensor_hash);
    const std::vector<std::string> options = options_of(other);
    EXPECT_EQ(std::count(options.begin(), options.end(), "-DPARAES_HASH_TENSOR=1"), 1);
    EXPECT_NE(prepared_name(other, "sm_90"), prepared_name(own, "sm_90"));
  }
  info.id = "cuda:0";
  info.name = "a GPU";
  for (const char* const target : {"sm_75", "sm_100", "gfx90a", ""}) {
    info.target = target;
    EXPECT_EQ(
        support::message_of<Unavailable>(
            [&] { static_cast<void>(variant_for(kernel_rows()[1], info, {.tensor_hash = true})); }),
        "cuda:0 (a GPU) has no binary matrix products, which are of CUDA, on chips of compute "
        "capability 8.0 to 9.0");
  }
  info.shared_bytes = 64 << 10;
  EXPECT_THROW(static_cast<void>(variant_for(find_kernel_row("ttable"), info, {.tables = 4})),
               Unavailable);
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
  DeviceInfo info;
  info.id = "opencl:9";
  info.name = "Small GPU";
  info.shared_bytes = 64 << 10;
  info.max_threads = 256;
  const KernelRow& row = find_kernel_row("reference-shared");
  EXPECT_EQ(variant_for(row, info, {.group_threads = 256}).group_threads, 256U);
  EXPECT_EQ(support::message_of<Unavailable>(
                [&] { static_cast<void>(variant_for(row, info, {.group_threads = 512})); }),
            "opencl:9 (Small GPU) allows at most 256 threads in a group, not 512");
  info.max_threads = 1024;
  info.shared_bytes = 8 << 10;
  EXPECT_EQ(variant_for(row, info, {.group_threads = 512}).group_threads, 512U);
  EXPECT_NE(support::message_of<Unavailable>([&] {
              static_cast<void>(variant_for(row, info, {.group_threads = 1024}));
            }).find("needs 16384 bytes of shared memory"),
            std::string::npos);
}

TEST(KernelRows, VariantsHaveTheOptionsThatTheyName) {
  DeviceInfo info;
  info.id = "cuda:9";
  info.shared_bytes = 227 << 10;
  ProgramVariant variant = variant_for(find_kernel_row("ttable"), info);
  const std::vector<std::string> usual = options_of(variant);
  variant.groups_per_unit = 3;
  variant.tables = 4;
  std::vector<std::string> expected = usual;
  std::replace(expected.begin(), expected.end(), std::string("-DPARAES_TABLES=2"),
               std::string("-DPARAES_TABLES=4"));
  expected.emplace_back("-DPARAES_GROUPS_PER_UNIT=3");
  const std::vector<std::string> options = options_of(variant);
  EXPECT_TRUE(
      std::is_permutation(options.begin(), options.end(), expected.begin(), expected.end()));
}

TEST(KernelRows, HaveNamesSourcesAndTimings) {
  for (const KernelRow& row : kernel_rows()) {
    EXPECT_EQ(&find_kernel_row(row.name), &row);
    EXPECT_GT(source_of(row).size(), 10000U);
    EXPECT_EQ(row.timing == Timing::constant, row.name == "bitslice");
  }
  EXPECT_EQ(fastest_constant_kernel_row().name, "bitslice");
  EXPECT_THROW(static_cast<void>(find_kernel_row("vaes512")), InvalidArgument);
}

}  // namespace
}  // namespace paraes::gpu
