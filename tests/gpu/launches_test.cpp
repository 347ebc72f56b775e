// How launches are cut: work that is launched beside that of the text, GHASH tables that are built,
// and bank conflicts.

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "src/cipher/gpu_key.hpp"
#include "src/gpu/caller_queue.hpp"
#include "src/gpu/device/sizes.h"
#include "src/gpu/programs/program_files.hpp"
#include "src/gpu/tiling.hpp"
#include "tests/gpu/each_kernel.hpp"
#include "tests/gpu/secret_work.hpp"
#include "tests/support/environment.hpp"
#include "tests/support/temporary_folder.hpp"
#include "tests/support/test_device.hpp"

namespace paraes::gpu {
namespace {

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

constexpr unsigned usual_hash_threads = 256;
constexpr unsigned copy_counts[] = {1, 2, 4, 8};

TEST(HashTables, StoresHaveNoBankConflicts) {
  for (const unsigned copies : copy_counts) {
    std::vector<unsigned> written(512 * copies);
    for (unsigned first = 0; first < 512; first += 8) {
      for (unsigned step = 0; step < copies; ++step) {
        std::array<unsigned, 8> units{};
        for (unsigned lane = 0; lane < 8; ++lane) {
          const unsigned entry = first + lane;
          const unsigned thread = entry % usual_hash_threads;
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

// Only threads that read the same copy can conflict: 8 / copies of them.
TEST(HashTables, LoadsHaveTheFewestBankConflictsThatCopiesAllow) {
  for (const unsigned copies : copy_counts) {
    unsigned most = 0;
    std::uint32_t random = 1;
    for (unsigned trial = 0; trial < 100'000; ++trial) {
      std::array<unsigned, 8> units{};
      const unsigned warp = trial % (usual_hash_threads / 8);
      for (unsigned lane = 0; lane < 8; ++lane) {
        random = random * 1664525 + 1013904223;
        const unsigned entry = 2 * (random >> 24) + trial % 2;
        const unsigned copy = PARAES_HASH_COPY_READ(8 * warp + lane, copies);
        ASSERT_LT(copy, copies);
        units[lane] = PARAES_HASH_UNIT(entry, copy, copies);
      }
      most = std::max(most, accesses(units));
    }
    EXPECT_EQ(most, 8 / copies) << copies << " copies";
  }
}

// ---- Tiles

constexpr std::uint64_t h200_processors = 132;

std::vector<paraes_message> messages_of(const std::vector<std::size_t>& sizes) {
  std::vector<paraes_message> messages;
  std::uint64_t at = 0;
  for (const std::size_t bytes : sizes) {
    messages.push_back(make_message(at, at, bytes, nullptr));
    at += detail::padded(bytes);
  }
  return messages;
}

std::uint64_t blocks_in(const std::vector<std::size_t>& sizes) {
  std::uint64_t blocks = 0;
  for (const std::size_t bytes : sizes) blocks += detail::padded(bytes) / 16;
  return blocks;
}

constexpr std::size_t kib = 1024;

// Segments of the formats, and all of them together.
const std::vector<std::vector<std::size_t>>& segment_sizes() {
  static const std::vector<std::vector<std::size_t>> sizes = [] {
    std::vector<std::vector<std::size_t>> all;
    std::vector<std::size_t> mixture;
    for (const std::size_t bytes : {4 * kib, 4 * kib - 16, 16 * kib, 64 * kib}) {
      all.emplace_back(40, bytes);
      mixture.insert(mixture.end(), 8, bytes);
    }
    all.push_back(mixture);
    return all;
  }();
  return sizes;
}

TEST(Tiling, SegmentsAddTwoPercentOfBlocksAtMost) {
  for (const GpuKernel& kernel : gpu_kernel_table()) {
    for (const auto& sizes : segment_sizes()) {
      const auto messages = messages_of(sizes);
      const Tiling tiling = choose_tiling(kernel, h200_processors, messages, true);
      EXPECT_GE(tiling.blocks, blocks_in(sizes));
      EXPECT_LE(static_cast<double>(tiling.blocks), 1.02 * static_cast<double>(blocks_in(sizes)))
          << kernel.name << ", segments of " << sizes[0];
      std::uint64_t tiles = 0;
      for (const paraes_message& message : messages) tiles += tiles_of(message, tiling);
      EXPECT_EQ(tiling.tiles, tiles);
    }
  }
}

TEST(Tiling, LongMessagesHaveWideTiles) {
  const auto messages = messages_of({std::size_t{64} << 20});
  for (const GpuKernel& kernel : gpu_kernel_table()) {
    const Tiling tiling = choose_tiling(kernel, h200_processors, messages, true);
    EXPECT_EQ(tiling.lanes, 32U) << kernel.name;
    EXPECT_EQ(tiling.tile_blocks, 32 * kernel.blocks_per_thread) << kernel.name;
  }
}

TEST(Tiling, KeepsWideTilesForEntriesThatHaveNoOthers) {
  const auto messages = messages_of({100, 100, 5000});
  const Tiling tiling = choose_tiling(find_gpu_kernel("bitslice"), 132, messages, false);
  EXPECT_EQ(tiling.lanes, 32U);
  EXPECT_EQ(tiling.tiles, 3U);
  EXPECT_EQ(tiling.blocks, 3 * 1024U);
}

// Every size of message, also none, has a tiling whose tiles hold it.
TEST(Tiling, HoldsMessagesOfEverySize) {
  for (const GpuKernel& kernel : gpu_kernel_table()) {
    for (std::size_t bytes = 0; bytes < 40000; bytes += 7) {
      const auto messages = messages_of({bytes, 3 * bytes});
      const Tiling tiling = choose_tiling(kernel, h200_processors, messages, true);
      const std::uint64_t held =
          std::uint64_t{tiles_of(messages[0], tiling)} * tiling.tile_blocks * 16;
      ASSERT_GE(held, bytes) << kernel.name;
      ASSERT_GE(tiling.lanes, 1U);
      ASSERT_LE(tiling.tile_blocks, 32 * kernel.blocks_per_thread);
      ASSERT_EQ(tiling.tile_blocks % tiling.lanes, 0U);
    }
  }
}

// 1 MiB used 8 of the 132 multiprocessors.
TEST(Tiling, OneMebibyteSpreadsOverTheMultiprocessors) {
  const auto messages = messages_of({std::size_t{1} << 20});
  for (const GpuKernel& kernel : gpu_kernel_table()) {
    const Tiling tiling = choose_tiling(kernel, h200_processors, messages, true);
    const std::uint64_t threads = tiling.tiles * tiling.lanes;
    const std::uint32_t group = group_threads(kernel, h200_processors, threads);
    const std::uint64_t groups = (threads + group - 1) / group;
    // In bitslice 1 MiB is the work of 64 warps.
    EXPECT_GE(groups, kernel.sliced_keys ? 64U : h200_processors * 9 / 10) << kernel.name;
    EXPECT_EQ(group % 32, 0U);
    EXPECT_LE(group, kernel.group_threads);
  }
}

TEST(Tiling, UnitTweaksSpreadOverTheMultiprocessors) {
  const GpuKernel& kernel = find_gpu_kernel("bitslice");
  const std::uint64_t units = (std::size_t{16} << 20) / 4096;
  ASSERT_TRUE(few_unit_tweaks(kernel, h200_processors, units));
  const std::uint64_t threads = units / kernel.singles;
  const std::uint32_t group = group_threads(kernel, h200_processors, threads);
  EXPECT_GE((threads + group - 1) / group, 64U);
  EXPECT_FALSE(few_unit_tweaks(kernel, h200_processors, std::uint64_t{1} << 20));
  EXPECT_FALSE(few_unit_tweaks(find_gpu_kernel("ttable"), h200_processors, 1));
}

// ---- Programs that count

// A folder of PARAES_PROGRAM_PATH.
class ProgramFolder {
 public:
  // Compiles the source of `variant` after `before`, to be used in its place.
  void add(Device& device, const ProgramVariant& variant, const std::string& before) const {
    const Binary binary = device.compile(before + source_of(*variant.kernel), options_of(variant));
    write_program_file(folder_.path(), prepared_name(variant, device.info().target), pack(binary));
  }

 private:
  support::TemporaryFolder folder_;
  support::ScopedEnvironment variable_{"PARAES_PROGRAM_PATH", folder_.path()};
};

class KernelsOnDevice : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override { PARAES_NEEDS_DEVICE("opencl:0"); }
};

TEST_P(KernelsOnDevice, ComputeTwoPercentMoreBlocksThanSegmentsHaveAtMost) {
  const auto context = open_context({"opencl", {0}}, find_gpu_kernel(GetParam()));
  std::vector<std::unique_ptr<KeyMaterial>> keys;
  keys.push_back(detail::make_key_material(support::make_key(16, 1), 1, true, KeyExpansion::host));
  for (const auto& sizes : segment_sizes()) {
    const std::uint64_t text = 16 * blocks_in(sizes);
    const Memory in = context->device().allocate(text);
    const Memory out = context->device().allocate(text + 16 * sizes.size());
    CallerQueues queues(context, keys);
    CallerQueue& queue = queues.on_own();
    auto messages = messages_of(sizes);
    for (std::size_t i = 0; i < messages.size(); ++i) messages[i].tag = text + 16 * i;
    queue.launches().run("gcm_ctr", {&in, &out}, messages);
    queue.launches().hash({&in, &out}, messages.size());
    queue.queue().finish();
    const std::uint64_t blocks = queue.launches().blocks();
    EXPECT_GE(blocks, text / 16 + sizes.size());
    EXPECT_LE(static_cast<double>(blocks), 1.02 * static_cast<double>(text / 16))
        << "segments of " << sizes[0];
  }
}

// EntryLauncher::copy_in() launches this where the device can read the memory of the host.
TEST_P(KernelsOnDevice, CopyWords) {
  const auto context = open_context({"opencl", {0}}, find_gpu_kernel(GetParam()));
  const std::unique_ptr<Queue> queue = context->device().make_queue();
  EntryLauncher launcher(*context, *queue);
  const Buffer text = support::pattern(8000);
  const Memory in = context->device().allocate(text.size());
  const Memory out = context->device().allocate(text.size());
  queue->upload(in, 0, text.data(), text.size());
  for (const std::size_t words : {1U, 255U, 1999U}) {
    for (const std::uint32_t groups : {1U, 3U}) {
      queue->clear(out, 0, out.bytes());
      Grid grid;
      grid.threads = context->variant().group_threads;
      grid.groups = groups;
      EntryArguments arguments;
      arguments.in = &in;
      arguments.out = arguments.messages = arguments.scratch = arguments.key.keys = &out;
      arguments.tiles = words;
      launcher.launch("copy_words", arguments, grid);
      Buffer copied(text.size());
      queue->download(copied.data(), out, 0, copied.size());
      queue->finish();
      Buffer expected = text;
      std::fill(expected.begin() + static_cast<std::ptrdiff_t>(4 * words), expected.end(),
                std::uint8_t{0});
      EXPECT_EQ(support::difference(copied, expected), "") << words << " words";
    }
  }
}

PARAES_FOR_EACH_GPU_KERNEL(, KernelsOnDevice);

class HashTablesOnDevice : public testing::Test {
 protected:
  void SetUp() override { PARAES_NEEDS_DEVICE("opencl:0"); }

  static constexpr std::size_t segment_bytes = 8192;  // with tables
  static constexpr std::uint32_t segments = 40;

  // How often `ghash` builds tables for segments of `keys` keys, those of the same key
  // consecutive. The input, which it does not read when encrypting, has a counter for each thread.
  static unsigned built(const std::shared_ptr<DeviceContext>& context, unsigned keys) {
    const std::size_t text = segments * segment_bytes;
    Memory in = context->device().allocate(text);
    Memory out = context->device().allocate(text + 16 * segments);
    std::vector<std::unique_ptr<KeyMaterial>> materials;
    for (unsigned k = 0; k < keys; ++k) {
      materials.push_back(
          detail::make_key_material(support::make_key(16, k), 1, true, KeyExpansion::host));
    }
    CallerQueues queues(context, materials);
    CallerQueue& queue = queues.on_own();
    queue.queue().clear(in, 0, in.bytes());
    const Buffer j0 = support::pattern(16);
    std::vector<paraes_message> messages;
    for (std::uint32_t i = 0; i < segments; ++i) {
      const std::uint64_t at = i * segment_bytes;
      messages.push_back(make_message(at, at, segment_bytes, j0.data()));
      messages.back().key = i * keys / segments;
      messages.back().tag = text + 16 * i;
    }
    queue.launches().run("gcm_ctr", {&in, &out}, messages);
    queue.launches().hash({&in, &out}, segments);
    std::vector<std::uint32_t> counts(text / 4);
    queue.queue().download(counts.data(), in, 0, text);
    queue.queue().finish();
    unsigned sum = 0;
    for (const std::uint32_t count : counts) sum += count;
    const unsigned threads = context->variant().hash_threads;
    EXPECT_EQ(sum % threads, 0U);
    return sum / threads;
  }
};

// Few threads hash a message if that keeps all processors busy, and if neighbours have the same
// key.
TEST(HashLanes, AreFewForManyMessagesOfAKey) {
  constexpr std::uint64_t processors = h200_processors;
  std::vector<paraes_message> messages(96 * processors);
  const auto lanes = [&](std::size_t count, std::uint64_t of = h200_processors,
                         unsigned threads = 256, bool tensors = false) {
    const unsigned groups = tensors ? 4 : 3;
    return hash_lanes(of, std::span(messages).first(count), threads, groups, tensors);
  };
  // A group hashes 32 messages at once, and a processor holds three groups.
  EXPECT_EQ(lanes(96 * processors), 8U);
  EXPECT_EQ(lanes(96 * processors - 1), 16U);
  EXPECT_EQ(lanes(48 * processors), 16U);
  EXPECT_EQ(lanes(48 * processors - 1), 32U);
  EXPECT_EQ(lanes(8 * processors), 32U);
  EXPECT_EQ(lanes(8 * processors - 1), 256U);
  EXPECT_EQ(lanes(8, 1), 32U);
  EXPECT_EQ(lanes(4, 1, 128), 32U);
  EXPECT_EQ(lanes(0, 1), 256U);
  // Tensor cores take at least 16, and leave room for four groups.
  EXPECT_EQ(lanes(96 * processors, processors, 256, true), 16U);
  EXPECT_EQ(lanes(64 * processors, processors, 256, true), 16U);
  EXPECT_EQ(lanes(64 * processors - 1, processors, 256, true), 32U);
  // Eight neighbours of each key, and then one that is alone.
  for (std::size_t i = 0; i < messages.size(); ++i) {
    messages[i].key = static_cast<std::uint32_t>(i / 8);
  }
  EXPECT_EQ(lanes(8 * processors), 32U);
  EXPECT_EQ(lanes(96 * processors), 32U);
  messages[1].key = 7;
  EXPECT_EQ(lanes(8 * processors), 256U);
}

TEST_F(HashTablesOnDevice, AreBuiltOnceForEachGroupAndKey) {
  const ProgramFolder folder;
  {
    const auto context = open_context({"opencl", {0}}, find_gpu_kernel("ttable-simple"));
    const std::string count =
        "#define PARAES_ON_TABLES_BUILT(job) \\\n"
        "  ++((PARAES_GLOBAL paraes_u32*)(job)->in)[PARAES_HASH_THREADS * (job)->group + "
        "(job)->thread]\n";
    Device& device = context->device();
    folder.add(device, context->variant(), count);
    folder.add(device, for_many_keys(context->variant()), count);
  }
  const auto context = open_context({"opencl", {0}}, find_gpu_kernel("ttable-simple"));
  const unsigned processors = std::max(context->info().processors, 1U);
  const unsigned threads = context->variant().hash_threads;
  const std::vector<paraes_message> messages(segments);
  const unsigned at_once =
      threads / hash_lanes(processors, messages, threads, PARAES_HASH_GROUPS, false);
  const unsigned groups =
      std::min((segments + at_once - 1) / at_once, PARAES_HASH_GROUPS * processors);
  EXPECT_EQ(built(context, 1), groups);
  const unsigned keys = 5;
  const unsigned several = built(context, keys);
  EXPECT_GE(several, keys);
  EXPECT_LT(several, groups + keys);
}

}  // namespace
}  // namespace paraes::gpu
