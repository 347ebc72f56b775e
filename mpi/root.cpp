#include "mpi/root.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <optional>
#include <set>
#include <utility>

#include "cli/terminal/clock.hpp"
#include "mpi/chunks.hpp"
#include "mpi/same_files.hpp"
#include "paraes/error.hpp"

namespace paraes::mpi {
namespace {

using cli::Clock;
using cli::nanoseconds_since;

// A source or a sink as the class that files have. Other ranks can open only files.
template <class File>
const File& file_of(const auto& base) {
  const auto* file = dynamic_cast<const File*>(&base);
  if (file == nullptr) throw Error("ranks can only share files");
  return *file;
}

}  // namespace

// Adds up how much of a command all ranks have done. Called by one thread at a time.
class Root::Progress {
 public:
  Progress(const Ranks& ranks, std::uint64_t number,
           const std::function<void(std::uint64_t)>& report)
      : ranks_(ranks), number_(number), report_(report) {}

  // Records that this rank has done `done` bytes.
  void set_own(std::uint64_t done) {
    own_ = done;
    receive();
  }

  // Receives the reports of the other ranks.
  void receive() {
    while (auto received = ranks_.poll(Ranks::any_rank, Tag::progress)) {
      const auto report = received->message.read<ProgressReport>();
      if (report.command != number_) continue;
      others_ += report.bytes;
      started_.insert(received->from);
    }
    if (report_ && own_ + others_ != reported_) {
      reported_ = own_ + others_;
      report_(reported_);
    }
    while (auto received = ranks_.poll(Ranks::any_rank, Tag::stop)) {
      if (received->message.read<std::uint64_t>() == number_) stopped_ = true;
    }
  }
  [[nodiscard]] bool stopped() const noexcept { return stopped_; }
  // Whether all other ranks have left their tokens in the output.
  [[nodiscard]] bool all_started() const noexcept {
    return started_.size() + 1 == static_cast<std::size_t>(ranks_.size());
  }

