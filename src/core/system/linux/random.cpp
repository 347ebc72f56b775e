#include "src/core/system/random.hpp"

#include <sys/random.h>

#include <cerrno>
#include <cstdint>

namespace paraes::system {

int draw_random(void* out, std::size_t bytes) noexcept {
  auto* next = static_cast<std::uint8_t*>(out);
  while (bytes > 0) {
    const ssize_t n = getrandom(next, bytes, 0);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return errno;
    next += n;
    bytes -= static_cast<std::size_t>(n);
  }
  return 0;
}

}  // namespace paraes::system
