// One file of a run: where it is read, and where its output goes.
#pragma once

#include <optional>

#include "cli/files/file_list.hpp"
#include "cli/files/place.hpp"

namespace paraes::cli {

struct FileJob {
  Place input;
  std::optional<Place> output;       // nullopt: -o and -c decide, else beside the input
  bool sync_folder = true;           // see FileSink::Options
  int threads = 0;                   // see TransferOptions
  bool alone = false;                // without the distributor: one of several small files
  const FoundFile* found = nullptr;  // one of several files; not for the only one
};

}  // namespace paraes::cli
