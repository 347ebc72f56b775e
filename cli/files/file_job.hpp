// One file of a run: its job and its outcome.
#pragma once

#include <new>
#include <optional>
#include <string>
#include <vector>

#include "cli/files/file_list.hpp"
#include "cli/files/place.hpp"
#include "cli/run/report.hpp"
#include "paraes/io.hpp"

namespace paraes::cli {

struct FileJob {
  Place input;
  std::optional<Place> output;       // nullopt: -o and -c decide, else beside the input
  bool sync_folder = true;           // see FileSink::Options
  int threads = 0;                   // see TransferOptions
  bool alone = false;                // without the distributor: one of several small files
  const FoundFile* found = nullptr;  // one of several files; not for the only one
};

struct FileOutcome {
  RunReport report;
  std::uint64_t processed = 0;        // how many bytes the progress of the run counts
  bool commits = false;               // the output has its name already, or is about to get it
  bool transferred = false;           // the output, if there is one, is whole and committed
  std::vector<std::string> messages;  // to be printed once the file has ended
  // An output file that was committed. --rm checks it before it removes the source.
  struct Committed {
    FileVersion input;  // at opening, and unchanged after the last read
    Place output;
    std::optional<WrittenFile> written;  // the output, with --rm
  };
  std::optional<Committed> committed;
};

// Calls `notes`, which adds messages about a file that is in its place. If memory runs out, they
// are left out: the file is done, and an error would say that it failed.
template <class Notes>
void add_if_memory_lasts(const Notes& notes) {
  try {
    notes();
  } catch (const std::bad_alloc&) {  // NOLINT(bugprone-empty-catch)
  }
}

}  // namespace paraes::cli
