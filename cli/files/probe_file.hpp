// A file for finding out what a file system does.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "cli/terminal/signals.hpp"
#include "paraes/io.hpp"

namespace paraes::cli {

// An empty file with the temporary name of `target`, which the destructor or a signal removes.
class ProbeFile {
 public:
  // Throws Error where it cannot be made.
  ProbeFile(std::shared_ptr<const Folder> folder, const std::string& target, Leftovers& leftovers)
      : file_(std::move(folder), target, options(leftovers)) {}

  [[nodiscard]] std::string name() const { return file_name_of(file_.temporary()); }

 private:
  [[nodiscard]] FileSink::Options options(Leftovers& leftovers) {
    FileSink::Options options;
    options.named = true;
    options.overwrite = true;
    options.leftovers = &leftovers;
    options.on_temporary = [this](int at, const std::string& name) { temporary_.set(at, name); };
    return options;
  }

  TemporaryName temporary_;
  FileSink file_;
};

}  // namespace paraes::cli
