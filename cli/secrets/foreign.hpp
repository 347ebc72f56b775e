// Files of other programs, which are taken for messages.
#pragma once

#include <string>

#include "paraes/ciphers.hpp"

namespace paraes::cli {

// "a file of age, which `age -d -i IDENTITY FILE` opens", by the first bytes of a file; empty for
// one that is not known.
[[nodiscard]] std::string foreign_file(Bytes start);

}  // namespace paraes::cli
