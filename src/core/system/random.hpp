// The system's random generator.
#pragma once

#include <sys/random.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>

namespace paraes::system {

// Fills `out` with random bytes fit for keys. Returns 0, or an errno. getentropy(2) is in
// POSIX.1-2024; on Linux it calls getrandom(2).
[[nodiscard]] inline int draw_random(void* out, std::size_t bytes) noexcept {
  constexpr std::size_t most = 256;  // POSIX.1-2024: GETENTROPY_MAX
  auto* next = static_cast<std::uint8_t*>(out);
  while (bytes > 0) {
    const std::size_t n = std::min(bytes, most);
    if (getentropy(next, n) != 0) return errno;
    next += n;
    bytes -= n;
  }
  return 0;
}

}  // namespace paraes::system
