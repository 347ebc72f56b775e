#include "bench/system/file_system.hpp"

namespace paraes::bench {

std::string file_system_of(const std::string& /*path*/) { return {}; }

}  // namespace paraes::bench
