// Memory for keys: its blocks, where they lie, what is locked, and forks.

#include "src/core/locked_memory.hpp"

#include <gtest/gtest.h>
#include <linux/capability.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "paraes/secret.hpp"
#include "tests/support/environment.hpp"
#include "tests/support/in_child.hpp"
#include "tests/support/kernels.hpp"
#include "tests/support/mappings.hpp"
#include "tests/support/systems.hpp"

namespace paraes {
namespace {

constexpr std::size_t key_bytes = 7500;  // about the size of a GcmKey

std::uintptr_t address_of(const SecretBytes& block) {
  return reinterpret_cast<std::uintptr_t>(block.data());
}

std::size_t mappings() {
  std::ifstream maps("/proc/self/maps");
  std::string line;
  std::size_t lines = 0;
  while (std::getline(maps, line)) ++lines;
  return lines;
}

// Whether all mappings that `block` lies in have the flag, such as "lo" for locked. False if the
// system does not list the flags.
bool has_flag(const SecretBytes& block, const std::string& flag) {
  const auto all = support::mapping_flags(block.data(), block.size());
  return !all.empty() && std::all_of(all.begin(), all.end(), [&](const std::string& flags) {
    return flags.find(" " + flag + " ") != std::string::npos;
  });
}

// Sets the limit on locked memory and gives up the right to exceed it.
bool limit_locked_memory(rlim_t bytes) {
  __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct sets[2] = {};
  if (syscall(SYS_capget, &header, sets) != 0) return false;
  sets[0].effective &= ~(1U << CAP_IPC_LOCK);
  sets[0].permitted &= ~(1U << CAP_IPC_LOCK);
  if (syscall(SYS_capset, &header, sets) != 0) return false;
  const rlimit limit = {bytes, bytes};
  return setrlimit(RLIMIT_MEMLOCK, &limit) == 0;
}

std::vector<SecretBytes> keys(std::size_t count) {
  std::vector<SecretBytes> blocks;
  blocks.reserve(count);
  for (std::size_t i = 0; i < count; ++i) blocks.emplace_back(key_bytes);
  return blocks;
}

TEST(LockedMemory, IsLockedAndExcludedFromCoreDumps) {  // excluded on Linux only
  const SecretBytes block(32);
  const SecretBytes large(1 << 20);
  if (!has_flag(block, "rd"))
    GTEST_SKIP() << "/proc/self/smaps does not list the flags of mappings";
  if (support::is_emulated()) {
    support::report("not checked: the emulator ignores MADV_DONTDUMP");
  } else {
    EXPECT_EQ(has_flag(block, "dd"), !support::posix_only());
    EXPECT_EQ(has_flag(large, "dd"), !support::posix_only());
  }
  rlimit limit = {};
  ASSERT_EQ(getrlimit(RLIMIT_MEMLOCK, &limit), 0);
  if (limit.rlim_cur < std::size_t{4} << 20) GTEST_SKIP() << "RLIMIT_MEMLOCK is below 4 MiB";
  EXPECT_TRUE(has_flag(block, "lo"));
  EXPECT_TRUE(has_flag(large, "lo"));
}

TEST(LockedMemory, LimitBelowAnArena_StillLocksTheKeysThatFit) {
  // In a child, which inherits memory, but no locks.
  const SecretBytes before(32);
  const auto child = [] {
    if (!limit_locked_memory(64 << 10)) std::exit(2);
    const auto few = keys(6);
    for (const SecretBytes& key : few) {
      if (!has_flag(key, "lo")) std::exit(3);
    }
    const auto many = keys(100);
    if (support::is_emulated()) std::exit(0);  // the emulator ignores MADV_DONTDUMP
    std::exit(std::any_of(many.begin(), many.end(),
                          [](const SecretBytes& key) {
                            return has_flag(key, "dd") == support::posix_only();
                          })
                  ? 4
                  : 0);
  };
  EXPECT_EXIT(child(), testing::ExitedWithCode(0), "");
}

// vm.max_map_count limits the mappings of a process, often to 65,530. Keys that all begin at pages
// compete for the same sets of the cache.
TEST(LockedMemory, ManyKeys_NeedFewMappingsAndDoNotAllBeginAtPages) {
  const std::size_t before = mappings();
  const auto blocks = keys(2000);
  EXPECT_LE(mappings(), before + 300);
  const auto at_pages = std::count_if(blocks.begin(), blocks.end(), [](const SecretBytes& block) {
    return address_of(block) % 4096 == 0;
  });
  EXPECT_LE(at_pages, 200);
}

TEST(LockedMemory, FreedArenasAreUnmappedExceptOne) {
  const std::size_t before = locked_arenas().size();
  auto blocks = keys(2000);
  EXPECT_GT(locked_arenas().size(), before + 40);
  // From the middle outwards, so that arenas become empty in no simple order.
  for (std::size_t i = 0; i < 1000; ++i) {
    blocks[1000 + i] = SecretBytes();
    blocks[999 - i] = SecretBytes();
  }
  EXPECT_LE(locked_arenas().size(), before + 1);
  ASSERT_FALSE(locked_arenas().empty());
  const auto kept = locked_arenas().front().data();
  for (int i = 0; i < 3; ++i) {
    const SecretBytes block(key_bytes);
    EXPECT_EQ(locked_arenas().front().data(), kept) << "opening and closing a key maps memory";
  }
}

TEST(LockedMemory, FreedRoom_IsUsedAgain) {
  auto blocks = keys(2000);
  const std::size_t before = locked_arenas().size();
  for (std::size_t i = 0; i < blocks.size(); i += 2) blocks[i] = SecretBytes();
  const auto more = keys(1000);
  EXPECT_LE(locked_arenas().size(), before);
}

TEST(LockedMemory, TruncatedSecretThatIsReplaced_GivesAllItsMemoryBack) {
  const std::size_t before = locked_arenas().size();
  SecretBytes secret;
  for (int i = 0; i < 100; ++i) {
    secret = SecretBytes(32768);
    secret.truncate(32);
  }
  EXPECT_LE(locked_arenas().size(), before + 1);
}

TEST(LockedMemory, BlockOfAnySize_IsAlignedAndZero) {
  std::vector<SecretBytes> blocks;
  for (const std::size_t size : {1, 63, 64, 65, 4096, 65536, 65537, 262144, 262145, 1 << 20}) {
    SecretBytes block(size);
    EXPECT_EQ(address_of(block) % 64, 0U) << size;
    EXPECT_EQ(std::count(block.span().begin(), block.span().end(), 0),
              static_cast<std::ptrdiff_t>(size));
    std::memset(block.data(), 0x5a, size);
    blocks.push_back(std::move(block));
  }
  for (const SecretBytes& block : blocks) {
    EXPECT_EQ(std::count(block.span().begin(), block.span().end(), 0x5a),
              static_cast<std::ptrdiff_t>(block.size()));
  }
}

TEST(LockedMemory, ImpossibleSize_ThrowsBadAlloc) {
  EXPECT_THROW(static_cast<void>(allocate_locked(SIZE_MAX / 2)), std::bad_alloc);
  EXPECT_THROW(static_cast<void>(allocate_locked(SIZE_MAX)), std::bad_alloc);
}

// Allocates and frees blocks of random sizes in random order. Returns whether each was zero at
// first and kept its bytes until it was freed.
bool blocks_keep_their_bytes(unsigned seed) {
  std::mt19937 random(seed);
  std::vector<SecretBytes> blocks(200);
  bool good = true;
  const auto all = [](const SecretBytes& block, std::uint8_t byte) {
    return std::all_of(block.span().begin(), block.span().end(),
                       [byte](std::uint8_t b) { return b == byte; });
  };
  for (int i = 0; i < 20000; ++i) {
    const std::size_t at = random() % blocks.size();
    const auto fill = static_cast<std::uint8_t>(at + seed + 1);
    if (!blocks[at].empty()) {
      good = good && all(blocks[at], fill);
      blocks[at] = SecretBytes();
      continue;
    }
    const std::size_t limits[] = {64, 3000, 12000, 70000};
    SecretBytes block(1 + random() % limits[random() % 4]);
    good = good && address_of(block) % 64 == 0 && all(block, 0);
    std::memset(block.data(), fill, block.size());
    blocks[at] = std::move(block);
  }
  return good;
}

// Takes one small block at a time, so that threads meet in the allocator.
bool small_blocks_keep_their_bytes(unsigned seed) {
  bool good = true;
  for (int i = 0; i < 200000; ++i) {
    SecretBytes block(1);
    good = good && block.data()[0] == 0;
    volatile std::uint8_t* const byte = block.data();
    *byte = static_cast<std::uint8_t>(seed + 1);
    good = good && *byte == seed + 1;
  }
  return good;
}

TEST(LockedMemory, ThreadsThatAllocateAndFree_GetBlocksOfTheirOwn) {
  std::atomic<int> good = 0;
  std::vector<std::thread> threads;
  for (unsigned seed = 0; seed < 4; ++seed) {
    threads.emplace_back([&good, seed] {
      good += small_blocks_keep_their_bytes(seed) && blocks_keep_their_bytes(50 * seed);
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(good, 4);
}

TEST(LockedMemory, FreedBlocks_AreZero) {
  const auto nonzero = [] {
    std::size_t bytes = 0;
    for (const auto arena : locked_arenas()) {
      bytes += arena.size() - static_cast<std::size_t>(std::count(arena.begin(), arena.end(), 0));
    }
    return bytes;
  };
  const std::size_t before = nonzero();
  std::vector<SecretBytes> blocks;
  const SecretBytes between(32);  // keeps an arena that would otherwise be unmapped
  for (std::size_t i = 1; i <= 300; ++i) {
    blocks.emplace_back(i * 7);
    std::memset(blocks.back().data(), 0xff, blocks.back().size());
  }
  EXPECT_EQ(nonzero(), before + 7 * 300 * 301 / 2) << "the blocks are not in the arenas";
  blocks.clear();
  EXPECT_EQ(nonzero(), before);
}

TEST(LockedMemory, ForkWhileAnotherThreadAllocates_LeavesTheChildAble) {
  std::atomic<bool> stop = false;
  // It must not allocate other memory: some versions of AddressSanitizer do not release their locks
  // in a forked child. One arena has room for its blocks.
  std::thread other([&stop] {
    while (!stop) free_locked(allocate_locked(key_bytes), key_bytes);
  });
  const SecretBytes before(32);
  bool able = true;
  for (int i = 0; i < 300 && able; ++i) {
    able = support::in_child([] {
      alarm(20);
      free_locked(allocate_locked(key_bytes), key_bytes);
      return true;
    });
  }
  stop = true;
  other.join();
  EXPECT_TRUE(able);
}

}  // namespace
}  // namespace paraes
