#include "src/core/locked_memory.hpp"

#include <pthread.h>
#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <bit>
#include <functional>
#include <memory>
#include <mutex>

#include "paraes/secret.hpp"
#include "src/core/system/memory.hpp"

namespace paraes {
namespace {

// Has room for the keys of most processes, and is little compared with the usual limit on locked
// memory (8 MiB; 64 KiB on old systems).
constexpr std::size_t arena_bytes = std::size_t{256} << 10;
constexpr std::size_t chunk_bytes = 64;
constexpr std::size_t chunks = arena_bytes / chunk_bytes;
constexpr std::size_t page_bytes = 4096;  // where pages are larger, nothing depends on it
constexpr std::size_t page_chunks = page_bytes / chunk_bytes;

// Larger blocks get mappings of their own. In an arena they could leave a large part unused, which
// counts against the limit as well.
constexpr std::size_t max_block_bytes = arena_bytes / 4;

std::size_t round_up(std::size_t bytes, std::size_t to) { return (bytes + to - 1) / to * to; }

std::size_t chunks_of(std::size_t bytes) {
  return std::max<std::size_t>(round_up(bytes, chunk_bytes) / chunk_bytes, 1);
}

// The system may refuse to exclude the memory from core dumps, or to lock it below. It is used all
// the same.
std::uint8_t* map_memory(std::size_t bytes) {
  void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) throw std::bad_alloc();
  system::exclude_from_core_dumps(memory, bytes);
  return static_cast<std::uint8_t*>(memory);
}

// `count` bits from bit `first` on; 1 to 64 bits.
std::uint64_t bits(std::size_t first, std::size_t count) {
  return ~std::uint64_t{0} >> (64 - count) << first;
}

// The chunks of an arena that are used, a bit each.
class ChunkMap {
 public:
  // The first chunk in [from, end) that is free; `end` if there is none.
  [[nodiscard]] std::size_t next_free(std::size_t from, std::size_t end) const noexcept {
    return next(from, end, ~std::uint64_t{0});
  }
  // Like next_free, for a chunk that is used.
  [[nodiscard]] std::size_t next_used(std::size_t from, std::size_t end) const noexcept {
    return next(from, end, 0);
  }

  // Makes free chunks used, and used ones free.
  void flip(std::size_t first, std::size_t count) noexcept {
    const std::size_t end = first + count;
    while (first < end) {
      const std::size_t n = std::min(end - first, 64 - first % 64);
      bits_[first / 64] ^= bits(first % 64, n);
      first += n;
    }
  }

 private:
  // The first bit in [from, end) that differs from those of `passed`.
  [[nodiscard]] std::size_t next(std::size_t from, std::size_t end,
                                 std::uint64_t passed) const noexcept {
    while (from < end) {
      const std::uint64_t word = (bits_[from / 64] ^ passed) >> from % 64;
      if (word != 0) return std::min(from + static_cast<std::size_t>(std::countr_zero(word)), end);
      from = (from / 64 + 1) * 64;
    }
    return end;
  }

  std::array<std::uint64_t, chunks / 64> bits_ = {};
};

class Arena {
 public:
  Arena()
      : chunk_map_(std::make_unique<ChunkMap>()),
        base_(map_memory(arena_bytes)),
        locked_pages_(system::lock_pages(base_.get(), arena_bytes) ? bits(0, pages) : 0) {}

  // The lowest `count` adjacent free chunks; nullptr if there are none.
  void* allocate(std::size_t count) noexcept {
    if (count > longest_free_) return nullptr;
    first_free_ = chunk_map_->next_free(first_free_, chunks);
    std::size_t longest = 0;
    for (std::size_t first = first_free_; first < chunks;) {
      const std::size_t end = chunk_map_->next_used(first, std::min(first + count, chunks));
      if (end - first == count) return take(first, count);
      longest = std::max(longest, end - first);
      first = chunk_map_->next_free(end, chunks);
    }
    longest_free_ = longest;
    return nullptr;
  }

  void release(const void* memory, std::size_t count) noexcept {
    const auto first =
        static_cast<std::size_t>(static_cast<const std::uint8_t*>(memory) - base()) / chunk_bytes;
    chunk_map_->flip(first, count);
    used_ -= count;
    first_free_ = std::min(first_free_, first);
    longest_free_ = chunks;
  }

  void forget_locks() noexcept { locked_pages_ = 0; }

  [[nodiscard]] const std::uint8_t* base() const noexcept { return base_.get(); }
  [[nodiscard]] bool empty() const noexcept { return used_ == 0; }

 private:
  static constexpr std::size_t pages = arena_bytes / page_bytes;
  static_assert(pages <= 64);

  struct Unmap {
    void operator()(std::uint8_t* memory) const noexcept { munmap(memory, arena_bytes); }
  };

