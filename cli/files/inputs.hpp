// Finds the files that several arguments and -r name, and chooses the output of each.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cli/arguments/options.hpp"
#include "cli/files/file_context.hpp"
#include "cli/files/file_list.hpp"
#include "cli/files/output_tree.hpp"
#include "cli/files/skipped.hpp"

namespace paraes::cli {

struct FoundFiles {
  explicit FoundFiles(Verb what = Verb::verify, bool keep_skipped = false)
      : verb(what), skipped(keep_skipped) {}

  Verb verb;
  FileList files;                     // those to be processed, and some that are not: FileState
  std::uint64_t waiting = 0;          // how many are to be processed
  std::uint64_t up_to_date = 0;       // how many --update leaves out
  std::uint64_t bytes = 0;            // in those to be processed
  std::optional<OutputTree> outputs;  // if -o was given
  // An input that cannot be processed.
  struct Refused {
    std::string input;
    std::string reason;
    int exit;
  };
  std::vector<Refused> refused;
  void refuse(std::string input, std::string reason, int exit = 2) {
    refused.push_back({std::move(input), std::move(reason), exit});
  }
  // Refuses a file of the list.
  void refuse(FoundFile& file, std::string reason);
  // For rekey: other names of files in the list, by number.
  std::vector<std::pair<std::uint32_t, FileId>> repeated;
  SkippedEntries skipped;
  std::uint64_t folders = 0;             // below those that are arguments
  std::vector<std::string> without_any;  // folders, as arguments, in which there is nothing to do

  // The job for a file: its places, and the defaults for one of several.
  [[nodiscard]] FileJob job(const FoundFile& file) const;
  // The place of its output; nullopt if there is none.
  [[nodiscard]] std::optional<Place> output(const FoundFile& file) const;
  // Whether there are inputs: files, or folders that hold nothing but folders.
  [[nodiscard]] bool any() const;
};

// Searches the inputs in order, and the entries of folders in the order of their names. Follows
// symbolic links that are arguments and no others, not even those that appear during the search.
// Throws InvalidArgument if the arguments contradict each other, or if an input or output is a file
// that a secret is read from. Opens no input, and makes nothing but for a probe of names that may
// be one (name_probe.hpp). Adds the inputs to the protected files.
[[nodiscard]] FoundFiles find_inputs(FileContext& run);

}  // namespace paraes::cli
