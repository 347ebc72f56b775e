#include "tests/support/systems.hpp"

#include <string_view>

namespace paraes::support {

bool posix_only() { return std::string_view(PARAES_SYSTEM) == "posix"; }

}  // namespace paraes::support
