// Calls on files and folders, as far as systems differ.
#pragma once

#include <sys/stat.h>
#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "paraes/attributes.hpp"

namespace paraes::system {

// Flags of open(2) for a folder that is only searched, and in which files are created. Where the
// system cannot do that without reading, the folder has to be readable.
[[nodiscard]] int folder_flags() noexcept;

// Opens `path` below the folder in one call. Does not follow symbolic links or leave the folder.
// Returns -1 and sets errno on failure: ENOSYS if the system cannot do that.
[[nodiscard]] int open_beneath(int folder, const char* path, int flags, mode_t mode) noexcept;

// Creates a file without a name for writing and reading, which the system removes when it is
// closed. Returns -1 if the system or the file system has none that link_unnamed can name.
[[nodiscard]] int open_unnamed(int folder) noexcept;
// Names such a file. Returns false and sets errno on failure: EEXIST if `name` exists.
[[nodiscard]] bool link_unnamed(int descriptor, int folder, const char* name) noexcept;

// Renames a file within a folder without replacing another one. Returns false and sets errno on
// failure: EEXIST if the target exists, another of is_unsupported() if this cannot be done in one
// call.
[[nodiscard]] bool rename_without_replacing(int folder, const char* from, const char* to) noexcept;

// Has the disk begin to write a part of a file, and does not wait for it. Returns false and sets
// errno if the system reports a failure.
[[nodiscard]] bool start_writing(int file, std::uint64_t offset, std::uint64_t bytes) noexcept;

// Copies a range of a file to another one within the system, and returns how many bytes: 0 at the
// end of the source. Returns -1 and sets errno on failure: ENOSYS, EXDEV, EOPNOTSUPP or EINVAL if
// the system or these two file systems cannot do that.
[[nodiscard]] ssize_t copy_range(int from, std::uint64_t begin, int to, std::uint64_t offset,
                                 std::size_t bytes) noexcept;

// fsync(2), up to the disk itself. Returns false and sets errno on failure.
[[nodiscard]] bool sync_to_disk(int descriptor) noexcept;

// Makes the system read further ahead. A failure does not matter.
void expect_sequential_reads(int file) noexcept;

// Removes the access control list that a new file may have from its folder. A failure does not
// matter: there is none then.
void remove_access_list(int descriptor) noexcept;

// Whether the file system of an open file makes up its contents when they are read, as /proc and
// /sys do. Reading one byte of such a file can take it away (/proc/kmsg).
[[nodiscard]] bool makes_up_contents(int descriptor) noexcept;

[[nodiscard]] bool has_attributes() noexcept;
// See paraes::file_attributes. Returns false and sets errno if one cannot be read.
[[nodiscard]] bool read_attributes(int descriptor, std::vector<FileAttribute>& attributes);

// Whether an attribute is an access control list, which decides on the permissions of a file.
[[nodiscard]] bool is_access_list(const FileAttribute& attribute) noexcept;

// Gives it to a file. Returns false and sets errno on failure.
[[nodiscard]] bool set_attribute(int descriptor, const FileAttribute& attribute) noexcept;

// See paraes::permissions.
[[nodiscard]] mode_t permissions(int descriptor, const struct stat& status) noexcept;

}  // namespace paraes::system
