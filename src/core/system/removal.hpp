// Removing files where one that is open, or was a moment ago, cannot be removed.
#pragma once

namespace paraes::system {

// As unlinkat(2), and tries again for up to a quarter of a second while the file seems to be in
// use. Some servers of file systems hear late that a descriptor was closed: FUSE's, where they
// cannot rename what is still open, and those that store files on Windows. `flags`: 0, or
// AT_REMOVEDIR for a folder that is empty but for what such a server still has to remove. Returns
// false and sets errno on failure. After a few waits in vain, it no longer waits.
[[nodiscard]] bool remove_file(int folder, const char* name, int flags = 0) noexcept;

}  // namespace paraes::system
