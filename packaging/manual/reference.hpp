// The reference of the command line in Markdown.
#pragma once

#include <string>
#include <vector>

#include "packaging/manual/description.hpp"

namespace paraes::manual {

[[nodiscard]] std::string reference(const std::vector<const Executable*>& executables);

}  // namespace paraes::manual
