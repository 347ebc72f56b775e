// File systems, as far as systems differ.
#pragma once

#include <string>

namespace paraes::bench {

// The kind of the file system that holds `path`, such as ext4; "unknown file system" for one that
// has no name here, and empty if the system does not say.
[[nodiscard]] std::string file_system_of(const std::string& path);

}  // namespace paraes::bench
