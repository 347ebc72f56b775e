#include "cli/run/batch.hpp"

#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <new>
#include <set>
#include <utility>
#include <vector>

#include "cli/arguments/options.hpp"
#include "cli/files/file_id_set.hpp"
#include "cli/files/inputs.hpp"
#include "cli/files/output.hpp"
#include "cli/files/removal.hpp"
#include "cli/plan/profile.hpp"
#include "cli/plan/secrets.hpp"
#include "cli/run/file_task.hpp"
#include "cli/run/rekey_task.hpp"
#include "cli/run/report.hpp"
#include "cli/run/small_file_task.hpp"
#include "cli/run/summary.hpp"
#include "cli/terminal/clock.hpp"
#include "cli/terminal/messages.hpp"
#include "cli/terminal/progress.hpp"
#include "cli/words/choices.hpp"
#include "cli/words/errors.hpp"
#include "paraes/error.hpp"
#include "paraes/threads.hpp"

namespace paraes::cli {
namespace {

// Files up to this size are processed concurrently, each by one thread; larger files one after
// another, each by all threads.
constexpr std::uint64_t small_file_bytes = std::uint64_t{4} << 20;
// Even smaller ones are in memory as a whole: see SmallFileTask. On a GPU, they are processed in
// groups; these are their limits.
constexpr std::size_t most_group_files = 1024;
constexpr std::uint64_t most_group_bytes = std::uint64_t{16} << 20;

// The size of a regular file; nullopt for anything else. "-" is standard input.
std::optional<std::uint64_t> size_of_file(const std::string& path) {
  struct stat status = {};
  const int found = path == "-" ? fstat(STDIN_FILENO, &status) : stat(path.c_str(), &status);
  if (found != 0 || !S_ISREG(status.st_mode)) return std::nullopt;
  return static_cast<std::uint64_t>(status.st_size);
}

// Processes and reports the files of one run, in whatever order they end.
class Batch {
 public:
  Batch(const Plan& plan, Distributor* distributor)
      : plan_(plan), several_(plan.several), run_(plan, distributor) {}

  int single() {
    const std::string& input = plan_.inputs[0];
    {
      Progress progress(plan_.reporting.bar, bytes_to_process(input));
      FileJob job;
      job.threads = plan_.execution.threads;
      job.input.shown = input;
      FileOutcome outcome;
      outcome.report = new_report(input);
      std::optional<OutputTree> outputs;
      attempt(outcome, [&] {
        if (input != "-") job.input = place_of_argument(run_.roots, input, "open");
        if (plan_.output.folder) {
          outputs.emplace(run_.roots, *plan_.output.path);
          job.output =
              outputs->place(default_name(plan_.direction(), file_name_of(input), "give -o FILE"));
          outputs->make_top();
        }
        run_task(job, outcome);
      });
      if (outcome.transferred) progress.finish(true);
      finish(job, std::move(outcome));
      if (outputs) finish_folders(*outputs);
    }
    sync_folders();
    remove_sources();
    return status_;
  }

  // Throws InvalidArgument if JSON would be written to the file that a secret is read from.
  void check_streams() const {
    struct stat status = {};
    std::FILE* const stream = plan_.reporting.json_stream;
    if (!plan_.reporting.json || fstat(fileno(stream), &status) != 0) return;
    run_.files.check_secret_target(status, stream == stdout ? "standard output" : "standard error",
                                   "--json");
  }

  void warn() const {
    if (!plan_.reporting.quiet) warn_of_open_files(run_.files.secrets());
  }

  // Finds the files that several inputs and -r name. Writes nothing.
  [[nodiscard]] Found find() { return find_inputs(run_); }

  // Throws InvalidArgument if the run would remove or replace a file that holds one of its secrets.
  // Reads these secrets for it.
  void check_contents(const Found& found) {
    if (!run_.files.changes_files() || found.waiting == 0 || plan_.verb == Verb::verify) return;
    run_.messages.load_secrets();
    if (plan_.verb == Verb::rekey) run_.new_messages.load_secrets();
    for (std::size_t i = 0; i < found.files.size(); ++i) {
      const FoundFile& file = found.files[i];
      if (file.state != FileState::waiting || !file.regular) continue;
      const bool fits = run_.known.may_be_in(file.bytes);
      if (fits && plan_.removes) {
        run_.files.check_input_contents(found.files.place(file), found.files.found_as(file));
      }
      // rekey replaces its inputs.
      if (file.replaces_small || (fits && plan_.verb == Verb::rekey)) {
        run_.files.check_target_contents(found.output(file).value_or(found.files.place(file)),
                                         found.files.shown(file), found.files.found_as(file));
      }
    }
  }

