// Keeps a run from overwriting its own secrets, inputs and outputs, whatever -f says.
#pragma once

#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "cli/keys.hpp"
#include "paraes/io.hpp"

namespace paraes::cli {

// The files that the secrets of a run are read from, its inputs, and what it has written itself,
// all by device and inode, so that another name or a link makes no difference.
class ProtectedFiles {
 public:
  // `replaces`: the run may overwrite files (-f).
  ProtectedFiles(std::vector<SecretFile> secrets, bool replaces)
      : secrets_(std::move(secrets)), replaces_(replaces) {}

  // Before there are threads.
  void add_input(const FileId& id) { inputs_.push_back(id); }
  void inputs_are_complete();

  // Throws InvalidArgument if a secret of this run comes from the file. `found_as`: its path below
  // the folder in which -r found it; empty if it was an argument.
  void check_input(const struct stat& status, const std::string& shown,
                   const std::string& found_as = {}) const;
  // Throws InvalidArgument if the existing file at an output's place holds a secret of this run.
  // `input`: the file whose output that is.
  void check_secret_target(const struct stat& status, const std::string& shown,
                           const std::string& input, const std::string& found_as = {}) const;
  [[nodiscard]] bool is_input(const FileId& id) const;

  // Commits a sink, unless what it would replace is protected, which is InvalidArgument. Returns
  // the file that is there now. Safe for several threads at once.
  FileId commit(FileSink& sink, const std::string& shown);

 private:
  [[nodiscard]] const SecretFile* find_secret(const struct stat& status) const;
  void check_target(const struct stat& status, const std::string& shown) const;

  const std::vector<SecretFile> secrets_;
  const bool replaces_;
  std::vector<FileId> inputs_;  // sorted
  std::mutex mutex_;            // of a look at what is replaced, and the replacing
  std::set<FileId> outputs_;
};

}  // namespace paraes::cli
