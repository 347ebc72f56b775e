// Memory for keys: never swapped out and never part of a core dump, where the system allows, and
// overwritten with zeros when it is given back.
#pragma once

#include <cstddef>
#include <cstdint>
#include <new>
#include <span>

namespace paraes {

// `bytes` bytes, all zero, aligned to 64. Throws std::bad_alloc. Any thread may call these.
[[nodiscard]] void* allocate_locked(std::size_t bytes);
void free_locked(void* memory, std::size_t bytes) noexcept;

// A class derived from this lives in locked memory when it is made with new.
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

// What most of it is cut from, for the tests, which look into it.
[[nodiscard]] std::span<const std::uint8_t> locked_arena();

}  // namespace paraes
