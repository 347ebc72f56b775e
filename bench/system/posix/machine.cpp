#include "bench/system/machine.hpp"

namespace paraes::bench {

std::string microcode() { return {}; }

std::string hypervisor_of_system() { return {}; }

}  // namespace paraes::bench
