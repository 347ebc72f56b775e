#pragma once

namespace paraes {

// The version of the library that is linked, "major.minor.patch".
[[nodiscard]] const char* version() noexcept;

}  // namespace paraes
