// Extended attributes of files (xattr(7)), of which an access control list (acl(5)) is one.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "paraes/export.hpp"

namespace paraes {

// An extended attribute: its full name, such as "user.comment", and its value.
struct FileAttribute {
  std::string name;
  std::vector<std::uint8_t> value;
};

// Whether paraes knows the attributes of this system: on Linux.
[[nodiscard]] PARAES_EXPORT bool has_file_attributes() noexcept;

// The attributes of an open file or folder that another one can take over: what users have set
// (user.*), the access control list, and for a folder also the list that new files in it get. Empty
// where the system or the file system has none, and on systems other than Linux. What the system
// sets by itself, and capabilities, which are rights of a program, are left out. Throws IoError,
// with `shown` as the file's name, for one that cannot be read.
[[nodiscard]] PARAES_EXPORT std::vector<FileAttribute> file_attributes(int descriptor,
                                                                       const std::string& shown);

// Access control lists decide on permissions: set them after the mode, which would change them. The
// others may need the right to write: set them before a mode that takes it.
enum class AttributeKind { of_users, access_lists };

// Gives those of `attributes` that are of this kind to an open file or folder. Returns the names of
// those that it does not take.
[[nodiscard]] PARAES_EXPORT std::vector<std::string> set_file_attributes(
    int descriptor, const std::vector<FileAttribute>& attributes, AttributeKind kind);

}  // namespace paraes
