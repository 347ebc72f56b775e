#include "src/core/system/files.hpp"

namespace paraes::system {

bool is_mount_point(int /*folder*/, const char* /*name*/) noexcept { return false; }

}  // namespace paraes::system
