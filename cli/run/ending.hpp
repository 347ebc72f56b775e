// The work that is left once all files of a run have been processed.
#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "cli/files/file_list.hpp"
#include "cli/files/inputs.hpp"
#include "cli/files/output_tree.hpp"
#include "cli/files/removal.hpp"
#include "cli/run/run_context.hpp"

namespace paraes::cli {

// Folders get their modes and go to the disk, and --rm removes sources. For one thread at a time.
// All functions that return texts return the errors.
class Ending {
 public:
  // Keeps a reference.
  explicit Ending(RunContext& run) : run_(run) {}

  // An output that was committed: its folder will go to the disk.
  void add_output(const Place& output);
  // Its source will be removed, unless an error with a folder keeps all of them.
  void remove_later(const FileJob& job, CommittedFile& committed);

  // Gives the folders of outputs their modes. `useless`: no file came to be, so that those folders
  // that were made for the run go again.
  [[nodiscard]] std::vector<std::string> finish_folders(OutputTree& outputs, bool useless);
  [[nodiscard]] std::vector<std::string> sync_folders();
  // `found`: of a run on several inputs; null for one.
  [[nodiscard]] std::vector<std::string> remove_sources(const FoundFiles* found);

 private:
  // A source that --rm removes at the end.
  struct RemovalPlaces {
    Place input;
    Place output;
  };
  struct Removal {
    FileVersion input;
    WrittenFile output;
    const FoundFile* found = nullptr;
    std::unique_ptr<const RemovalPlaces> places;  // null: those of the found file
  };

  RunContext& run_;
  std::set<std::pair<std::shared_ptr<const TreeRoot>, std::string>> folders_;  // to be synced
  std::optional<std::pair<std::shared_ptr<const TreeRoot>, std::string>> last_folder_;
  std::deque<Removal> to_remove_;
};

}  // namespace paraes::cli
