// A file for finding out what a file system does.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "cli/terminal/signals.hpp"
#include "paraes/error.hpp"
#include "paraes/io.hpp"

namespace paraes::cli {

// Whether and where a run may make files to find things out. A dry run makes none.
struct Probing {
  Leftovers& leftovers;
  bool allowed = true;
};

// An empty file with the temporary name of `target`, which the destructor or a signal removes.
class ProbeFile {
 public:
  // Throws Error where it cannot be made, or must not.
  ProbeFile(std::shared_ptr<const Folder> folder, const std::string& target, const Probing& probing)
      : file_(std::move(folder), target, options(probing)) {}

  [[nodiscard]] std::string name() const { return file_name_of(file_.temporary()); }

 private:
  [[nodiscard]] FileSink::Options options(const Probing& probing) {
    if (!probing.allowed) throw InvalidArgument("this run makes no files");
    FileSink::Options options;
    options.named = true;
    options.overwrite = true;
    options.leftovers = &probing.leftovers;
    options.on_temporary = [this](int at, const std::string& name) { temporary_.set(at, name); };
    return options;
  }

  TemporaryName temporary_;
  FileSink file_;
};

}  // namespace paraes::cli
