// Replacing a file: shared by the command, the Python module and the library.
#pragma once

#include <sys/stat.h>

#include <string>
#include <string_view>

#include "paraes/io.hpp"

namespace paraes::system {

// The path of the file that a symbolic link leads to, without links. Empty, with errno set, if it
// leads nowhere.
[[nodiscard]] std::string path_without_links(const std::string& path);

// Throws InvalidArgument, which ends with `advice`, if something is mounted on `name` in the open
// folder `folder`: renaming a file to this name would fail in the end. `shown` is the name in the
// message.
void refuse_mount_point(int folder, const std::string& name, std::string_view shown,
                        std::string_view advice);

// Sets what an output takes over from its input: the time of its modification, and from
// `permissions`, those of the input (paraes::permissions), its own. They are permission bits alone:
// a set-user-ID bit says nothing on ciphertext, and on plaintext it would come from whoever wrote
// the message. What is or becomes encrypted keeps all of them. Plaintext gets what the umask
// leaves, and no more than the file has that it replaces. As root, an output also takes over the
// owner and the group.
void take_over(FileSink::Options& options, const struct stat& input, mode_t permissions,
               bool is_encrypted, mode_t umask);

}  // namespace paraes::system
