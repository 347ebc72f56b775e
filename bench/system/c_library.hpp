// The C library of this system.
#pragma once

#include <string>

namespace paraes::bench {

// Its name and version.
[[nodiscard]] std::string c_library();

}  // namespace paraes::bench
