// One file of a run: what is to be done, and what came of it.
#pragma once

#include <optional>

#include "cli/place.hpp"
#include "cli/report.hpp"
#include "paraes/io.hpp"

namespace paraes::cli {

struct FileJob {
  Place input;
  std::optional<Place> output;  // none: what -o and -c say, or beside the input
  bool sync_folder = true;      // see FileSink::Options
  int threads = 0;              // see TransferOptions
  bool alone = false;           // not through the distributor: one of many small files
};

struct FileOutcome {
  RunReport report;
  // An output that was committed to a file. Removing the source needs it.
  struct Committed {
    FileVersion input;  // when it was opened, and after it was read
    Place output;
    FileId id;  // of the output
  };
  std::optional<Committed> committed;
};

}  // namespace paraes::cli