 private:
  const Ranks& ranks_;
  std::uint64_t number_;
  const std::function<void(std::uint64_t)>& report_;
  std::uint64_t own_ = 0;
  std::uint64_t others_ = 0;
  std::uint64_t reported_ = 0;
  std::set<int> started_;
  bool stopped_ = false;
};

Command Root::new_command(Task task, const Message& message, const Names& names) {
  Command command;
  command.task = task;
  command.number = ++number_;
  const Message::Parts& parts = message.parts();
  command.parts.header = parts.header;
  command.parts.layout = parts.layout;
  command.parts.secret.key = SecretBytes(parts.secret.key.span());
  command.parts.secret.base_nonce = parts.secret.base_nonce;
  command.parts.secret.nonces = parts.secret.nonces;
  command.parts.commits = parts.commits;
  command.source = names.source;
  command.sink = names.sink;
  command.shown = names.shown;
  return command;
}

void Root::send_to_all(const Command& command) const {
  ranks_.send_to_others(Tag::command, serialized(command));
}

std::vector<Reply> Root::collect(const Command& command, Progress* progress, bool quiet) const {
  std::vector<Reply> replies;
  for (int other = 1; other < ranks_.size(); ++other) {
    for (;;) {
      auto received = ranks_.wait(other, Tag::reply, 0, [&] {
        if (progress != nullptr) progress->receive();
        return true;
      });
      auto reply = received->message.read<Reply>();
      if (reply.number != command.number) continue;
      replies.push_back(std::move(reply));
      break;
    }
  }
  if (quiet) return replies;
  for (std::size_t i = 0; i < replies.size(); ++i) {
    const Reply& reply = replies[i];
    if (reply.kind == Reply::Kind::good || reply.kind == Reply::Kind::stopped) continue;
    throw_reply(reply, ranks_.name(static_cast<int>(i) + 1), files_of(command));
  }
  return replies;
}

OpenResult Root::share(Command command, const Source& source, const Sink* sink,
                       std::uint64_t max_bytes, const OpenOptions& options, const auto& work) {
  const auto& file = file_of<FileSource>(source);
  command.version = file.version();
  command.samples = take_samples(file);
  command.overlap = options.overlap;
  std::optional<SharedOutput> output;
  if (sink != nullptr) {
    output.emplace(file_of<FileSink>(*sink), command.sink, command.shown, max_bytes, ranks_.size());
    command.sink_id = output->id();
    command.tokens = output->tokens();
  }
  bool unchecked = output.has_value();
  const auto check_tokens = [&] {
    unchecked = false;
    const int other = output->find_missing();
    if (other == 0) return;
    throw IoError(with_rank(sink_of(command), ranks_.name(other), files_of(command)) +
                      " is another file than on rank 0, though its inode is the same" +
                      same_files_advice,
                  0);
  };
  send_to_all(command);
  Progress progress(ranks_, command.number, options.progress);
  OpenOptions own = options;
  std::vector<BadRange> bad;
  if (options.salvage != nullptr) own.salvage = &bad;
  own.share = {.index = 0, .count = static_cast<unsigned>(ranks_.size())};
  own.progress = [&](std::uint64_t done) {
    progress.set_own(done);
    if (progress.stopped()) throw Stopped();
    if (unchecked && progress.all_started()) check_tokens();
  };
  OpenResult result;
  try {
    result = work(own);
  } catch (const Stopped&) {
    static_cast<void>(collect(command, &progress, false));
    throw Error("a rank stopped without reporting an error");
  } catch (...) {
    ranks_.send_to_others(Tag::stop, serialized(command.number));
    static_cast<void>(collect(command, &progress, true));
    throw;
  }
  for (const Reply& reply : collect(command, &progress, false)) {
    result.segments += reply.result.segments;
    result.intact += reply.result.intact;
    result.truncated = result.truncated || reply.result.truncated;
    result.times += reply.result.times;
    bad.insert(bad.end(), reply.bad.begin(), reply.bad.end());
  }
  progress.receive();
  if (unchecked) check_tokens();
  if (output) output->finish(command.task == Task::seal ? result.sealed_bytes : result.plain_bytes);
  if (options.salvage != nullptr) *options.salvage = std::move(bad);
  return result;
}

OpenResult Root::scatter(Command command, const Message& message, const OpenOptions& options,
                         const auto& work) {
  if (!ranks_.has_thread_multiple()) {
    throw Unavailable(
        "this MPI does not allow calls from several threads at once (MPI_THREAD_MULTIPLE), which "
        "--distribute scatter and pipes need");
  }
  command.seals = command.task == Task::seal;
  command.task = Task::compute;
  command.source.clear();
  command.sink.clear();
  send_to_all(command);
  // Workers are this rank's threads, then the slots of the other ranks.
  struct Slot {
    int rank;
    int number;
  };
  std::vector<Slot> slots(threads_[0], Slot{0, 0});
  for (int other = 1; other < ranks_.size(); ++other) {
    const unsigned count = chunks_per_thread * threads_[static_cast<std::size_t>(other)];
    for (unsigned k = 0; k < count; ++k) slots.push_back({other, static_cast<int>(k)});
  }
  std::atomic<std::uint64_t> sending = 0;
  std::atomic<std::uint64_t> computing = 0;
  std::atomic<std::uint64_t> fetching = 0;
  OpenOptions own = options;
  own.workers = static_cast<unsigned>(slots.size());
  own.compute = [&](unsigned worker, std::span<SegmentCipher::Segment> segments) {
    const Slot slot = slots.at(worker);
    const Clock::time_point start = Clock::now();
    if (slot.rank == 0) {
      message.cipher().crypt(command.seals ? Direction::encrypt : Direction::decrypt, segments);
      computing += nanoseconds_since(start);
      return;
    }
    ranks_.send(slot.rank, Tag::chunk, serialized_chunk(segments), slot.number);
    const Clock::time_point sent = Clock::now();
    const Serializer result = ranks_.receive(slot.rank, Tag::chunk_result, slot.number);
    const std::uint64_t kernel = take_result(result, segments);
    sending += nanoseconds_since(start) - nanoseconds_since(sent);
    computing += kernel;
    const std::uint64_t waited = nanoseconds_since(sent);
    fetching += waited > kernel ? waited - kernel : 0;
  };
  const auto finish = [&] {
    Command end;
    end.task = Task::finish;
    end.number = command.number;
    send_to_all(end);
  };
  OpenResult result;
  try {
    result = work(own);
  } catch (...) {
    finish();
    static_cast<void>(collect(command, nullptr, true));
    throw;
  }
  finish();
  static_cast<void>(collect(command, nullptr, false));
  result.times.kernel = computing;
  result.times.scatter = sending;
  result.times.gather = fetching;
  return result;
}

TransferResult Root::seal(Source& source, const Message& message, Sink& sink,
                          const TransferOptions& options, const Names& names) {
  if (ranks_.size() == 1) return seal_message(source, message, sink, options);
  OpenOptions with;
  static_cast<TransferOptions&>(with) = options;
  const auto work = [&](const OpenOptions& own) {
    OpenResult result;
    static_cast<TransferResult&>(result) = seal_message(source, message, sink, own);
    return result;
  };
  Command command = new_command(Task::seal, message, names);
  if (distribution_ == Distribution::scatter || names.source.empty() || names.sink.empty()) {
    return scatter(std::move(command), message, with, work);
  }
  const std::uint64_t max_bytes = message.layout().sealed_bytes(file_of<FileSource>(source).size());
  return share(std::move(command), source, &sink, max_bytes, with, work);
}

OpenResult Root::open(Source& source, const Message& message, Sink* sink,
                      const OpenOptions& options, const Names& names) {
  if (ranks_.size() == 1) return open_message(source, message, sink, options);
  const auto work = [&](const OpenOptions& own) {
    return open_message(source, message, sink, own);
  };
  Command command = new_command(Task::open, message, names);
  const bool to_pipe = sink != nullptr && names.sink.empty();
  const auto* file = dynamic_cast<const PositionalSource*>(&source);
  if (distribution_ == Distribution::scatter || names.source.empty() || to_pipe ||
      file == nullptr) {
    return scatter(std::move(command), message, options, work);
  }
  command.salvages = options.salvage != nullptr;
  command.offset = options.offset;
  command.length = options.length;
  // The plaintext is shorter than the message.
  const std::uint64_t rest = file->size() - std::min(file->size(), options.offset);
  const std::uint64_t max_bytes = std::min(rest, options.length.value_or(rest));
  OpenResult result = share(std::move(command), source, sink, max_bytes, options, work);
  if (options.salvage != nullptr) finish_salvage(message, result, *options.salvage);
  return result;
}

void dismiss(const Ranks& ranks, int status) {
  Command command;
  command.task = Task::quit;
  command.exit_status = status;
  ranks.send_to_others(Tag::command, serialized(command));
}

}  // namespace paraes::mpi
