#include "mpi/worker.hpp"

#include <atomic>
#include <chrono>
#include <functional>
#include <new>
#include <optional>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "cli/terminal/clock.hpp"
#include "mpi/bench_memory.hpp"
#include "mpi/chunks.hpp"
#include "mpi/commands.hpp"
#include "mpi/same_files.hpp"
#include "paraes/error.hpp"
#include "paraes/io.hpp"
#include "paraes/secret.hpp"

namespace paraes::mpi {
namespace {

using cli::Clock;
using cli::nanoseconds_since;

// The shortest time between two progress reports to rank 0.
constexpr auto report_interval = std::chrono::milliseconds(100);

FileSource open_source(const std::string& path) {
  try {
    return FileSource::open(path);
  } catch (const IoError& error) {
    throw IoError(std::string(error.what()) + same_files_advice, error.code());
  }
}

[[noreturn]] void fail_other(const std::string& problem) {
  throw IoError(problem + same_files_advice, 0);
}

// Throws IoError, about `subject`, unless `here` is the file that rank 0 has open: on this host,
// the path may lead to another one. Device numbers mean the same only on one host. Inodes must be
// equal on all hosts, although some shared file systems number them differently: an error does less
// harm than a mixture of two files.
void check_id(const std::string& subject, const FileId& here, const FileId& there, bool one_host) {
  if (one_host && here.device != there.device) {
    fail_other(subject + " is on another file system than on rank 0");
  }
  if (here.inode != there.inode) fail_other(subject + " is another file than on rank 0");
}

void check_source(const FileSource& source, const Command& command, bool one_host) {
  const FileVersion& here = source.version();
  const FileVersion& there = command.version;
  if (here.size != there.size) {
    fail_other(command.source + ": it has " + std::to_string(here.size) + " bytes here and " +
               std::to_string(there.size) + " on rank 0: it is another file, or it has changed");
  }
  check_id(command.source + ": it", here.id, there.id, one_host);
  FileVersion same = here;
  same.id = there.id;
  if (!(same == there)) {
    fail_other(command.source + ": it is another file than on rank 0, or it has changed");
  }
  if (!has_samples(source, command.samples)) {
    fail_other(
        command.source +
        ": it has other contents than on rank 0, though its inode, size and time are the same");
  }
}

// Starts a thread that runs `body`. Returns false if the system cannot start one.
bool start(std::vector<std::thread>& threads, const auto& body) {
  try {
    threads.emplace_back([body] {
      body();
      wipe_stack();  // the system may give it to another thread
    });
    return true;
  } catch (const std::system_error&) {
    return false;
  } catch (const std::bad_alloc&) {
    return false;
  }
}

Command next_command(const Ranks& ranks) {
  try {
    return ranks.receive(0, Tag::command).read<Command>();
  } catch (const std::exception& error) {
    // The number of the command is unknown, so rank 0 would wait for its reply for ever.
    ranks.print_error(error.what());
    ranks.abort(1);
  }
}

void share(const Ranks& ranks, const Execution& execution, Command& command, Reply& reply) {
  if (command.task != Task::seal && command.task != Task::open) throw Error("unexpected command");
  const bool one_host = ranks.on_root_host();
  FileSource source = open_source(command.source);
  check_source(source, command, one_host);
  std::optional<SharedSink> sink;
  if (!command.sink.empty()) {
    sink.emplace(command.sink, command.shown);
    check_id(sink_of(command), sink->id(), command.sink_id, one_host);
    sink->write_at(command.tokens.offset(ranks.rank()), command.tokens.token(ranks.rank()));
    if (!one_host) sink->sync();
    ranks.send(0, Tag::progress, serialized(ProgressReport{command.number, 0}));
  }
  const Message message(std::move(command.parts), execution);
  OpenOptions options;
  options.threads = execution.threads;
  options.overlap = command.overlap;
  options.offset = command.offset;
  options.length = command.length;
  options.share = {.index = static_cast<unsigned>(ranks.rank()),
                   .count = static_cast<unsigned>(ranks.size())};
  if (command.salvages) options.salvage = &reply.bad;
  std::uint64_t reported = 0;
  Clock::time_point last = Clock::now();
  options.progress = [&](std::uint64_t done) {
    while (auto received = ranks.poll(Ranks::any_rank, Tag::stop)) {
      if (received->message.read<std::uint64_t>() == command.number) throw Stopped();
    }
    if (Clock::now() - last < report_interval) return;
    last = Clock::now();
    const ProgressReport report{command.number, done - std::exchange(reported, done)};
    ranks.send(0, Tag::progress, serialized(report));
  };
  if (command.task == Task::seal) {
    if (!sink) throw Error("unexpected command");
    static_cast<TransferResult&>(reply.result) = seal_message(source, message, *sink, options);
  } else {
    reply.result = open_message(source, message, sink ? &*sink : nullptr, options);
  }
  // On rank 0's host, the commit of rank 0 is enough. Other hosts must write back their own caches.
  if (sink && !one_host) sink->commit();
}

// Several rows of bench can be set up at once. Each has a thread here until rank 0 ends its
// session.
void measure(const Ranks& ranks, int session, std::vector<std::thread>& sessions) {
  const auto run_session = [&ranks, session](const std::string& error_text) {
    try {
      measure_on_worker(ranks, session, error_text);
    } catch (const std::exception& error) {
      ranks.print_error(error.what());
      ranks.abort(1);
    }
  };
  // Without a thread, rank 0 skips the row and ends the session at once.
  if (!start(sessions, [run_session] { run_session({}); })) {
    run_session("no thread can be started for this row");
  }
}

// Computes chunks until rank 0 sends Task::finish.
void compute(const Ranks& ranks, const Execution& execution, Command& command) {
  const Message message(std::move(command.parts), execution);
  // Rank 0 uses this number of slots, even if fewer threads can be started here.
  const unsigned count = threads_of(execution);
  const unsigned slots = chunks_per_thread * count;
  std::atomic<bool> ended = false;
  // `step` threads share the slots: thread number `thread` has every step-th slot from there on.
  const auto work = [&](unsigned thread, unsigned step, const std::function<bool()>& over) {
    for (unsigned slot = thread; !over(); slot = slot + step < slots ? slot + step : thread) {
      const auto number = static_cast<int>(slot);
      unsigned polls = 0;
      auto received = ranks.wait(0, Tag::chunk, number, [&] { return ++polls < 2 && !ended; });
      if (!received) {
        if (slot == thread) std::this_thread::sleep_for(std::chrono::microseconds(50));
        continue;
      }
      HeldChunk chunk(received->message, command.seals);
      const Clock::time_point begin = Clock::now();
      message.cipher().crypt(command.seals ? Direction::encrypt : Direction::decrypt,
                             chunk.segments());
      ranks.send(0, Tag::chunk_result, chunk.serialized_result(nanoseconds_since(begin)), number);
    }
  };
  const auto work_or_abort = [&](unsigned thread, unsigned step,
                                 const std::function<bool()>& over) {
    try {
      work(thread, step, over);
    } catch (const std::exception& error) {
      // Rank 0 waits for the result of this chunk: an error reply would not reach it.
      ranks.print_error(error.what());
      ranks.abort(1);
    }
  };
  std::vector<std::thread> threads;
  std::atomic<unsigned> started = 0;  // none yet
  for (unsigned t = 0; t < count; ++t) {
    const auto body = [&, t] {
      started.wait(0);
      work_or_abort(t, started, [&] { return ended.load(); });
    };
    if (!start(threads, body)) break;
  }
  started = static_cast<unsigned>(threads.size());
  started.notify_all();
  std::optional<Serializer> last;
  if (threads.empty()) {
    work_or_abort(0, 1, [&] {
      if (auto received = ranks.poll(0, Tag::command)) last.emplace(std::move(received->message));
      return last.has_value();
    });
  }
  const Serializer message_of_end = last ? std::move(*last) : ranks.receive(0, Tag::command);
  ended = true;
  for (std::thread& thread : threads) thread.join();
  if (message_of_end.read<Command>().task != Task::finish) throw Error("unexpected command");
}

}  // namespace

int run_worker(const Ranks& ranks, const Execution& execution) {
  std::vector<std::thread> sessions;  // one for each row that is measured
  for (;;) {
    Command command = next_command(ranks);
    if (command.task == Task::measure) {
      measure(ranks, command.session, sessions);
      continue;
    }
    if (command.task == Task::quit) {
      for (std::thread& session : sessions) session.join();
      return command.exit_status;
    }
    Reply reply;
    try {
      if (command.task == Task::compute) {
        compute(ranks, execution, command);
      } else {
        share(ranks, execution, command, reply);
      }
    } catch (...) {
      reply = reply_of_current_exception();
      if (reply.kind != Reply::Kind::stopped && command.task != Task::compute) {
        ranks.send_to_others(Tag::stop, serialized(command.number));
      }
    }
    reply.number = command.number;
    ranks.send(0, Tag::reply, serialized(reply));
  }
}

}  // namespace paraes::mpi
