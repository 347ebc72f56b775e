#include "mpi/lead.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <optional>
#include <utility>

#include "mpi/pieces.hpp"
#include "paraes/error.hpp"
#include "paraes/kernels.hpp"

namespace paraes::mpi {
namespace {

using Clock = std::chrono::steady_clock;

// By which the other ranks see that they read the same file.
FileVersion version_of(const Source& source) {
  const auto* file = dynamic_cast<const FileSource*>(&source);
  if (file == nullptr) throw Error("ranks share files, and nothing else");
  return file->version();
}

}  // namespace

// What all ranks have done so far. Called by one thread at a time.
class Lead::Progress {
 public:
  Progress(const Ranks& ranks, std::uint64_t number,
           const std::function<void(std::uint64_t)>& report)
      : ranks_(ranks), number_(number), report_(report) {}

  // This rank has done so much.
  void own(std::uint64_t done) {
    own_ = done;
    look();
  }

  // Reads what the others say.
  void look() {
    while (auto received = ranks_.poll(Ranks::any_rank, Tag::progress)) {
      if (received->packet.number() == number_) others_ += received->packet.number();
    }
    if (report_ && own_ + others_ != told_) {
      told_ = own_ + others_;
      report_(told_);
    }
    while (auto received = ranks_.poll(Ranks::any_rank, Tag::stop)) {
      if (received->packet.number() == number_) stopped_ = true;
    }
  }
  [[nodiscard]] bool stopped() const noexcept { return stopped_; }