  int several(Found all) {
    found_ = std::move(all);
    Found& found = *found_;
    say_left_out(found);
    if (!found.any()) {
      say(nothing_found_text(plan_, found));
      return end(summary(found, exit_usage));
    }
    for (const Found::Refused& refused : found.refused) {
      refuse(refused.input, refused.reason, refused.exit);
    }
    if (found.outputs) {
      for (const auto& [folder, why] : found.outputs->make()) refuse(folder, why, exit_failed);
    }
    {
      Progress progress(plan_.reporting.bar, bytes_to_process(found));
      process_all(found);
      progress.finish(failed_ == 0);
    }
    if (found.outputs) finish_folders(*found.outputs);
    sync_folders();
    remove_sources();
    const bool all_done = failed_ == 0 && status_ == exit_done;
    const RunSummary result = summary(found, all_done ? exit_done : exit_some_failed);
    if (!plan_.reporting.quiet) say(summary_text(plan_.verb, result, found));
    return end(result);
  }

 private:
  // How much of a file there is to process, if that is known.
  [[nodiscard]] std::optional<std::uint64_t> bytes_to_process(const std::string& input) const {
    std::optional<std::uint64_t> bytes = size_of_file(input);
    if (bytes) *bytes = plan_.plain_bytes(*bytes);
    if (bytes) *bytes -= std::min(*bytes, plan_.offset);
    if (bytes && plan_.length) *bytes = std::min(*bytes, *plan_.length);
    return bytes;
  }

  [[nodiscard]] std::uint64_t bytes_to_process(const Found& found) const {
    std::uint64_t bytes = 0;
    for (std::size_t i = 0; i < found.files.size(); ++i) {
      const FoundFile& file = found.files[i];
      if (file.state == FileState::waiting) bytes += plan_.plain_bytes(file.bytes);
    }
    return bytes;
  }

