// The machine, as far as the system tells about it.
#pragma once

#include <string>

namespace paraes::bench {

// The version of the processor's microcode, such as "0xa101154"; empty if the system does not say.
[[nodiscard]] std::string microcode();

// The hypervisor that the system names, such as "xen"; empty if it names none, which does not prove
// that there is none.
[[nodiscard]] std::string hypervisor_of_system();

}  // namespace paraes::bench
