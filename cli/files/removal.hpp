// --rm: removes sources.
#pragma once

#include <optional>
#include <string>

#include "cli/files/protected_files.hpp"
#include "paraes/io.hpp"

namespace paraes::cli {

// An output file that was committed. --rm checks it before it removes the source.
struct CommittedFile {
  FileVersion input;  // at opening, and unchanged after the last read
  Place output;
  std::optional<WrittenFile> written;  // the output, with --rm
};

// Whether a file of any kind exists at a place.
[[nodiscard]] bool is_there(const Place& place);
// Whether it is this one. Follows symbolic links as Place::follow says.
[[nodiscard]] bool is_file(const Place& place, const FileId& id);

// Removes a source if it is still the file that was read, unchanged, and if the name of its output
// still leads to the file that was committed for it. `keep_identities`: not if it holds a private
// key of age or SSH: the output may be encrypted to the recipient that it belongs to. Call it after
// all outputs were synced. Not if it holds a secret of the run either, which `files` knows. Returns
// the error if it was not removed.
[[nodiscard]] std::optional<std::string> remove_source(const Place& source,
                                                       const CommittedFile& committed,
                                                       const ProtectedFiles& files,
                                                       bool keep_identities);

}  // namespace paraes::cli
