// --dry-run: says what a run would do.
#pragma once

#include "cli/run/open_file.hpp"

namespace paraes::cli {

// Prints on standard output what the run would do with a file that is open and whose output has
// been chosen, unless it prints JSON or is quiet. Reads and makes nothing, and asks for no secret.
// Throws IoError if the user may not write in the folder of the output.
void foresee(OpenFile& file);

}  // namespace paraes::cli
