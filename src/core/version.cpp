#include "paraes/version.hpp"

namespace paraes {

const char* version() noexcept { return PARAES_VERSION; }

}  // namespace paraes
