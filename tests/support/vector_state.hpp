// The upper halves of the vector registers. A function that leaves them in use makes all later SSE
// instructions of its thread slow, until VZEROUPPER clears them.
#pragma once

namespace paraes::support {

// Whether this processor has upper halves and tells whether they are in use (XGETBV with XCR1).
[[nodiscard]] bool tells_upper_halves() noexcept;

// Whether a bit from 128 on of the first 16 vector registers may be set. False if the processor
// does not tell.
[[nodiscard]] bool upper_halves_in_use() noexcept;

void clear_upper_halves() noexcept;

// Calls `action` and returns whether it left upper halves in use.
template <class Action>
[[nodiscard]] bool leaves_upper_halves_in_use(const Action& action) {
  clear_upper_halves();
  action();
  const bool in_use = upper_halves_in_use();
  clear_upper_halves();
  return in_use;
}

}  // namespace paraes::support
