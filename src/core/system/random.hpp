// The system's random generator.
#pragma once

#include <cstddef>

namespace paraes::system {

// Fills `out` with random bytes fit for keys. Returns 0, or an errno.
[[nodiscard]] int draw_random(void* out, std::size_t bytes) noexcept;

}  // namespace paraes::system
