// Processes the files of a run: up to 4 MiB concurrently, larger ones one after another.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "cli/files/inputs.hpp"
#include "cli/plan/plan.hpp"
#include "cli/run/results.hpp"
#include "cli/run/run_context.hpp"
#include "cli/run/small_file_task.hpp"

namespace paraes::cli {

class FileProcessor {
 public:
  // Keeps references to its arguments. `results`: gets what became of each file.
  FileProcessor(RunContext& run, Results& results)
      : run_(run), plan_(run.plan), results_(results) {}

  // Processes the files that wait. Reports their errors instead of throwing them.
  void process_all(FoundFiles& found);
  // Processes one file. Throws its error.
  void run_task(const FileJob& job, FileOutcome& outcome);

 private:
  // How many files are processed concurrently.
  [[nodiscard]] std::size_t concurrent_files() const;
  // Calls body(worker, file) for each file < count. There are concurrent_files() workers.
  void for_each_file(std::size_t count,
                     const std::function<void(unsigned, std::size_t)>& body) const;
  // One of several concurrent files.
  [[nodiscard]] static FileJob concurrent_job(const FoundFiles& found, const FoundFile& file);
  // Another name of a file that was rekeyed. If it is a hard link, the old file is still there.
  void process_again(const FoundFiles& found, std::uint32_t number, const FileId& id);
  // Whether it is a small file that is processed in memory, as a whole: see SmallFileTask.
  [[nodiscard]] bool is_processed_whole(const FoundFile& file) const;
  void process_in_groups(const FoundFiles& found);
  // Reads all files of a group, processes their messages together, and writes the outputs.
  void process_group(const FoundFiles& found, const std::vector<const FoundFile*>& files);
  // Processes one file. Reports its errors instead of throwing them.
  void process(const FileJob& job);
  // Processes one of several concurrent files, in `buffers` if it is to be in memory as a whole.
  // Returns false, without a report, if memory ran out: the other files may have used all of it, so
  // that another attempt can succeed later. Not once the output gets its name, which an attempt
  // would take for an output of somebody else, or for a message of another key.
  [[nodiscard]] bool process_unless_out_of_memory(const FoundFiles& found, const FoundFile& file,
                                                  SmallFileTask::Buffers* buffers);

  RunContext& run_;
  const Plan& plan_;
  Results& results_;
  const FileProgress progress_of_file_ = [this](std::uint64_t more) {
    const std::lock_guard lock(mutex_);
    read_ += more;
    Progress::update(read_);
  };
  // The names of a file that rekey replaces one after the other.
  struct Names {
    std::string shown;      // the first of them
    std::uint64_t all = 0;  // before the run
    std::uint64_t left = 0;

    void add(const std::string& name, std::uint64_t links) {
      if (all == 0) {
        shown = name;
        all = links;
      }
      left = links - 1;  // one leads to the new file now
    }
  };
  std::map<FileId, Names> repeated_;
  std::mutex mutex_;
  std::uint64_t read_ = 0;
};

}  // namespace paraes::cli
