#include "src/core/system/processors.hpp"

#include <fcntl.h>
#include <linux/futex.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdio>
#include <string_view>

namespace paraes::system {
namespace {

using Word = std::atomic<std::uint32_t>;
static_assert(Word::is_always_lock_free && sizeof(Word) == sizeof(std::uint32_t));

using Text = std::array<char, 256>;

// The first line of a file in sysfs that describes a cache of processor 0; empty if there is none.
std::string_view property(int index, const char* name, Text& text) noexcept {
  std::array<char, 96> path{};
  static_cast<void>(std::snprintf(path.data(), path.size(),
                                  "/sys/devices/system/cpu/cpu0/cache/index%d/%s", index, name));
  const int file = open(path.data(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return {};
  const ssize_t length = read(file, text.data(), text.size());
  close(file);
  if (length <= 0) return {};
  std::string_view line(text.data(), static_cast<std::size_t>(length));
  return line.substr(0, line.find('\n'));
}

// Removes the number at the beginning of `text` and returns it; 0 if there is none.
std::uint64_t take_number(std::string_view& text) noexcept {
  std::uint64_t number = 0;
  const char* const begin = text.data();
  const auto end = std::from_chars(begin, begin + text.size(), number).ptr;
  text.remove_prefix(static_cast<std::size_t>(end - begin));
  return number;
}

std::uint64_t take_size(std::string_view text) noexcept {
  const std::uint64_t number = take_number(text);
  if (text.starts_with('K')) return number << 10;
  if (text.starts_with('M')) return number << 20;
  return number;
}

// The number of elements of a list such as 0-7,64-71.
unsigned count_list(std::string_view text) noexcept {
  std::uint64_t count = 0;
  while (!text.empty()) {
    const std::uint64_t first = take_number(text);
    std::uint64_t last = first;
    if (text.starts_with('-')) {
      text.remove_prefix(1);
      last = take_number(text);
    }
    if (last < first) break;
    count += last - first + 1;
    if (!text.starts_with(',')) break;
    text.remove_prefix(1);
  }
  return static_cast<unsigned>(std::clamp<std::uint64_t>(count, 1, 1U << 20));
}

}  // namespace

// Does not use sysconf(_SC_LEVEL3_CACHE_SIZE): glibc computes it from CPUID, and in a virtual
// machine it was twelve times the size that one core can use (glibc 2.36, Zen 5).
LastLevelCache find_last_level_cache() noexcept {
  LastLevelCache cache;
  std::uint64_t highest = 0;
  Text text;
  for (int index = 0; index < 16; ++index) {
    std::string_view level = property(index, "level", text);
    const std::uint64_t number = take_number(level);
    if (number <= highest || property(index, "type", text) == "Instruction") continue;
    const std::uint64_t bytes = take_size(property(index, "size", text));
    if (bytes == 0) continue;
    highest = number;
    cache.bytes = bytes;
    cache.processors = count_list(property(index, "shared_cpu_list", text));
  }
  const long online = sysconf(_SC_NPROCESSORS_ONLN);
  const auto processors = static_cast<unsigned>(std::clamp(online, 1L, 1L << 20));
  cache.count = std::max(1U, processors / cache.processors);
  return cache;
}

int available_cores() noexcept {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof set, &set) == 0) return std::max(1, CPU_COUNT(&set));
  return 1;
}

void sleep_while(const Word& word, std::uint32_t value) noexcept {
  static_cast<void>(syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, value, nullptr, nullptr, 0));
}

void wake_sleeper(Word& word) noexcept {
  static_cast<void>(syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0));
}

}  // namespace paraes::system
