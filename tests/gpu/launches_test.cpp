// How launches are cut: work that is launched beside that of the text, GHASH tables that are built,
// and bank conflicts.

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include "src/gpu/device/sizes.h"
#include "src/gpu/programs/program_files.hpp"
#include "tests/gpu/secret_work.hpp"
#include "tests/support/environment.hpp"
#include "tests/support/test_device.hpp"

namespace paraes::gpu {
namespace {

namespace fs = std::filesystem;
using support::Buffer;

// ---- Bank conflicts

// How often the busiest eighth of the banks is accessed, if eight threads access 16 bytes each.
// Threads that access the same unit of 16 bytes share an access.
unsigned accesses(const std::array<unsigned, 8>& units) {
  std::array<std::set<unsigned>, 8> banks;
  for (const unsigned unit : units) banks[unit % 8].insert(unit);
  std::size_t most = 0;
  for (const auto& bank : banks) most = std::max(most, bank.size());
  return static_cast<unsigned>(most);
}

constexpr unsigned copy_counts[] = {1, 2, 4, 8};

TEST(HashTables, StoresHaveNoBankConflicts) {
  for (const unsigned copies : copy_counts) {
    std::vector<unsigned> written(512 * copies);
    for (unsigned first = 0; first < 512; first += 8) {
      for (unsigned step = 0; step < copies; ++step) {
        std::array<unsigned, 8> units{};
        for (unsigned lane = 0; lane < 8; ++lane) {
          const unsigned entry = first + lane;
          const unsigned thread = entry % hash_threads;
          const unsigned copy = PARAES_HASH_COPY_WRITTEN(thread, step, copies);
          ASSERT_LT(copy, copies);
          units[lane] = PARAES_HASH_UNIT(entry, copy, copies);
          ++written.at(units[lane]);
        }
        ASSERT_EQ(accesses(units), 1U) << copies << " copies, entry " << first << ", step " << step;
      }
    }
    for (const unsigned times : written) ASSERT_EQ(times, 1U) << copies << " copies";
  }
}

// The 16 entries of a nibble lie in 16 copies / 8 units of each bank, and 8 / copies threads read
// the same copy. With eight copies there are no conflicts.
TEST(HashTables, LoadsHaveTheFewestBankConflictsThatCopiesAllow) {
  for (const unsigned copies : copy_counts) {
    unsigned most = 0;
    std::uint32_t random = 1;
    for (unsigned trial = 0; trial < 100'000; ++trial) {
      std::array<unsigned, 8> units{};
      const unsigned warp = trial % (hash_threads / 8);
      for (unsigned lane = 0; lane < 8; ++lane) {
        random = random * 1664525 + 1013904223;
        const unsigned entry = 16 * (trial % 32) + (random >> 24) % 16;
        const unsigned copy = PARAES_HASH_COPY_READ(8 * warp + lane, copies);
        ASSERT_LT(copy, copies);
        units[lane] = PARAES_HASH_UNIT(entry, copy, copies);
      }
      most = std::max(most, accesses(units));
    }
    EXPECT_EQ(most, std::min(8 / copies, 2 * copies)) << copies << " copies";
  }
}

// ---- Programs that count

// A temporary folder of PARAES_PROGRAM_PATH.
class ProgramFolder {
 public:
  ProgramFolder() {
    std::string name = fs::temp_directory_path() / "paraes.XXXXXX";
    if (mkdtemp(name.data()) == nullptr) throw std::runtime_error("no temporary folder");
    path_ = name;
    variable_ = std::make_unique<support::ScopedEnvironment>("PARAES_PROGRAM_PATH", name);
  }
  ~ProgramFolder() { fs::remove_all(path_); }
  ProgramFolder(const ProgramFolder&) = delete;
  ProgramFolder& operator=(const ProgramFolder&) = delete;

  // Compiles the source of `variant` after `before`, to be used in its place.
  void add(Device& device, const ProgramVariant& variant, const std::string& before) const {
    const Binary binary = device.compile(before + source_of(*variant.row), options_of(variant));
    ASSERT_TRUE(
        write_program_file(path_, prepared_name(variant, device.info().target), pack(binary)));
  }

 private:
  fs::path path_;
  std::unique_ptr<support::ScopedEnvironment> variable_;
};

class HashTablesOnDevice : public testing::Test {
 protected:
  void SetUp() override { PARAES_NEEDS_DEVICE("opencl:0"); }

  static constexpr std::size_t segment_bytes = 8192;  // with tables
  static constexpr std::uint32_t segments = 40;

  // How often `ghash` builds tables for segments of `keys` keys, those of the same key
  // consecutive. The input, which it does not read when encrypting, has a counter for each thread.
  static unsigned built(DeviceContext& context, unsigned keys) {
    const std::size_t text = segments * segment_bytes;
    Memory in = context.device().allocate(text);
    Memory out = context.device().allocate(text + 16 * segments);
    const auto queue = context.device().make_queue();
    queue->clear(in, 0, in.bytes());
    queue->finish();
    Stream stream(context, in, out, segments);
    std::vector<std::unique_ptr<KeyMaterial>> materials;
    std::vector<const KeyMaterial*> pointers;
    for (unsigned k = 0; k < keys; ++k) {
      materials.push_back(
          detail::make_key_material(support::make_key(16, k), 1, true, KeyExpansion::host));
      pointers.push_back(materials.back().get());
    }
    if (keys == 1) {
      stream.use_key(*materials[0]);
    } else {
      stream.use_keys(pointers);
    }
    const Buffer j0 = support::pattern(16);
    std::vector<paraes_message> messages;
    for (std::uint32_t i = 0; i < segments; ++i) {
      const std::uint64_t at = i * segment_bytes;
      messages.push_back(make_message(at, at, segment_bytes, j0.data()));
      messages.back().key = i * keys / segments;
      messages.back().tag = text + 16 * i;
    }
    stream.launch("gcm_ctr", messages);
    stream.launch_hash(segments);
    stream.finish();
    std::vector<std::uint32_t> counts(text / 4);
    queue->download(counts.data(), in, 0, text);
    queue->finish();
    stream.forget_keys();
    unsigned sum = 0;
    for (const std::uint32_t count : counts) sum += count;
    EXPECT_EQ(sum % hash_threads, 0U);
    return sum / hash_threads;
  }
};

TEST_F(HashTablesOnDevice, AreBuiltOnceForEachGroupAndKey) {
  const ProgramFolder folder;
  {
    const auto pool = support::make_pool("opencl", "ttable-simple");
    DeviceContext& context = *pool->contexts()[0];
    const std::string count =
        "#define PARAES_ON_TABLES_BUILT(job) \\\n"
        "  ++((PARAES_GLOBAL paraes_u32*)(job)->in)[PARAES_HASH_THREADS * (job)->group + "
        "(job)->thread]\n";
    Device& device = context.device();
    folder.add(device, context.variant(), count);
    folder.add(device, for_many_keys(context.variant()), count);
  }
  const auto pool = support::make_pool("opencl", "ttable-simple");
  DeviceContext& context = *pool->contexts()[0];
  const unsigned groups =
      std::min(segments, PARAES_HASH_GROUPS_PER_UNIT * std::max(context.info().processors, 1U));
  EXPECT_EQ(built(context, 1), groups);
  const unsigned keys = 5;
  const unsigned several = built(context, keys);
  EXPECT_GE(several, keys);
  EXPECT_LT(several, groups + keys);
}

}  // namespace
}  // namespace paraes::gpu
