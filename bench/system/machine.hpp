// The machine and its software, as far as the system tells about them.
#pragma once

#include <string>

namespace paraes::bench {

// The version of the processor's microcode, such as "0xa101154"; empty if the system does not say.
[[nodiscard]] std::string microcode();

// The hypervisor that the system names, such as "xen"; empty if it names none, which does not prove
// that there is none.
[[nodiscard]] std::string hypervisor_of_system();

// The name and version of the C library.
[[nodiscard]] std::string c_library();

// The kind of the file system that holds `path`, such as ext4; "unknown file system" for one that
// has no name here, and empty if the system does not say.
[[nodiscard]] std::string file_system_of(const std::string& path);

}  // namespace paraes::bench
