// Work on many files at once.
#pragma once

#include <cstddef>
#include <functional>

namespace paraes::cli {

// Calls body(i) for i < count on so many threads, the caller's among them, or on fewer where the
// system starts no more. What a body throws ends the work of its thread and is thrown here, when
// all threads have ended. `small_stacks`: 1 MiB each, where address space is limited; too little
// for compilers of GPU programs.
void side_by_side(std::size_t threads, std::size_t count, bool small_stacks,
                  const std::function<void(std::size_t)>& body);

}  // namespace paraes::cli
