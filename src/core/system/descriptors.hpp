// Names by which a process reaches its own descriptors, as /dev/stdout and /dev/fd/3.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace paraes::system {

// The number of the descriptor that the text of `path` names. It may not be open. Asks the system
// about names of processes alone, such as /proc/17/fd/3.
[[nodiscard]] std::optional<int> descriptor_in(std::string_view path);

// Follows symbolic links first: for a path such as x after `ln -s /dev/stdout x`.
[[nodiscard]] std::optional<int> descriptor_named(const std::string& path);

}  // namespace paraes::system
