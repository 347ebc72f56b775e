// Descriptors that paraes was started with, where a name such as /dev/fd/3 means one.
#pragma once

#include <sys/stat.h>

#include <memory>
#include <string>
#include <string_view>

#include "paraes/io.hpp"

namespace paraes::cli {

enum class Access { read, write };

// Throws InvalidArgument, beginning with `name`, unless paraes was started with this descriptor and
// it is open for `access`.
void check_descriptor(int number, std::string_view name, Access access);

// A duplicate, which shares the position in a file. Throws IoError.
[[nodiscard]] Descriptor duplicate_of(int number, std::string_view name);

// Whether what is written to an existing file of this mode replaces nothing: a pipe, or a device
// other than a disk.
[[nodiscard]] inline bool is_stream(mode_t mode) { return S_ISCHR(mode) || S_ISFIFO(mode); }

// A sink for an output that replaces no file: the descriptor that `path` means, with "-" standard
// output, or an existing stream. Null for all else. Throws IoError and InvalidArgument.
[[nodiscard]] std::unique_ptr<Sink> open_stream(const std::string& path);

}  // namespace paraes::cli
