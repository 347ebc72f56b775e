// The version of paraes.
#pragma once

#include "paraes/export.hpp"

namespace paraes {

// The version of the linked library, "major.minor.patch".
[[nodiscard]] PARAES_EXPORT const char* version() noexcept;

}  // namespace paraes