  // How many files are processed concurrently.
  [[nodiscard]] std::size_t concurrent_files() const {
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

  // Calls body(worker, file) for each file < count. There are concurrent_files() workers.
  void for_each_file(std::size_t count,
                     const std::function<void(unsigned, std::size_t)>& body) const {
    // Compiling a program for a GPU needs a stack of the usual size.
    for_each_job(
        static_cast<unsigned>(concurrent_files()), count,
        [&](unsigned worker, std::uint64_t file) { body(worker, static_cast<std::size_t>(file)); },
        plan_.on_gpu ? StackSize::usual : StackSize::small);
  }

  // One of several concurrent files.
  [[nodiscard]] static FileJob small_job(const Found& found, const FoundFile& file) {
    FileJob job = found.job(file);
    job.threads = 1;
    job.alone = true;
    return job;
  }

  void process_all(Found& found) {
    FileList& files = found.files;
    if (plan_.on_gpu) process_in_groups(found);
    {
      std::vector<SmallFileTask::Buffers> buffers(concurrent_files());
      for_each_file(files.size(), [&](unsigned worker, std::size_t i) {
        FoundFile& file = files[i];
        if (file.state != FileState::waiting || file.bytes > small_file_bytes) return;
        const bool whole = is_processed_whole(file);
        if (whole && plan_.on_gpu) return;  // done
        if (!process_unless_out_of_memory(found, file, whole ? &buffers[worker] : nullptr)) {
          file.state = FileState::out_of_memory;
        }
      });
    }
    for (std::size_t i = 0; i < files.size(); ++i) {
      if (files[i].state == FileState::out_of_memory) process(small_job(found, files[i]));
    }
    for (std::size_t i = 0; i < files.size(); ++i) {
      const FoundFile& file = files[i];
      if (file.state != FileState::waiting || file.bytes <= small_file_bytes) continue;
      FileJob job = found.job(file);
      job.threads = plan_.execution.threads;
      process(job);
    }
    for (const auto& [number, id] : found.repeated) process_again(found, number, id);
  }

  // Another name of a file that was rekeyed. If it is a hard link, the old file is still there.
  void process_again(const Found& found, std::uint32_t number, const FileId& id) {
    FileJob job = found.job(found.files[number]);
    job.found = nullptr;  // not a part of the total
    job.threads = plan_.execution.threads;
    if (is_file(job.input, id)) {
      process(job);
      return;
    }
    report_skipped(job.input.shown, "it was rekeyed by another name");
  }

  // Whether small files are processed in memory, as a whole: see SmallFileTask.
  [[nodiscard]] bool processes_whole_files() const {
    const bool whole =
        !plan_.salvage && plan_.offset == 0 && !plan_.length && plan_.verb != Verb::rekey;
    return plan_.overlap && is_authenticated(plan_.format) && whole;
  }

  [[nodiscard]] bool is_processed_whole(const FoundFile& file) const {
    return processes_whole_files() && file.state == FileState::waiting && file.regular &&
           file.bytes <= SmallFileTask::most_bytes;
  }

  void process_in_groups(const Found& found) {
    std::vector<const FoundFile*> group;
    std::uint64_t bytes = 0;
    const auto process_and_clear = [&] {
      if (!group.empty()) process_group(found, group);
      group.clear();
      bytes = 0;
    };
    for (std::size_t i = 0; i < found.files.size(); ++i) {
      const FoundFile& file = found.files[i];
      if (!is_processed_whole(file)) continue;
      if (group.size() == most_group_files || bytes + file.bytes > most_group_bytes) {
        process_and_clear();
      }
      group.push_back(&file);
      bytes += file.bytes;
    }
    process_and_clear();
  }

  // Reads all files of a group, processes their messages together, and writes the outputs.
  void process_group(const Found& found, const std::vector<const FoundFile*>& files) {
    if (files.size() == 1) {
      process(small_job(found, *files[0]));
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
      entry.job = small_job(found, *files[i]);
      entry.outcome.report = new_report(entry.job.input.shown);
      attempt(entry.outcome, [&] {
        auto task = std::make_unique<SmallFileTask>(run_, entry.job, progress_of_file_,
                                                    entry.outcome, entry.buffers);
        if (task->read()) entry.task = std::move(task);
      });
      if (!entry.task) finish(entry.job, std::move(entry.outcome));
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
      say(fmt::format("{} files at once", ready.size()));
    }
    for_each_file(ready.size(), [&](unsigned, std::size_t i) {
      Entry& entry = *ready[i];
      attempt(entry.outcome, [&] {
        if (failure) std::rethrow_exception(failure);
        entry.task->write(messages[i]);
      });
      entry.task.reset();
      finish(entry.job, std::move(entry.outcome));
    });
  }

  [[nodiscard]] RunReport new_report(const std::string& input) const {
    RunReport report;
    report.input = input;
    report.format = format_name(plan_.format);
    report.device = plan_.on_gpu ? plan_.execution.device : "cpu";
    report.kernel = std::string(plan_.kernel.name);
    return report;
  }

  // Processes one file. Reports its errors instead of throwing them.
  void process(const FileJob& job) {
    FileOutcome outcome;
    outcome.report = new_report(job.input.shown);
    attempt(outcome, [&] { run_task(job, outcome); });
    finish(job, std::move(outcome));
  }

  // Processes one of several concurrent files, in `buffers` if it is to be in memory as a whole.
  // Returns false, without a report, if memory ran out: the other files may have used all of it, so
  // that another attempt can succeed later. Not once the output gets its name, which an attempt
  // would take for an output of somebody else, or for a message of another key.
  [[nodiscard]] bool process_unless_out_of_memory(const Found& found, const FoundFile& file,
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
      job = small_job(found, file);
      outcome.report = new_report(job.input.shown);
      attempt(outcome, [&] {
        unless_out_of_memory([&] {
          if (buffers == nullptr) {
            run_task(job, outcome);
          } else {
            SmallFileTask(run_, job, progress_of_file_, outcome, *buffers).run();
          }
        });
      });
    });
    if (has_memory) finish(job, std::move(outcome));
    return has_memory;
  }

  void run_task(const FileJob& job, FileOutcome& outcome) {
    OpenFile file(run_, job, progress_of_file_, outcome);
    if (plan_.verb == Verb::rekey) {
      RekeyTask(run_, job, file, outcome).run();
    } else {
      FileTask(run_, job, file, outcome).run();
    }
  }

  // Reports an input that cannot be processed.
  void refuse(const std::string& input, const std::string& why, int exit) {
    RunReport report = new_report(input);
    fail(report, why, exit);
    print(report);
  }

  // Calls `work` and reports what it throws as an error of this file.
  template <class Work>
  void attempt(FileOutcome& outcome, const Work& work) {
    const Progress::Work progress;
    try {
      work();
    } catch (const std::exception& error) {
      const std::lock_guard lock(mutex_);
      fail(outcome.report, error_text(error), exit_status(error));
    }
  }

