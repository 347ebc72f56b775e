// Removing files where one that is open, or was a moment ago, cannot be removed.
#pragma once

#include <functional>

namespace paraes::system {

// Like unlinkat(2), and tries again for up to a quarter of a second while the file seems to be in
// use. Some servers of file systems hear late that a descriptor was closed: FUSE's, where they
// cannot rename what is still open, and those that store files on Windows. `flags`: 0, or
// AT_REMOVEDIR for a folder that is empty but for what such a server still has to remove.
// `is_the_same` is asked before each further attempt, because meanwhile another process may write
// to the file or give its name to another one: where it says false, the file stays.
// Returns false and sets errno on failure. After a wait in vain, the next two seconds have none: a
// folder where nothing can be removed must not delay each of its files.
[[nodiscard]] bool remove_file(int folder, const char* name, int flags,
                               const std::function<bool()>& is_the_same) noexcept;

}  // namespace paraes::system
