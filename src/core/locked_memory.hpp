// Memory for keys. It is locked (never swapped out) and excluded from core dumps where the system
// allows, and is overwritten with zeros when it is freed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <new>
#include <span>
#include <vector>

namespace paraes {

// `bytes` bytes, all zero, aligned to 64. Throws std::bad_alloc. Thread-safe, as free_locked is.
[[nodiscard]] void* allocate_locked(std::size_t bytes);
void free_locked(void* memory, std::size_t bytes) noexcept;

// Objects of derived classes are in locked memory if they are created with new.
struct InLockedMemory {
  static void* operator new(std::size_t bytes) { return allocate_locked(bytes); }
  static void* operator new(std::size_t bytes, std::align_val_t) { return allocate_locked(bytes); }
  static void operator delete(void* memory, std::size_t bytes) noexcept {
    free_locked(memory, bytes);
  }
  static void operator delete(void* memory, std::size_t bytes, std::align_val_t) noexcept {
    free_locked(memory, bytes);
  }
};

// The memory that allocations of up to 64 KiB come from, for tests that search it for keys.
[[nodiscard]] std::vector<std::span<const std::uint8_t>> locked_arenas();

}  // namespace paraes
