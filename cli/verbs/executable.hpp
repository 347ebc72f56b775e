// Describes the executable paraes: for its main function, and for its manual pages.
#pragma once

#include "cli/verbs/app.hpp"

namespace paraes::cli {

[[nodiscard]] ExecutableInfo paraes_executable();

}  // namespace paraes::cli
