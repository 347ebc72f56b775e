// paraes-mpi: the verbs of paraes over the ranks of an MPI job.

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <exception>
#include <fstream>
#include <functional>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "bench/bench.hpp"
#include "cli/arguments/options.hpp"
#include "cli/plan/plan.hpp"
#include "cli/run/batch.hpp"
#include "cli/terminal/messages.hpp"
#include "cli/verbs/app.hpp"
#include "cli/words/choices.hpp"
#include "cli/words/errors.hpp"
#include "mpi/bench_plan.hpp"
#include "mpi/executable.hpp"
#include "mpi/ranks.hpp"
#include "mpi/root.hpp"
#include "mpi/worker.hpp"
#include "paraes/devices.hpp"
#include "paraes/error.hpp"
#include "paraes/sha256.hpp"
#include "src/core/system/process.hpp"

namespace paraes::mpi {
namespace {

std::string text_of(const Sha256::Digest& digest) { return {digest.begin(), digest.end()}; }

std::string digest_of_executable() {
  Sha256 hash;
  std::ifstream file(system::executable_path(), std::ios::binary);
  std::vector<char> buffer(std::size_t{1} << 20);
  while (file) {
    file.read(buffer.data(), static_cast<std::streamsize>(buffer.size()));
    hash.add(buffer.data(), static_cast<std::size_t>(file.gcount()));
  }
  return text_of(hash.digest());
}

// Only a digest is sent: a flag may contain a key.
std::string digest_of_flags(int argc, char** argv) {
  Sha256 hash;
  for (int i = 1; i < argc; ++i) hash.add(argv[i], std::char_traits<char>::length(argv[i]) + 1);
  return text_of(hash.digest());
}

// Whether all ranks have the same executable and the same flags. If not, rank 0 prints an error.
bool are_alike(const Ranks& ranks, int argc, char** argv) {
  const auto compare = [&](const std::string& own, const char* difference) {
    const std::vector<std::string> all = ranks.gather_everywhere(own);
    for (std::size_t i = 1; i < all.size(); ++i) {
      if (all[i] == all[0]) continue;
      if (ranks.is_root()) {
        cli::say(ranks.name(static_cast<int>(i)) + " " + difference +
                 " rank 0: start all ranks with the same executable and the same flags");
      }
      return false;
    }
    return true;
  };
  return compare(digest_of_executable(), "runs another executable than") &&
         compare(digest_of_flags(argc, argv), "was given other flags than");
}

// "cuda" without a number: the ranks of a host take its GPUs in turn.
std::string own_device(const Ranks& ranks, const std::string& device) {
  constexpr std::string_view pair = "cpu+";
  if (device.rfind(pair, 0) == 0) {
    return std::string(pair) + own_device(ranks, device.substr(pair.size()));
  }
  if (std::find(gpu_runtimes.begin(), gpu_runtimes.end(), device) == gpu_runtimes.end()) {
    return device;
  }
  unsigned count = 0;
  for (const DeviceInfo& info : runtime_devices(device)) {
    if (info.id.rfind(device + ":", 0) == 0) ++count;
  }
  return count == 0 ? device : device + ":" + std::to_string(ranks.local_rank() % count);
}

class MpiExecutable {
 public:
  explicit MpiExecutable(const Ranks& ranks) : ranks_(ranks) {}

  // Call it after run_app, with its status. If this rank did not reach its verb, the others may be
  // waiting for it, and get a reply. Returns the exit status of all ranks.
  [[nodiscard]] int finish(int status) const {
    if (verb_was_reached_) return status;
    if (ranks_.is_root()) {
      dismiss(ranks_, status);
      return status;
    }
    Reply absent;
    absent.kind = Reply::Kind::failed;
    absent.text = "it could not start, but rank 0 could: its environment differs";
    ranks_.send(0, Tag::reply, serialized(absent));
    return run_worker(ranks_, {});
  }

  // Its callbacks refer to this object.
  [[nodiscard]] cli::ExecutableInfo info() {
    return mpi_executable(
        flags_,
        {
            .crypt = [this](const cli::CryptOptions& options) { return crypt(options); },
            .measure = [this](const bench::Axes& axes,
                              const bench::Options& options) { return measure(axes, options); },
        });
  }

 private:
  [[nodiscard]] static Distribution parse_distribution(const std::string& name) {
    return cli::pick("--distribute", distribution_choices, name);
  }

