// Descriptors that paraes was started with, where a name such as /dev/fd/3 means one.
#pragma once

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

// A sink for an output that replaces no file: the descriptor that `path` means, with "-" standard
// output, or an existing pipe or device, other than a disk. Null for all else. Throws IoError and
// InvalidArgument.
[[nodiscard]] std::unique_ptr<Sink> open_stream(const std::string& path);

}  // namespace paraes::cli
