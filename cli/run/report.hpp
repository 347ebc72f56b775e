// The reports of a run and of each file, which --json prints.
#pragma once

#include <cstdint>
#include <new>
#include <optional>
#include <string>
#include <vector>

#include "cli/files/removal.hpp"
#include "cli/words/errors.hpp"
#include "paraes/messages.hpp"

namespace paraes::cli {

// The statuses of inputs that were not processed, and are no failures.
inline constexpr const char* skipped_status = "skipped";
inline constexpr const char* up_to_date_status = "up to date";
inline constexpr const char* dry_run_status = "dry run";

// One file that a run found, as --json prints it.
struct RunReport {
  std::string input;
  std::optional<std::string> output;  // unknown if the run failed before it was chosen
  std::optional<std::string> format;
  std::uint64_t bytes = 0;  // of plaintext
  double seconds = 0;
  std::optional<std::string> device;
  std::optional<std::string> kernel;
  std::optional<std::string> fallback;  // why the requested device did not do it all
  std::string status = "ok";            // or one of those above, or the error
  std::optional<std::string> reason;    // why it was skipped
  int exit = exit_done;
  std::optional<PhaseTimes> timeline_ns;
  std::optional<std::vector<BadRange>> bad_ranges;  // of --salvage
  std::optional<std::string> rekeyed;               // of rekey: "header", or "data" for all of it
  std::optional<bool> replaces;                     // of --dry-run: whether the output exists
};

[[nodiscard]] std::string to_json(const RunReport& report);

// "f: not kept: user.a and user.b": the attributes that an output did not get. `asked`: with
// --xattrs.
[[nodiscard]] std::string not_kept_text(const std::string& output,
                                        const std::vector<std::string>& names, bool asked);

// The last line of --json with several inputs or -r.
struct RunSummary {
  std::uint64_t files = 0;     // that were processed without an error
  std::uint64_t bytes = 0;     // of plaintext in them
  std::uint64_t salvaged = 0;  // by --salvage, with losses
  std::uint64_t up_to_date = 0;
  std::uint64_t skipped = 0;
  std::uint64_t failed = 0;
  double seconds = 0;
  int exit = exit_done;
};

[[nodiscard]] std::string to_json(const RunSummary& summary);

// The outcome of one file of a run.
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
void add_if_memory_lasts(const auto& notes) try {
  notes();
} catch (const std::bad_alloc&) {  // NOLINT(bugprone-empty-catch)
}

}  // namespace paraes::cli
