// --rm: the removal of sources.
#pragma once

#include <optional>
#include <string>

#include "cli/file_job.hpp"

namespace paraes::cli {

// Whether there is anything at a place.
[[nodiscard]] bool is_there(const Place& place);

// Removes a source if it is still the file that was read, and if its output's name leads to what
// was committed for it. For after everything was synced. Returns why it was not removed.
[[nodiscard]] std::optional<std::string> remove_source(const Place& source,
                                                       const FileOutcome::Committed& committed);

}  // namespace paraes::cli
