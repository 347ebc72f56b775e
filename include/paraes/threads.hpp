// How many threads can run at once.
#pragma once

namespace paraes {

// Processors that this process may run on.
[[nodiscard]] int available_cores();

}  // namespace paraes
