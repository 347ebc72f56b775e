#include "src/core/locked_memory.hpp"

#include <sys/mman.h>

#include <bitset>
#include <cstdlib>
#include <mutex>

#include "paraes/secret.hpp"

namespace paraes {
namespace {

// Enough for the keys of a process, and little compared with the usual limit on locked memory (8
// MiB; 64 KiB on old systems, where the arena stays unlocked).
constexpr std::size_t arena_bytes = std::size_t{256} << 10;
constexpr std::size_t chunk_bytes = 64;
constexpr std::size_t chunks = arena_bytes / chunk_bytes;

std::size_t round_up(std::size_t bytes, std::size_t to) { return (bytes + to - 1) / to * to; }

// The system may refuse to lock the memory or to exclude it from core dumps. It is used all the
// same.
void* map_locked(std::size_t bytes) {
  void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) throw std::bad_alloc();
  static_cast<void>(mlock(memory, bytes));
#ifdef MADV_DONTDUMP
  static_cast<void>(madvise(memory, bytes, MADV_DONTDUMP));
#endif
  return memory;
}

class LockedArena {
 public:
  LockedArena() : base_(static_cast<std::uint8_t*>(map_locked(arena_bytes))) {}

  // `count` adjacent chunks; nullptr if there are none.
  void* allocate(std::size_t count) {
    const std::lock_guard lock(mutex_);
    std::size_t adjacent = 0;
    for (std::size_t i = 0; i < chunks; ++i) {
      adjacent = used_[i] ? 0 : adjacent + 1;
      if (adjacent < count) continue;
      const std::size_t first = i + 1 - count;
      for (std::size_t k = first; k <= i; ++k) used_[k] = true;
      return base_ + first * chunk_bytes;
    }
    return nullptr;
  }

  void release(void* memory, std::size_t count) {
    const std::lock_guard lock(mutex_);
    const std::size_t first =
        static_cast<std::size_t>(static_cast<std::uint8_t*>(memory) - base_) / chunk_bytes;
    for (std::size_t k = first; k < first + count; ++k) used_[k] = false;
  }

  [[nodiscard]] bool owns(const void* memory) const noexcept {
    const auto address = reinterpret_cast<std::uintptr_t>(memory);
    const auto base = reinterpret_cast<std::uintptr_t>(base_);
    return address >= base && address < base + arena_bytes;
  }

  [[nodiscard]] std::span<const std::uint8_t> span() const { return {base_, arena_bytes}; }

 private:
  std::mutex mutex_;
  std::uint8_t* base_;
  std::bitset<chunks> used_;
};

// Never destroyed: keys in static objects may outlive it.
LockedArena& arena() {
  static auto* const the_arena = new LockedArena;
  return *the_arena;
}

}  // namespace

void* allocate_locked(std::size_t bytes) {
  const std::size_t count = round_up(bytes, chunk_bytes) / chunk_bytes;
  if (count <= chunks) {
    if (void* memory = arena().allocate(count == 0 ? 1 : count); memory != nullptr) return memory;
  }
  return map_locked(round_up(bytes, 4096));
}

void free_locked(void* memory, std::size_t bytes) noexcept {
  if (memory == nullptr) return;
  secure_zero(memory, bytes);
  if (arena().owns(memory)) {
    const std::size_t count = round_up(bytes, chunk_bytes) / chunk_bytes;
    arena().release(memory, count == 0 ? 1 : count);
  } else {
    munmap(memory, round_up(bytes, 4096));
  }
}

std::span<const std::uint8_t> locked_arena() { return arena().span(); }

}  // namespace paraes
