// Reading the names in a folder.
#pragma once

#include <functional>

namespace paraes::system {

// Calls visit() with each name in the folder `path`, relative to the open folder `folder`
// (AT_FDCWD: the present one), but not with . and .. Returns false and sets errno on failure. In
// place of std::filesystem::directory_iterator: that of GCC's library ends the process if memory
// runs out while it takes a step.
[[nodiscard]] bool visit_names(int folder, const char* path,
                               const std::function<void(const char* name)>& visit);

}  // namespace paraes::system
