#include "src/core/system/memory.hpp"

#include <sys/mman.h>

#include <fstream>
#include <limits>
#include <string>

namespace paraes::system {
namespace {

constexpr std::size_t page = 4096;

// Older C libraries do not name it; Linux has it from 6.1 on.
constexpr int madv_collapse = 25;

// Whether the first byte of `memory` and the last one are in one huge page: if so, writing to one
// gives the process the other.
bool is_huge(std::uint8_t* memory) {
  *static_cast<volatile std::uint8_t*>(memory) = 0;
  unsigned char resident = 0;
  return mincore(memory + huge_page - page, page, &resident) == 0 && (resident & 1U) != 0;
}

}  // namespace

void exclude_from_core_dumps(void* memory, std::size_t bytes) noexcept {
  static_cast<void>(madvise(memory, bytes, MADV_DONTDUMP));
}

bool lock_pages(const void* memory, std::size_t bytes) noexcept {
  return mlock2(memory, bytes, MLOCK_ONFAULT) == 0 || mlock(memory, bytes) == 0;
}

void request_huge_pages(void* memory, std::size_t bytes) noexcept {
  static_cast<void>(madvise(memory, bytes, MADV_HUGEPAGE));
}

void collapse_to_huge_pages(void* memory, std::size_t bytes) noexcept {
  static_cast<void>(madvise(memory, bytes, madv_collapse));
}

std::shared_ptr<std::uint8_t> map_huge_pages(std::size_t bytes) {
  void* const mapped =
      mmap(nullptr, bytes + huge_page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapped == MAP_FAILED) return nullptr;
  auto* const all = static_cast<std::uint8_t*>(mapped);
  const auto address = reinterpret_cast<std::uintptr_t>(all);
  const std::size_t before = (huge_page - address % huge_page) % huge_page;
  if (before != 0) munmap(all, before);
  munmap(all + before + bytes, huge_page - before);
  std::shared_ptr<std::uint8_t> region(all + before,
                                       [bytes](std::uint8_t* data) { munmap(data, bytes); });
  if (madvise(region.get(), bytes, MADV_HUGEPAGE) == 0 && is_huge(region.get())) return region;
  return nullptr;
}

int open_memory_file(const char* name) noexcept { return memfd_create(name, MFD_CLOEXEC); }

std::uint64_t available_memory() {
  std::ifstream file("/proc/meminfo");
  std::string word;
  while (file >> word) {
    std::uint64_t kib = 0;
    if (word == "MemAvailable:" && file >> kib) return kib << 10;
  }
  return std::numeric_limits<std::uint64_t>::max();
}

}  // namespace paraes::system
