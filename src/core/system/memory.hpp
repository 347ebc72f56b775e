// Memory, as far as systems differ.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

namespace paraes::system {

constexpr std::size_t huge_page = std::size_t{2} << 20;

// Excludes mapped memory from core dumps, where the system can.
void exclude_from_core_dumps(void* memory, std::size_t bytes) noexcept;

// Keeps pages from being written to swap space. Locks pages when they are first used, where the
// system can: to lock them at once takes the time to fill all of them with zeros. Returns false if
// the system refuses.
[[nodiscard]] bool lock_pages(const void* memory, std::size_t bytes) noexcept;

// Asks for huge pages in memory that begins with a page. The system may ignore it.
void request_huge_pages(void* memory, std::size_t bytes) noexcept;
// Makes huge pages at once, if `memory` begins with one; this works for files in memory as well.
void collapse_to_huge_pages(void* memory, std::size_t bytes) noexcept;

// A mapping of `bytes` bytes, a multiple of a huge page, that consists of huge pages. nullptr if
// the system has none.
[[nodiscard]] std::shared_ptr<std::uint8_t> map_huge_pages(std::size_t bytes);

// Creates a file without a name, in memory where the system can. Returns its descriptor, which is
// closed on exec, or -1 with errno set. `name` is for those who look at the process.
[[nodiscard]] int open_memory_file(const char* name) noexcept;

// The memory available to programs, in bytes, or an upper bound.
[[nodiscard]] std::uint64_t available_memory();

}  // namespace paraes::system
