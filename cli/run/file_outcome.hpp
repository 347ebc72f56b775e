// What became of one file of a run.
#pragma once

#include <cstdint>
#include <new>
#include <optional>
#include <string>
#include <vector>

#include "cli/files/removal.hpp"
#include "cli/run/report.hpp"

namespace paraes::cli {

struct FileOutcome {
  RunReport report;
  std::uint64_t processed = 0;        // how many bytes the progress of the run counts
  bool commits = false;               // the output has its name already, or is about to get it
  bool transferred = false;           // the output, if there is one, is whole and committed
  std::vector<std::string> messages;  // to be printed once the file has ended
  std::optional<CommittedFile> committed;
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
