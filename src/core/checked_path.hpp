// Finds out who else could change a file that this process is about to trust.
#pragma once

#include <string>

namespace paraes {

struct CheckedPath {
  std::string path;    // absolute, without symbolic links; empty if there is no such file
  std::string reason;  // empty if the file may be used: why there is none, or who can change it
};

// Checks every folder, symbolic link and file on the way to `path`, a file or a folder.
//
// For root, all must belong to root, and not even the group may write to them. Other users may use
// what another user or a group provides, as on clusters, but nothing that everybody may write to.
//
// A folder with the sticky bit, such as /tmp, may lie on the way if what it holds belongs to root
// or to the effective user, since others cannot rename that. It must not hold the file itself: they
// could put another file beside it, such as a part of a library.
//
// Only those who are trusted can change what was checked, so that the returned path can be opened
// later, by its name.
[[nodiscard]] CheckedPath check_path(const std::string& path);

// The value of an environment variable; empty if it is not set, and in a process that has more
// rights than its caller (setuid), who must not choose the files that it trusts.
[[nodiscard]] std::string trusted_environment(const char* name);

}  // namespace paraes
