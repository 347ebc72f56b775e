// The upper halves of the vector registers. A function that leaves them in use makes all later SSE
// instructions of its thread slow, until VZEROUPPER clears them.
#pragma once

#include "src/kernels/kernel.hpp"

namespace paraes::support {

// Whether this processor has upper halves and tells whether they are in use (XGETBV with XCR1).
[[nodiscard]] bool tells_upper_halves() noexcept;

// Whether a bit from 128 on of the first 16 vector registers may be set. False if the processor
// does not tell.
[[nodiscard]] bool upper_halves_in_use() noexcept;

void clear_upper_halves() noexcept;

// A row whose functions call those of `row` and fail the running test if they leave upper halves in
// use. `row` must outlive it, and there is only one at a time.
[[nodiscard]] Kernel with_vector_check(const Kernel& row);

}  // namespace paraes::support
