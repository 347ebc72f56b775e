// The work on one open file of any size. All functions report the outcome; they throw Error, and
// the outcome then holds what was known until then.
#pragma once

#include "cli/run/open_file.hpp"

namespace paraes::cli {

// Encrypts, decrypts or verifies it. A message in an authenticated format goes through the run's
// distributor, if there is one and the job allows it.
void transfer_file(OpenFile& file);

// Gives it to other keys, passphrases or recipients, in place. After an error it is as it was.
// `is_repeated`: other arguments lead to the file, too, perhaps as hard links. Then the caller says
// which of its names still lead to the old file.
void rekey_file(OpenFile& file, bool is_repeated);

// --dry-run: prints on standard output what the run would do with a file whose output has been
// chosen, unless it prints JSON or is quiet. Reads and makes nothing, and asks for no secret.
// Throws IoError if the user may not write in the folder of the output.
void foresee(OpenFile& file);

}  // namespace paraes::cli
