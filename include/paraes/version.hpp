#pragma once

namespace paraes {

// The version of the linked library, "major.minor.patch".
[[nodiscard]] const char* version() noexcept;

}  // namespace paraes
