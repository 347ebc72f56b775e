#include "tests/support/freed_memory.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>
#include <stdexcept>

#include "src/core/locked_memory.hpp"

namespace paraes::support {

bool watching = false;
std::size_t blocks_freed = 0;
std::size_t leaks = 0;

}  // namespace paraes::support

namespace {

using paraes::support::blocks_freed;
using paraes::support::leaks;
using paraes::support::watching;

constexpr std::size_t max_needles = 64;
std::uint8_t needles[max_needles][16];
std::size_t needle_count = 0;

// The sizes of the block and of the bytes in front of it are stored directly before the block.
constexpr std::size_t header = 64;

void* allocate(std::size_t bytes, std::size_t alignment) {
  const std::size_t front = alignment > header ? alignment : header;
  const std::size_t whole = (front + bytes + front - 1) / front * front;
  auto* base = static_cast<std::uint8_t*>(std::aligned_alloc(front, whole));
  if (base == nullptr) throw std::bad_alloc();
  std::memset(base, 0, whole);  // what an earlier owner left is no leak of the next one
  std::memcpy(base + front - 2 * sizeof(std::size_t), &bytes, sizeof bytes);
  std::memcpy(base + front - sizeof(std::size_t), &front, sizeof front);
  return base + front;
}

void release(void* pointer) noexcept {
  if (pointer == nullptr) return;
  auto* data = static_cast<std::uint8_t*>(pointer);
  std::size_t bytes;
  std::size_t front;
  std::memcpy(&bytes, data - 2 * sizeof(std::size_t), sizeof bytes);
  std::memcpy(&front, data - sizeof(std::size_t), sizeof front);
  if (watching) {
    ++blocks_freed;
    for (std::size_t i = 0; i < needle_count; ++i) {
      if (memmem(data, bytes, needles[i], 16) != nullptr) {
        ++leaks;
        break;
      }
    }
  }
  std::free(data - front);
}

}  // namespace

void* operator new(std::size_t bytes) { return allocate(bytes, 16); }
void* operator new[](std::size_t bytes) { return allocate(bytes, 16); }
void* operator new(std::size_t bytes, std::align_val_t a) {
  return allocate(bytes, static_cast<std::size_t>(a));
}
void* operator new[](std::size_t bytes, std::align_val_t a) {
  return allocate(bytes, static_cast<std::size_t>(a));
}
void operator delete(void* p) noexcept { release(p); }
void operator delete[](void* p) noexcept { release(p); }
void operator delete(void* p, std::size_t) noexcept { release(p); }
void operator delete[](void* p, std::size_t) noexcept { release(p); }
void operator delete(void* p, std::align_val_t) noexcept { release(p); }
void operator delete[](void* p, std::align_val_t) noexcept { release(p); }
void operator delete(void* p, std::size_t, std::align_val_t) noexcept { release(p); }
void operator delete[](void* p, std::size_t, std::align_val_t) noexcept { release(p); }

namespace paraes::support {

void forget_needles() {
  needle_count = 0;
  leaks = 0;
  blocks_freed = 0;
}

void add_needle(const std::uint8_t* bytes) {
  if (needle_count == max_needles) throw std::length_error("too many needles");
  std::memcpy(needles[needle_count++], bytes, sizeof needles[0]);
}

std::size_t needles_in_arena() {
  const auto arenas = locked_arenas();
  std::size_t found = 0;
  for (std::size_t i = 0; i < needle_count; ++i) {
    found += std::any_of(arenas.begin(), arenas.end(), [i](const auto& arena) {
      return memmem(arena.data(), arena.size(), needles[i], sizeof needles[i]) != nullptr;
    });
  }
  return found;
}

}  // namespace paraes::support
