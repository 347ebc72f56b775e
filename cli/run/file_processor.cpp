#include "cli/run/file_processor.hpp"

#include <sys/resource.h>

#include <algorithm>
#include <exception>
#include <memory>
#include <new>
#include <utility>

#include "cli/arguments/options.hpp"
#include "cli/files/removal.hpp"
#include "cli/run/file_task.hpp"
#include "cli/terminal/messages.hpp"
#include "cli/terminal/progress.hpp"
#include "cli/words/choices.hpp"
#include "paraes/threads.hpp"

namespace paraes::cli {
namespace {

// Files up to this size are processed concurrently, each by one thread; larger files one after
// another, each by all threads.
constexpr std::uint64_t most_concurrent_bytes = std::uint64_t{4} << 20;
// Small ones are in memory as a whole: see SmallFileTask. On a GPU, they are processed in
// groups; these are their limits.
constexpr std::size_t most_group_files = 1024;
constexpr std::uint64_t most_group_bytes = std::uint64_t{16} << 20;

}  // namespace

std::size_t FileProcessor::concurrent_files() const {
  const int asked = plan_.execution.threads == 0 ? available_cores() : plan_.execution.threads;
  // The input, the output, a duplicate of the output, and perhaps the folder.
  constexpr rlim_t descriptors_per_file = 4;
  constexpr rlim_t reserved = 32;
  rlimit limit = {};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return static_cast<std::size_t>(asked);
  const rlim_t room =
      limit.rlim_cur > reserved ? (limit.rlim_cur - reserved) / descriptors_per_file : 1;
  return static_cast<std::size_t>(std::clamp<rlim_t>(room, 1, static_cast<rlim_t>(asked)));
}

void FileProcessor::for_each_file(std::size_t count,
                                  const std::function<void(unsigned, std::size_t)>& body) const {
  // Compiling a program for a GPU needs a stack of the usual size.
  for_each_job(
      static_cast<unsigned>(concurrent_files()), count,
      [&](unsigned worker, std::uint64_t file) { body(worker, static_cast<std::size_t>(file)); },
      plan_.on_gpu ? StackSize::usual : StackSize::small);
}

FileJob FileProcessor::concurrent_job(const FoundFiles& found, const FoundFile& file) {
  FileJob job = found.job(file);
  job.threads = 1;
  job.alone = true;
  return job;
}

void FileProcessor::process_all(FoundFiles& found) {
  FileList& files = found.files;
  for (const auto& [number, id] : found.repeated) repeated_.try_emplace(id);
  if (plan_.on_gpu) process_in_groups(found);
  {
    std::vector<SmallFileTask::Buffers> buffers(concurrent_files());
    for_each_file(files.size(), [&](unsigned worker, std::size_t i) {
      FoundFile& file = files[i];
      if (file.state != FileState::waiting || file.bytes > most_concurrent_bytes) return;
      const bool whole = is_processed_whole(file);
      if (whole && plan_.on_gpu) return;  // done
      if (!process_unless_out_of_memory(found, file, whole ? &buffers[worker] : nullptr)) {
        file.state = FileState::out_of_memory;
      }
    });
  }
  for (const FoundFile& file : files) {
    if (file.state == FileState::out_of_memory) process(concurrent_job(found, file));
  }
  for (const FoundFile& file : files) {
    if (file.state != FileState::waiting || file.bytes <= most_concurrent_bytes) continue;
    FileJob job = found.job(file);
    job.threads = plan_.execution.threads;
    process(job);
  }
  for (const auto& [number, id] : found.repeated) process_again(found, number, id);
  for (const auto& [id, names] : repeated_) {
    if (names.left == 0 || plan_.reporting.quiet) continue;
    say("note: {}: the file had {} names (hard links), of which {} still {} to the old file",
        names.shown, names.all, names.left, names.left == 1 ? "leads" : "lead");
  }
}

void FileProcessor::process_again(const FoundFiles& found, std::uint32_t number, const FileId& id) {
  FileJob job = found.job(found.files[number]);
  job.found = nullptr;  // not a part of the total
  job.threads = plan_.execution.threads;
  if (is_file(job.input, id)) {
    process(job);
    return;
  }
  results_.report_skipped(job.input.shown, "it was rekeyed by another name");
}

bool FileProcessor::is_processed_whole(const FoundFile& file) const {
  const bool whole =
      !plan_.salvage && plan_.offset.value_or(0) == 0 && !plan_.length && plan_.verb != Verb::rekey;
  return whole && plan_.execution.overlap && is_authenticated(plan_.format) &&
         file.state == FileState::waiting && file.regular &&
         file.bytes <= SmallFileTask::most_bytes;
}

void FileProcessor::process_in_groups(const FoundFiles& found) {
  std::vector<const FoundFile*> group;
  std::uint64_t bytes = 0;
  const auto process_and_clear = [&] {
    if (!group.empty()) process_group(found, group);
    group.clear();
    bytes = 0;
  };
  for (const FoundFile& file : found.files) {
    if (!is_processed_whole(file)) continue;
    if (group.size() == most_group_files || bytes + file.bytes > most_group_bytes) {
      process_and_clear();
    }
    group.push_back(&file);
    bytes += file.bytes;
  }
  process_and_clear();
}

void FileProcessor::process_group(const FoundFiles& found,
                                  const std::vector<const FoundFile*>& files) {
  if (files.size() == 1) {
    process(concurrent_job(found, *files[0]));
    return;
  }
  struct Entry {
    FileJob job;
    FileOutcome outcome;
    SmallFileTask::Buffers buffers;
    std::unique_ptr<SmallFileTask> task;
  };
  std::vector<Entry> entries(files.size());
  for_each_file(files.size(), [&](unsigned, std::size_t i) {
    Entry& entry = entries[i];
    entry.job = concurrent_job(found, *files[i]);
    entry.outcome.report = results_.new_report(entry.job.input.shown);
    results_.attempt(entry.outcome, [&] {
      auto task = std::make_unique<SmallFileTask>(run_, entry.job, progress_of_file_, entry.outcome,
                                                  entry.buffers);
      if (task->read()) entry.task = std::move(task);
    });
    if (!entry.task) results_.finish(entry.job, std::move(entry.outcome));
  });
  std::vector<Entry*> ready;
  std::vector<WholeMessage> messages;
  for (Entry& entry : entries) {
    if (!entry.task) continue;
    ready.push_back(&entry);
    messages.push_back(entry.task->message());
  }
  std::exception_ptr failure;
  try {
    if (plan_.verb == Verb::encrypt) {
      seal_messages(messages);
    } else {
      open_messages(messages);
    }
  } catch (...) {
    failure = std::current_exception();
  }
  if (ready.size() > 1 && plan_.reporting.verbose) {
    say("{} files at once", ready.size());
  }
  for_each_file(ready.size(), [&](unsigned, std::size_t i) {
    Entry& entry = *ready[i];
    results_.attempt(entry.outcome, [&] {
      if (failure) std::rethrow_exception(failure);
      entry.task->write(messages[i]);
    });
    entry.task.reset();
    results_.finish(entry.job, std::move(entry.outcome));
  });
}

void FileProcessor::process(const FileJob& job) {
  FileOutcome outcome;
  outcome.report = results_.new_report(job.input.shown);
  results_.attempt(outcome, [&] { run_task(job, outcome); });
  results_.finish(job, std::move(outcome));
}

bool FileProcessor::process_unless_out_of_memory(const FoundFiles& found, const FoundFile& file,
                                                 SmallFileTask::Buffers* buffers) {
  FileJob job;
  FileOutcome outcome;
  bool has_memory = true;
  const auto unless_out_of_memory = [&](const auto& work) {
    try {
      work();
    } catch (const std::bad_alloc&) {
      if (outcome.commits) throw;
      has_memory = false;
    }
  };
  unless_out_of_memory([&] {
    job = concurrent_job(found, file);
    outcome.report = results_.new_report(job.input.shown);
    results_.attempt(outcome, [&] {
      unless_out_of_memory([&] {
        if (buffers == nullptr) {
          run_task(job, outcome);
        } else {
          SmallFileTask(run_, job, progress_of_file_, outcome, *buffers).run();
        }
      });
    });
  });
  if (has_memory) results_.finish(job, std::move(outcome));
  return has_memory;
}

void FileProcessor::run_task(const FileJob& job, FileOutcome& outcome) {
  OpenFile file(run_, job, progress_of_file_, outcome);
  if (plan_.dry_run) {
    foresee(file);
  } else if (plan_.verb == Verb::rekey) {
    const auto repeated = repeated_.find(FileId(file.input().status));
    const bool is_repeated = repeated != repeated_.end();
    rekey_file(file, is_repeated);
    if (is_repeated) repeated->second.add(job.input.shown, file.input().status.st_nlink);
  } else {
    transfer_file(file);
  }
}

}  // namespace paraes::cli
