// The names of temporary files, and whether a name still leads to the file that it was given to.
#pragma once

#include <cstdint>
#include <string>

namespace paraes {

// Contains host, process and a random number, so that names are unique among all hosts. Throws
// IoError, which calls the target `shown`.
[[nodiscard]] std::string new_temporary_name(const std::string& target, const std::string& shown);

enum class Named : std::uint8_t { yes, no, unknown };  // unknown: errno is set

// Whether `name` in `folder` is the file that `descriptor` has open, as far as device and inode
// tell.
[[nodiscard]] Named is_named(int descriptor, int folder, const char* name) noexcept;

// Like is_named, for a temporary name of this process. Some file systems make up another inode
// number for each look at a file: there, any file of that name counts.
[[nodiscard]] Named still_has_name(int descriptor, int folder, const char* name) noexcept;

}  // namespace paraes