  void* take(std::size_t first, std::size_t count) noexcept {
    chunk_map_->flip(first, count);
    used_ += count;
    if (first == first_free_) first_free_ += count;
    std::uint8_t* memory = base_.get() + first * chunk_bytes;
    // The limit may have room for the pages of this block, though it had none for the arena.
    const std::size_t page = first / page_chunks;
    const std::uint64_t needed = bits(page, (first + count - 1) / page_chunks - page + 1);
    if ((needed & ~locked_pages_) != 0 && system::lock_pages(memory, count * chunk_bytes)) {
      locked_pages_ |= needed;
    }
    return memory;
  }

  std::unique_ptr<ChunkMap> chunk_map_;
  std::unique_ptr<std::uint8_t[], Unmap> base_;
  std::size_t used_ = 0;
  std::size_t first_free_ = 0;         // no chunk before it is free
  std::size_t longest_free_ = chunks;  // no more adjacent chunks than this are free
  std::uint64_t locked_pages_;         // a bit each
};

class Arenas {
 public:
  void* allocate(std::size_t count) {
    const std::lock_guard lock(mutex_);
    if (hint_ < arenas_.size()) {
      if (void* memory = allocate_in(hint_, count); memory != nullptr) return memory;
    }
    for (std::size_t i = 0; i < arenas_.size(); ++i) {
      if (void* memory = allocate_in(i, count); memory != nullptr) return memory;
    }
    Arena arena;
    const auto at = position(arena.base());
    const auto index = static_cast<std::size_t>(at - arenas_.begin());
    arenas_.insert(at, std::move(arena));
    ++empty_;
    return allocate_in(index, count);
  }

  void release(const void* memory, std::size_t count) noexcept {
    const std::lock_guard lock(mutex_);
    const auto arena = position(memory);
    arena->release(memory, count);
    hint_ = std::min(hint_, static_cast<std::size_t>(arena - arenas_.begin()));
    if (!arena->empty()) return;
    // One empty arena is kept, so that opening and closing a key in a loop does not map memory.
    if (empty_ == 0) {
      ++empty_;
    } else {
      arenas_.erase(arena);
    }
  }

  [[nodiscard]] std::vector<std::span<const std::uint8_t>> spans() {
    const std::lock_guard lock(mutex_);
    std::vector<std::span<const std::uint8_t>> spans;
    for (const Arena& arena : arenas_) spans.emplace_back(arena.base(), arena_bytes);
    return spans;
  }

  void before_fork() { mutex_.lock(); }
  void after_fork() { mutex_.unlock(); }
  void in_child() {
    for (Arena& arena : arenas_) arena.forget_locks();  // a child inherits none
    mutex_.unlock();
  }

 private:
  // The arena that `memory` lies in, or the place for one that begins there.
  [[nodiscard]] std::vector<Arena>::iterator position(const void* memory) noexcept {
    return std::partition_point(arenas_.begin(), arenas_.end(), [memory](const Arena& arena) {
      return std::greater<const void*>()(arena.base(), memory);
    });
  }

  void* allocate_in(std::size_t index, std::size_t count) noexcept {
    const bool was_empty = arenas_[index].empty();
    void* memory = arenas_[index].allocate(count);
    if (memory == nullptr) return nullptr;
    if (was_empty) --empty_;
    hint_ = index;
    return memory;
  }

  std::mutex mutex_;
  // By address, the highest first. Systems map memory downwards, so that the oldest arenas, which
  // are the likeliest to be locked, come first and are used first.
  std::vector<Arena> arenas_;
  std::size_t hint_ = 0;   // the arena to try first
  std::size_t empty_ = 0;  // how many arenas are empty: 0 or 1
};

// Never destroyed: keys in static objects may outlive it.
Arenas& arenas() {
  static auto* const the_arenas = new Arenas;
  return *the_arenas;
}

// A thread that allocates during a fork would leave the mutex locked in the child for ever.
[[maybe_unused]] const int handles_forks = pthread_atfork(
    [] { arenas().before_fork(); }, [] { arenas().after_fork(); }, [] { arenas().in_child(); });

}  // namespace

void* allocate_locked(std::size_t bytes) {
  if (bytes <= max_block_bytes) return arenas().allocate(chunks_of(bytes));
  const std::size_t mapped = round_up(bytes, page_bytes);  // 0 on overflow, which cannot be mapped
  void* memory = map_memory(mapped);
  static_cast<void>(system::lock_pages(memory, mapped));
  return memory;
}

void free_locked(void* memory, std::size_t bytes) noexcept {
  if (memory == nullptr) return;
  secure_zero(memory, bytes);
  if (bytes <= max_block_bytes) {
    arenas().release(memory, chunks_of(bytes));
  } else {
    munmap(memory, round_up(bytes, page_bytes));
  }
}

std::vector<std::span<const std::uint8_t>> locked_arenas() { return arenas().spans(); }

}  // namespace paraes