  // Reports a file that has ended, with or without an error.
  void finish(const FileJob& job, FileOutcome outcome) {
    const RunReport& report = outcome.report;
    // Takes longer than all that needs the lock.
    const std::string json = wants_json(report) ? to_json(report) : "";
    const std::lock_guard lock(mutex_);
    if (job.found != nullptr) {
      // A file that failed or was left out has nothing left to do, and a file may have grown.
      Progress::change_total(static_cast<std::int64_t>(outcome.processed) -
                             static_cast<std::int64_t>(plan_.plain_bytes(job.found->bytes)));
    }
    if (report.status == up_to_date_status) {
      report_up_to_date(report.input, *report.output);
      return;
    }
    for (const std::string& text : outcome.messages) say(text);
    if (!json.empty()) print_json(json);
    some_committed_ = some_committed_ || outcome.committed;
    if (several_ && outcome.committed) {
      note_folder(outcome.committed->output);
    }
    if (report.exit == exit_done) {
      ++done_;
      bytes_ += report.bytes;
      if (plan_.removes && outcome.committed) remove_later(job, *outcome.committed);
    } else if (report.bad_ranges) {
      ++salvaged_;
      status_ = report.exit;  // --salvage found damage, and has reported it
    }
  }

  // Call these two with mutex_ held.
  void note_folder(const Place& output) {
    std::string folder = output.folder();
    // Most files go to the same folder as the one before.
    if (last_folder_ && last_folder_->first == output.root && last_folder_->second == folder)
      return;
    last_folder_.emplace(output.root, std::move(folder));
    folders_.insert(*last_folder_);
  }
  void remove_later(const FileJob& job, CommittedFile& committed) {
    Removal removal;
    removal.input = committed.input;
    removal.output = *committed.written;
    removal.found = job.found;
    // The list of files has the others.
    if (job.found == nullptr || !(committed.output == *job.output)) {
      removal.places = std::make_unique<const RemovalPlaces>(
          RemovalPlaces{job.input, std::move(committed.output)});
    }
    to_remove_.push_back(std::move(removal));
  }

  // The names of the input and of its output, as errors begin with them.
  [[nodiscard]] static std::vector<std::string> names_of(const RunReport& report) {
    return {input_name(report.input), output_name(report.output.value_or(""))};
  }

  // Call it with mutex_ held, or before threads are started.
  void fail(RunReport& report, const std::string& text, int exit) {
    report.exit = exit;
    const std::string name = input_name(report.input) + ": ";
    report.status = text.starts_with(name) ? text.substr(name.size()) : text;
    ++failed_;
    if (!several_) status_ = exit;
    if (exit == exit_closed_pipe) return;
    say(with_name(text, names_of(report)));
  }

  [[nodiscard]] bool wants_json(const RunReport& report) const {
    return plan_.reporting.json && report.exit != exit_closed_pipe;
  }
  void print(const RunReport& report) {
    if (wants_json(report)) print_json(to_json(report));
  }

  void print_json(const std::string& object) {
    try {
      print_line(plan_.reporting.json_stream, object);
    } catch (const IoError& error) {
      ++failed_;
      if (!several_) status_ = exit_failed;
      say(error.what());
    }
  }

  void advance(std::uint64_t more) {
    const std::lock_guard lock(mutex_);
    read_ += more;
    Progress::update(read_);
  }

  // Reports an error with a folder of outputs, and keeps all sources.
  void fail_folders(const std::exception& error) {
    ++failed_;
    if (!several_) status_ = exit_failed;
    to_remove_.clear();
    say(error.what());
  }

  void finish_folders(OutputTree& outputs) {
    if (failed_ != 0 && !some_committed_ && up_to_date_ == 0) outputs.remove_empty();
    const mode_t most = plan_.verb == Verb::encrypt ? 0777U : default_mode(0777);
    for (const std::string& error : outputs.set_modes(most)) fail_folders(Error(error));
    for (const std::string& folder : outputs.changed_folders()) {
      folders_.emplace(outputs.root(), folder);
    }
  }

  void sync_folders() {
    for (const auto& [root, path] : folders_) {
      try {
        root->open(path)->sync(plan_.removes);
      } catch (const IoError& error) {
        fail_folders(
            Error(fmt::format("{}; the outputs in it may not be on the disk", error.what())));
      }
    }
  }

  void remove_sources() {
    const bool keep_identities = run_.messages.kind() == SecretKind::recipients;
    FileIdSet removed;  // inputs can overlap: t and t/sub
    for (const Removal& removal : to_remove_) {
      const RemovalPlaces places =
          removal.places
              ? *removal.places
              : RemovalPlaces{found_->files.place(*removal.found), *found_->output(*removal.found)};
      if (!removed.insert(removal.input.id) && !is_there(places.input)) continue;
      const auto error = remove_source(places.input, {removal.input, places.output, removal.output},
                                       run_.files, keep_identities);
      if (!error) continue;
      ++failed_;
      if (!several_) status_ = exit_failed;
      say(*error);
    }
  }

