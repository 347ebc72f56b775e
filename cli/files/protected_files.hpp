// Keeps a run from overwriting its own secrets, inputs and outputs, even with -f.
#pragma once

#include <sys/stat.h>

#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "cli/files/compact_set.hpp"
#include "cli/files/place.hpp"
#include "cli/plan/secrets.hpp"
#include "paraes/io.hpp"
#include "paraes/known_secrets.hpp"

namespace paraes::cli {

// The files that the secrets of a run are read from, its inputs, and the outputs it has written.
// Known by device and inode, so that links and other names are recognised. And files that hold one
// of the secrets, known by their contents, wherever the run has it from.
class ProtectedFiles {
 public:
  // `known`: the secrets, as far as they have been read. `replaces`: the run may overwrite files
  // (-f). `removes`: it removes inputs (--rm). Keeps a reference to `known`.
  ProtectedFiles(std::vector<ProtectedFile> named, const KnownSecrets& known, bool replaces,
                 bool removes)
      : named_(std::move(named)), known_(known), replaces_(replaces), removes_(removes) {}

  [[nodiscard]] const std::vector<ProtectedFile>& named() const noexcept { return named_; }

  // Call it before threads are started.
  void add_input(const FileId& id) {
    if (replaces_) inputs_.insert(id);  // else nothing can be overwritten
  }

  // Whether a secret or recipients of this run are read from the file.
  [[nodiscard]] bool is_named(const struct stat& status) const {
    return find_named(status) != nullptr;
  }
  // Throws InvalidArgument if a secret of this run is read from the file, or recipients if the run
  // removes its inputs. `found_as`: its path below the folder that was searched with -r; empty if
  // the file was an argument.
  void check_input(const struct stat& status, const std::string& shown,
                   const std::string& found_as = {}) const;
  // Throws InvalidArgument if the existing file at an output's place holds a secret of this run.
  // `input`: the name of the input whose output it is.
  void check_named_target(const struct stat& status, const std::string& shown,
                          const std::string& input, const std::string& found_as = {}) const;
  // Whether the run may remove or replace files, so that their contents count.
  [[nodiscard]] bool changes_files() const noexcept { return replaces_ || removes_; }
  // These two check the contents of the file at a place, once the secrets have been read. They open
  // a file only if it has the size of a secret, and leave one that they cannot read to its user.
  void check_input_contents(const Place& place, const std::string& found_as = {}) const;
  void check_target_contents(const Place& place, const std::string& input,
                             const std::string& found_as = {}) const;
  // Checks standard output, or another descriptor that is written in place, in the same way.
  void check_output_contents(int descriptor, const std::string& shown,
                             const std::string& input) const;
  // The flag of the secret that a file holds; nullopt if it holds none, or is not there.
  // Throws InvalidArgument for one that this user cannot read, and that has the size of a secret.
  [[nodiscard]] std::optional<std::string> secret_in(const Folder& folder, const std::string& name,
                                                     bool follow) const;

  // Whether the file was added as an input. Only in runs that may overwrite files.
  [[nodiscard]] bool is_input(const FileId& id) const { return inputs_.contains(id); }

  // Throws InvalidArgument if the file is an output of this run. Only in runs that may overwrite
  // files. Thread-safe.
  void check_not_output(const struct stat& status, const std::string& shown) const;

  // Commits a sink. Returns what --rm compares before it removes the source, if the run may remove
  // or replace files. Throws InvalidArgument if the sink would replace a protected file.
  // `replaced`: the status, when it was opened, of the file that it has to replace; throws IoError
  // if that is no longer there, or has changed in any way. `place`: of the file that the sink
  // makes. Thread-safe.
  std::optional<WrittenFile> commit(FileSink& sink, const Place& place, const std::string& shown,
                                    const struct stat* replaced);

 private:
  [[nodiscard]] std::optional<std::string> secret_at(const Place& place) const;
  [[nodiscard]] const ProtectedFile* find_named(const struct stat& status) const;
  void check_target(const struct stat& status, const std::string& shown) const;
  void check_not_output_now(const struct stat& status, const std::string& shown) const;

  const std::vector<ProtectedFile> named_;
  const KnownSecrets& known_;
  const bool replaces_;
  const bool removes_;
  FileIdSet inputs_;
  mutable std::mutex mutex_;  // held from the check of a replaced file until it is replaced
  FileIdSet outputs_;
};

}  // namespace paraes::cli
