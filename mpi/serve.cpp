#include "mpi/serve.hpp"

#include <fcntl.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <functional>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "mpi/measure.hpp"
#include "mpi/orders.hpp"
#include "mpi/pieces.hpp"
#include "paraes/error.hpp"
#include "paraes/io.hpp"
#include "paraes/kernels.hpp"

namespace paraes::mpi {
namespace {

using Clock = std::chrono::steady_clock;

// Tells rank 0 of the progress no more often than this.
constexpr auto report_interval = std::chrono::milliseconds(100);

FileSource open_source(const std::string& path) {
  Descriptor descriptor(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (descriptor.get() < 0) {
    const int code = errno;
    throw IoError("cannot open " + path + ": " + std::generic_category().message(code) +
                      "; the ranks need one file system (or --distribute scatter)",
                  code);
  }
  return {std::move(descriptor), path};
}

// Throws IoError unless `source` is what rank 0 has under its name: a folder on the way may be
// another one here, or have been swapped since.
void check_same(const FileSource& source, const Order& order) {
  constexpr const char* advice = "; the ranks need one file system (or --distribute scatter)";
  if (source.size() != order.version.size) {
    throw IoError(order.source + " has " + std::to_string(source.size()) + " bytes here and " +
                      std::to_string(order.version.size) +
                      " on rank 0: it is another file, or it has changed" + advice,
                  0);
  }
  FileVersion here = source.version();
  here.id.device = order.version.id.device;
  if (here == order.version) return;
  throw IoError(order.source + " is another file than on rank 0, or it has changed" + advice, 0);
}

class Server {
 public:
  Server(const Ranks& ranks, const Execution& execution) : ranks_(ranks), execution_(execution) {}

  int run() {
    for (;;) {
      Packet packet = ranks_.receive(0, Tag::order);
      const auto task = static_cast<Task>(packet.number());
      if (task == Task::measure) {
        measure(std::move(packet));
        continue;
      }
      Order order = unpack_order(task, packet);
      if (order.task == Task::quit) {
        for (std::thread& session : sessions_) session.join();
        return static_cast<int>(order.number);
      }
      Answer answer;
      try {
        if (order.task == Task::help) {
          help(order);
        } else {
          share(order, answer);
        }
      } catch (...) {
        answer = answer_of_current_exception();
        if (answer.kind != Answer::Kind::stopped && order.task != Task::help) {
          ranks_.send_to_others(Tag::stop, pack_stop(order.number));
        }
      }
      answer.number = order.number;
      ranks_.send(0, Tag::done, pack(answer));
    }
  }

 private:
  void tell(std::uint64_t number, std::uint64_t more) const {
    Packet packet;
    packet.add(number);
    packet.add(more);
    ranks_.send(0, Tag::progress, packet);
  }

  void share(Order& order, Answer& answer) {
    FileSource source = open_source(order.source);
    const bool seals = order.task == Task::seal;
    check_same(source, order);
    std::optional<SharedSink> sink;
    if (!order.sink.empty()) {
      sink.emplace(order.sink, order.shown);
      if (sink->inode() != order.inode) {
        throw IoError(order.sink +
                          " is another file than on rank 0; the ranks need one file system (or "
                          "--distribute scatter)",
                      0);
      }
    }
    const Message message(std::move(order.parts), execution_);
    OpenOptions options;
    options.threads = execution_.threads;
    options.overlap = order.overlap;
    options.offset = order.offset;
    options.length = order.length;
    options.share = {.index = static_cast<unsigned>(ranks_.rank()),
                     .count = static_cast<unsigned>(ranks_.size())};
    if (order.salvages) options.salvage = &answer.bad;
    std::uint64_t told = 0;
    Clock::time_point last = Clock::now();
    options.progress = [&](std::uint64_t done) {
      while (auto received = ranks_.poll(Ranks::any_rank, Tag::stop)) {
        if (received->packet.number() == order.number) throw Stopped();
      }
      if (Clock::now() - last < report_interval) return;
      last = Clock::now();
      tell(order.number, done - std::exchange(told, done));
    };
    if (seals) {
      static_cast<TransferResult&>(answer.result) = seal_message(source, message, *sink, options);
    } else {
      answer.result = open_message(source, message, sink ? &*sink : nullptr, options);
    }
    // Rank 0's host sees what it holds itself; other hosts have to hand theirs over.
    if (sink && ranks_.host(ranks_.rank()) != ranks_.host(0)) sink->commit();
  }

  // Rows of bench are there side by side, each until rank 0 ends it.
  void measure(Packet order) {
    const auto held = std::make_shared<Packet>(std::move(order));
    const auto serve = [this, held](const std::string& trouble) {
      try {
        serve_measurement(ranks_, *held, trouble);
      } catch (const std::exception& error) {
        ranks_.complain(error.what());
        ranks_.abort(1);
      }
    };
    // Without a thread the row is refused, and rank 0 ends it at once.
    if (!start(sessions_, [serve] { serve({}); })) serve("no thread can be started for this row");
  }

  // Computes pieces until rank 0 has enough of it.
  void help(Order& order) {
    const Message message(std::move(order.parts), execution_);
    // Rank 0 uses as many slots, whatever number of threads can be started here.
    const unsigned count = threads_of(execution_);
    const unsigned slots = pieces_a_thread * count;
    std::atomic<bool> ended = false;
    // One of `step` threads has every step-th slot.
    const auto work = [&](unsigned thread, unsigned step, const std::function<bool()>& over) {
      for (unsigned slot = thread; !over(); slot = slot + step < slots ? slot + step : thread) {
        const auto number = static_cast<int>(slot);
        unsigned looks = 0;
        auto received = ranks_.wait(0, Tag::piece, number, [&] { return ++looks < 2 && !ended; });
        if (!received) {
          if (slot == thread) std::this_thread::sleep_for(std::chrono::microseconds(50));
          continue;
        }
        HeldPiece piece = unpack_piece(received->packet);
        const Clock::time_point begin = Clock::now();
        if (order.encrypts) {
          message.cipher().crypt(Direction::encrypt, piece.run);
        } else {
          message.cipher().crypt(Direction::decrypt, piece.run);
        }
        ranks_.send(0, Tag::result, pack_result(piece, nanoseconds_since(begin)), number);
      }
    };
    const auto work_or_abort = [&](unsigned thread, unsigned step,
                                   const std::function<bool()>& over) {
      try {
        work(thread, step, over);
      } catch (const std::exception& error) {
        // Rank 0 waits for this piece, and for no other answer.
        ranks_.complain(error.what());
        ranks_.abort(1);
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
    std::optional<Packet> last;
    if (threads.empty()) {
      work_or_abort(0, 1, [&] {
        if (auto received = ranks_.poll(0, Tag::order)) last.emplace(std::move(received->packet));
        return last.has_value();
      });
    }
    Packet packet = last ? std::move(*last) : ranks_.receive(0, Tag::order);
    const auto task = static_cast<Task>(packet.number());
    ended = true;
    for (std::thread& thread : threads) thread.join();
    if (task != Task::enough) throw Error("an order that is none here");
  }

  // Whether the system gives a thread for `body`.
  template <class Body>
  static bool start(std::vector<std::thread>& threads, const Body& body) {
    try {
      threads.emplace_back(body);
      return true;
    } catch (const std::system_error&) {
      return false;
    } catch (const std::bad_alloc&) {
      return false;
    }
  }

  const Ranks& ranks_;
  const Execution& execution_;
  std::vector<std::thread> sessions_;
};

}  // namespace

int serve(const Ranks& ranks, const Execution& execution) { return Server(ranks, execution).run(); }

}  // namespace paraes::mpi