  // Reports the inputs of a run that are left out.
  void say_left_out(const Found& found) {
    for (const SkippedEntries::Entry& entry : found.skipped.entries()) {
      const std::string why = reason_of(entry.why, plan_.verb);
      report_skipped(found.files.shown({.name = entry.name, .folder = entry.folder}), why);
    }
    for (std::size_t i = 0; i < found.files.size() && found.up_to_date != 0; ++i) {
      const FoundFile& file = found.files[i];
      if (file.state != FileState::up_to_date) continue;
      report_up_to_date(found.files.shown(file), found.output(file)->shown);
    }
  }

  // Reports an input that is not processed, and why.
  void report_skipped(const std::string& input, const std::string& why) {
    if (plan_.reporting.verbose) say(fmt::format("{}: skipped: {}", input, why));
    RunReport report;
    report.input = input;
    report.status = skipped_status;
    report.reason = why;
    print(report);
  }

  // Reports an input that --update leaves out.
  void report_up_to_date(const std::string& input, const std::string& output) {
    ++up_to_date_;
    if (!plan_.reporting.quiet && (!several_ || plan_.reporting.verbose)) {
      say(fmt::format("{}: {} is up to date", input, output));
    }
    RunReport report;
    report.input = input;
    report.output = output;
    report.status = up_to_date_status;
    print(report);
  }

  // Prints the last line of --json. Returns the exit status.
  int end(const RunSummary& summary) {
    const std::uint64_t failed = failed_;
    if (plan_.reporting.json) print_json(to_json(summary));
    return failed_ == failed ? summary.exit : exit_some_failed;
  }

  [[nodiscard]] RunSummary summary(const Found& found, int exit) const {
    return {.files = done_,
            .bytes = bytes_,
            .salvaged = salvaged_,
            .up_to_date = up_to_date_,
            .skipped = found.skipped.total(),
            .failed = failed_,
            .seconds = std::chrono::duration<double>(Clock::now() - start_).count(),
            .exit = exit};
  }

  const Plan& plan_;
  const bool several_;
  const Clock::time_point start_ = Clock::now();
  RunContext run_;
  const FileProgress progress_of_file_ = [this](std::uint64_t more) { advance(more); };
  std::mutex mutex_;
  std::uint64_t read_ = 0;
  std::uint64_t done_ = 0;
  std::uint64_t salvaged_ = 0;
  std::uint64_t up_to_date_ = 0;
  bool some_committed_ = false;
  std::uint64_t failed_ = 0;
  std::uint64_t bytes_ = 0;
  int status_ = exit_done;
  std::set<std::pair<std::shared_ptr<const TreeRoot>, std::string>> folders_;  // to be synced
  std::optional<std::pair<std::shared_ptr<const TreeRoot>, std::string>> last_folder_;
  std::optional<Found> found_;  // of several inputs
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
  std::deque<Removal> to_remove_;
};

}  // namespace

int refuse_run(const Reporting& reporting, const std::exception& error) {
  RunReport report;
  report.input = reporting.input;
  report.format = reporting.format;
  report.status = error_text(error);
  report.exit = say_error(error);
  if (reporting.json && report.exit != exit_closed_pipe) {
    print_line(reporting.json_stream, to_json(report));
    if (reporting.several) {
      const RunSummary summary = {.failed = 1, .exit = report.exit};
      print_line(reporting.json_stream, to_json(summary));
    }
  }
  return report.exit;
}

int run_batch(Plan plan, Distributor* distributor) {
  Progress::listen();
  remember_umask();
  std::optional<Batch> batch;
  Found found;
  try {
    batch.emplace(plan, distributor);
    try {
      batch->check_streams();
    } catch (const InvalidArgument& error) {
      return say_error(error);  // not as JSON, which would go to the file of the secret
    }
    batch->warn();
    if (plan.several) {
      found = batch->find();
      batch->check_contents(found);
    }
    const auto bytes = plan.several ? std::optional(found.bytes) : size_of_file(plan.inputs[0]);
    if (bytes) use_profile(*bytes, plan);
    if (found.outputs && found.any() && (found.waiting != 0 || found.outputs->mirrors())) {
      found.outputs->make_top();
    }
  } catch (const std::exception& error) {
    return refuse_run(plan.reporting, error);
  }
  return plan.several ? batch->several(std::move(found)) : batch->single();
}

}  // namespace paraes::cli
