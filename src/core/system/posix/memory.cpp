#include "src/core/system/memory.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <limits>
#include <new>
#include <string>

#include "src/core/system/process.hpp"

namespace paraes::system {
namespace {

std::string pattern_for(const char* name) {
  const char* const folder = has_more_rights_than_caller() ? nullptr : std::getenv("TMPDIR");
  std::string pattern = folder != nullptr && *folder != '\0' ? folder : "/tmp";
  return pattern.append(1, '/').append(name).append("-XXXXXX");
}

}  // namespace

void exclude_from_core_dumps(void* /*memory*/, std::size_t /*bytes*/) noexcept {}

bool lock_pages(const void* memory, std::size_t bytes) noexcept {
  return mlock(memory, bytes) == 0;
}

void request_huge_pages(void* /*memory*/, std::size_t /*bytes*/) noexcept {}

void collapse_to_huge_pages(void* /*memory*/, std::size_t /*bytes*/) noexcept {}

std::shared_ptr<std::uint8_t> map_huge_pages(std::size_t /*bytes*/) { return nullptr; }

// A temporary file whose name is removed at once. shm_open would not do: on macOS such an object
// can be mapped, but not read or written.
int open_memory_file(const char* name) noexcept try {
  std::string path = pattern_for(name);
  const int file = mkstemp(path.data());
  if (file < 0) return -1;
  unlink(path.c_str());
  static_cast<void>(fcntl(file, F_SETFD, FD_CLOEXEC));
  return file;
} catch (const std::bad_alloc&) {
  errno = ENOMEM;
  return -1;
}

// All memory, used or not.
std::uint64_t available_memory() {
  const long pages = sysconf(_SC_PHYS_PAGES);
  const long page = sysconf(_SC_PAGESIZE);
  if (pages <= 0 || page <= 0) return std::numeric_limits<std::uint64_t>::max();
  return static_cast<std::uint64_t>(pages) * static_cast<std::uint64_t>(page);
}

}  // namespace paraes::system