 private:
  const Ranks& ranks_;
  std::uint64_t number_;
  const std::function<void(std::uint64_t)>& report_;
  std::uint64_t own_ = 0;
  std::uint64_t others_ = 0;
  std::uint64_t told_ = 0;
  bool stopped_ = false;
};

Order Lead::new_order(Task task, const Message& message, const Names& names) {
  Order order;
  order.task = task;
  order.number = ++number_;
  const Message::Parts& parts = message.parts();
  order.parts.header = parts.header;
  order.parts.layout = parts.layout;
  order.parts.secret.key = SecretBytes(parts.secret.key.span());
  order.parts.secret.base_nonce = parts.secret.base_nonce;
  order.parts.secret.nonces = parts.secret.nonces;
  order.parts.commits = parts.commits;
  order.source = names.source;
  order.sink = names.sink;
  order.shown = names.shown;
  if (!names.sink.empty()) order.inode = SharedSink(names.sink, names.shown).inode();
  return order;
}

void Lead::send_to_all(const Order& order) const { ranks_.send_to_others(Tag::order, pack(order)); }

std::vector<Answer> Lead::collect(std::uint64_t number, Progress* progress, bool quiet) const {
  std::vector<Answer> answers;
  for (int other = 1; other < ranks_.size(); ++other) {
    for (;;) {
      auto received = ranks_.wait(other, Tag::done, 0, [&] {
        if (progress != nullptr) progress->look();
        return true;
      });
      answers.push_back(unpack_answer(received->packet));
      if (answers.back().number == number) break;
      answers.pop_back();
    }
  }
  if (quiet) return answers;
  for (std::size_t i = 0; i < answers.size(); ++i) {
    const Answer& answer = answers[i];
    if (answer.kind == Answer::Kind::good || answer.kind == Answer::Kind::stopped) continue;
    throw_answer(answer, ranks_.name(static_cast<int>(i) + 1));
  }
  return answers;
}

template <class Work>
OpenResult Lead::share(const Order& order, const OpenOptions& options, const Work& work) {
  send_to_all(order);
  Progress progress(ranks_, order.number, options.progress);
  OpenOptions own = options;
  std::vector<BadRange> bad;
  if (options.salvage != nullptr) own.salvage = &bad;
  own.share = {.index = 0, .count = static_cast<unsigned>(ranks_.size())};
  own.progress = [&](std::uint64_t done) {
    progress.own(done);
    if (progress.stopped()) throw Stopped();
  };
  OpenResult result;
  try {
    result = work(own);
  } catch (const Stopped&) {
    static_cast<void>(collect(order.number, &progress, false));
    throw Error("a rank has stopped, and did not say why");
  } catch (...) {
    ranks_.send_to_others(Tag::stop, pack_stop(order.number));
    static_cast<void>(collect(order.number, &progress, true));
    throw;
  }
  for (const Answer& answer : collect(order.number, &progress, false)) {
    result.segments += answer.result.segments;
    result.intact += answer.result.intact;
    result.truncated = result.truncated || answer.result.truncated;
    result.times += answer.result.times;
    bad.insert(bad.end(), answer.bad.begin(), answer.bad.end());
  }
  progress.look();
  if (options.salvage != nullptr) *options.salvage = std::move(bad);
  return result;
}

template <class Work>
OpenResult Lead::scatter(Order order, const Message& message, const OpenOptions& options,
                         const Work& work) {
  if (!ranks_.any_threads()) {
    throw Unavailable(
        "this MPI gives its threads no access (MPI_THREAD_MULTIPLE), which --distribute scatter "
        "and pipes need");
  }
  order.encrypts = order.task == Task::seal;
  order.task = Task::help;
  order.source.clear();
  order.sink.clear();
  send_to_all(order);
  // Workers: this rank's threads, then the slots of the others.
  struct Slot {
    int rank;
    int number;
  };
  std::vector<Slot> slots(threads_[0], Slot{0, 0});
  for (int other = 1; other < ranks_.size(); ++other) {
    const unsigned count = pieces_a_thread * threads_[static_cast<std::size_t>(other)];
    for (unsigned k = 0; k < count; ++k) slots.push_back({other, static_cast<int>(k)});
  }
  std::atomic<std::uint64_t> sending = 0;
  std::atomic<std::uint64_t> computing = 0;
  std::atomic<std::uint64_t> fetching = 0;
  OpenOptions own = options;
  own.workers = static_cast<unsigned>(slots.size());
  own.compute = [&](unsigned worker, std::span<SegmentCipher::Segment> run) {
    const Slot slot = slots.at(worker);
    const Clock::time_point start = Clock::now();
    if (slot.rank == 0) {
      if (order.encrypts) {
        message.cipher().seal(run);
      } else {
        message.cipher().open(run);
      }
      computing += nanoseconds_since(start);
      return;
    }
    ranks_.send(slot.rank, Tag::piece, pack_piece(run), slot.number);
    const Clock::time_point sent = Clock::now();
    Packet result = ranks_.receive(slot.rank, Tag::result, slot.number);
    const std::uint64_t kernel = unpack_result(result, run);
    sending += nanoseconds_since(start) - nanoseconds_since(sent);
    computing += kernel;
    const std::uint64_t waited = nanoseconds_since(sent);
    fetching += waited > kernel ? waited - kernel : 0;
  };
  const auto enough = [&] {
    Order end;
    end.task = Task::enough;
    end.number = order.number;
    send_to_all(end);
  };
  OpenResult result;
  try {
    result = work(own);
  } catch (...) {
    enough();
    static_cast<void>(collect(order.number, nullptr, true));
    throw;
  }
  enough();
  static_cast<void>(collect(order.number, nullptr, false));
  result.times.kernel = computing;
  result.times.scatter = sending;
  result.times.gather = fetching;
  return result;
}

TransferResult Lead::seal(Source& source, const Message& message, Sink& sink,
                          const TransferOptions& options, const Names& names) {
  if (ranks_.size() == 1) return seal_message(source, message, sink, options);
  OpenOptions with;
  static_cast<TransferOptions&>(with) = options;
  const auto work = [&](const OpenOptions& own) {
    OpenResult result;
    static_cast<TransferResult&>(result) = seal_message(source, message, sink, own);
    return result;
  };
  Order order = new_order(Task::seal, message, names);
  if (distribution_ == Distribution::scatter || names.source.empty() || names.sink.empty()) {
    return scatter(std::move(order), message, with, work);
  }
  order.version = version_of(source);
  order.overlap = options.overlap;
  return share(order, with, work);
}

OpenResult Lead::open(Source& source, const Message& message, Sink* sink,
                      const OpenOptions& options, const Names& names) {
  if (ranks_.size() == 1) return open_message(source, message, sink, options);
  const auto work = [&](const OpenOptions& own) {
    return open_message(source, message, sink, own);
  };
  Order order = new_order(Task::open, message, names);
  const bool to_pipe = sink != nullptr && names.sink.empty();
  const auto* file = dynamic_cast<const PositionalSource*>(&source);
  if (distribution_ == Distribution::scatter || names.source.empty() || to_pipe ||
      file == nullptr) {
    return scatter(std::move(order), message, options, work);
  }
  order.version = version_of(source);
  order.overlap = options.overlap;
  order.salvages = options.salvage != nullptr;
  order.offset = options.offset;
  order.length = options.length;
  OpenResult result = share(order, options, work);
  if (options.salvage != nullptr) finish_salvage(message, result, *options.salvage);
  return result;
}

void dismiss(const Ranks& ranks, int status) {
  Order order;
  order.task = Task::quit;
  order.number = static_cast<std::uint64_t>(status);
  ranks.send_to_others(Tag::order, pack(order));
}

}  // namespace paraes::mpi