  int crypt(const cli::CryptOptions& given) {
    verb_was_reached_ = true;
    if (!ranks_.is_root()) {
      return run_as_worker([&] {
        static_cast<void>(parse_distribution(flags_.distribute));
        cli::Reporting unused;
        return make_plan(given, unused).execution;
      });
    }
    return run_as_root([&](OtherRanks others) {
      const Distribution distribution = parse_distribution(flags_.distribute);
      cli::begin_run();
      cli::Reporting reporting;
      std::optional<cli::Plan> plan;
      try {
        plan = make_plan(given, reporting);
      } catch (const Error& error) {
        return cli::refuse_run(reporting, error);
      }
      others.check();
      others.threads[0] = threads_of(plan->execution);
      Root distributor(ranks_, distribution, others.threads);
      return cli::run_batch(std::move(*plan), &distributor);
    });
  }

  int measure(const bench::Axes& axes, const bench::Options& options) {
    verb_was_reached_ = true;
    const auto prepare = [&] {
      refuse_on_ranks(axes);
      Execution execution;
      execution.threads = axes.threads.front();
      execution.kernel = axes.kernels.front();
      return execution;
    };
    if (!ranks_.is_root()) return run_as_worker(prepare);
    return run_as_root([&](const OtherRanks& others) {
      static_cast<void>(prepare());
      others.check();
      std::vector<Distribution> list;
      std::stringstream names(flags_.distributions);
      for (std::string name; std::getline(names, name, ',');) {
        list.push_back(parse_distribution(name));
      }
      return bench::run_plan(make_bench_plan(ranks_, axes, list), options);
    });
  }

  // The other ranks, after each has said whether it is ready.
  struct OtherRanks {
    std::vector<unsigned> threads{1};  // of all ranks; element 0 is rank 0's
    std::optional<Reply> failure;      // of the first rank that is not ready
    std::string failed_rank;

    void check() const {
      if (failure) throw_reply(*failure, failed_rank);
    }
  };

  // On rank 0: work(others) returns the exit status of all ranks.
  int run_as_root(const auto& work) {
    OtherRanks others;
    for (int other = 1; other < ranks_.size(); ++other) {
      const auto ready = ranks_.receive(other, Tag::reply).read<Reply>();
      others.threads.push_back(ready.threads);
      if (ready.kind == Reply::Kind::good || others.failure) continue;
      others.failure = ready;
      others.failed_rank = ranks_.name(other);
    }
    int status = cli::exit_failed;
    try {
      status = work(others);
    } catch (const std::exception& error) {
      status = cli::say_error(error);
    }
    dismiss(ranks_, status);
    return status;
  }

  // On another rank: prepare() returns how this rank computes, or throws why it cannot.
  int run_as_worker(const auto& prepare) {
    Reply ready;
    Execution execution;
    try {
      execution = prepare();
      ready.threads = threads_of(execution);
    } catch (...) {
      ready = reply_of_current_exception();
    }
    ranks_.send(0, Tag::reply, serialized(ready));
    return run_worker(ranks_, execution);
  }

  [[nodiscard]] cli::Plan make_plan(const cli::CryptOptions& given,
                                    cli::Reporting& reporting) const {
    cli::CryptOptions options = given;
    if (given.device) options.device = own_device(ranks_, *given.device);
    // Rank 0 decides about standard input: that of others does not matter. Open MPI gives ranks a
    // pseudo-terminal as standard output, even if mpirun's own is no terminal.
    return cli::make_plan(options,
                          {.stdin_is_terminal = ranks_.is_root() && isatty(STDIN_FILENO) != 0,
                           .launched = true,
                           .reads_lists = ranks_.is_root()},
                          reporting);
  }

  const Ranks& ranks_;
  bool verb_was_reached_ = false;
  Flags flags_;
};

}  // namespace
}  // namespace paraes::mpi

int main(int argc, char** argv) {
  using namespace paraes;
  const mpi::Ranks ranks(&argc, &argv);
  if (!mpi::are_alike(ranks, argc, argv)) return cli::exit_usage;
  mpi::MpiExecutable executable(ranks);
  const auto run = [&] { return cli::run_app(argc, argv, executable.info()); };
  return executable.finish(cli::run_guarded(std::ref(run)));
}
