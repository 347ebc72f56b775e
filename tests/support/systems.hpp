// Which variant of src/core/system and src/io/system the library has.
#pragma once

namespace paraes::support {

// Whether the library uses only what POSIX has (PARAES_POSIX_ONLY, or a system other than Linux).
[[nodiscard]] bool posix_only();

}  // namespace paraes::support
