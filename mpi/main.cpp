// paraes-mpi: the verbs of paraes over the ranks of an MPI job.

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cerrno>
#include <exception>
#include <fstream>
#include <optional>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "bench/bench.hpp"
#include "cli/app.hpp"
#include "cli/batch.hpp"
#include "cli/plan.hpp"
#include "cli/report.hpp"
#include "cli/verbs.hpp"
#include "mpi/bench_plan.hpp"
#include "mpi/ranks.hpp"
#include "mpi/root.hpp"
#include "mpi/worker.hpp"
#include "paraes/devices.hpp"
#include "paraes/error.hpp"
#include "paraes/kernels.hpp"
#include "paraes/sha256.hpp"

namespace paraes::mpi {
namespace {

constexpr const char* footer = R"(
Run it under MPI: every rank does a part of each large file. Flags, formats and exit codes are those
of paraes; `paraes VERB --help` says more.

Examples:
  mpirun -n 4 paraes-mpi encrypt --key-file my.key big.tar
  mpirun -n 4 paraes-mpi decrypt --key-file my.key big.tar.paes
  srun -n 64 paraes-mpi encrypt -T 8 --key-file my.key -r /scratch/run7)";

std::string text_of(const Sha256::Digest& digest) { return {digest.begin(), digest.end()}; }

std::string digest_of_program() {
  Sha256 hash;
  std::ifstream file("/proc/self/exe", std::ios::binary);
  std::vector<char> buffer(std::size_t{1} << 20);
  while (file) {
    file.read(buffer.data(), static_cast<std::streamsize>(buffer.size()));
    hash.add(buffer.data(), static_cast<std::size_t>(file.gcount()));
  }
  return text_of(hash.digest());
}

// Only a digest: a flag may have a key.
std::string digest_of_flags(int argc, char** argv) {
  Sha256 hash;
  for (int i = 1; i < argc; ++i) hash.add(argv[i], std::char_traits<char>::length(argv[i]) + 1);
  return text_of(hash.digest());
}

// Whether all ranks would do the same; if not, rank 0 says what differs.
bool are_alike(const Ranks& ranks, int argc, char** argv) {
  const auto compare = [&](const std::string& own, const char* what) {
    const std::vector<std::string> all = ranks.gather_everywhere(own);
    for (std::size_t i = 1; i < all.size(); ++i) {
      if (all[i] == all[0]) continue;
      if (ranks.is_root()) {
        cli::say(ranks.name(static_cast<int>(i)) + " " + what +
                 " rank 0: all ranks need the same program and the same flags");
      }
      return false;
    }
    return true;
  };
  return compare(digest_of_program(), "runs another program than") &&
         compare(digest_of_flags(argc, argv), "was given other flags than");
}

// "cuda" alone is the GPU of the rank's place on its host.
std::string own_device(const Ranks& ranks, const std::string& device) {
  if (device != "cuda" && device != "hip" && device != "opencl") return device;
  unsigned count = 0;
  for (const DeviceInfo& info : devices()) {
    if (info.id.rfind(device + ":", 0) == 0) ++count;
  }
  return count == 0 ? device : device + ":" + std::to_string(ranks.local_rank() % count);
}

class MpiProgram {
 public:
  explicit MpiProgram(const Ranks& ranks) : ranks_(ranks) {}

  // After the verb: if it was not reached on this rank, others may wait for it. Returns what all
  // exit with.
  [[nodiscard]] int leave(int status) const {
    if (took_part_) return status;
    if (ranks_.is_root()) {
      dismiss(ranks_, status);
      return status;
    }
    Reply absent;
    absent.kind = Reply::Kind::other;
    absent.text = "it could not start, which rank 0 could: its environment differs";
    ranks_.send(0, Tag::reply, serialized(absent));
    const Execution execution;
    return Worker(ranks_, execution).run();
  }

  void add_verbs(CLI::App& app, int& status) {
    const cli::CryptProgram program = {
        .add_options =
            [this](CLI::App& verb) {
              verb.add_option("--distribute", distribute_,
                              "Each rank reads and writes its part (default), or rank 0 sends "
                              "chunks to the others.")
                  ->type_name("shared|scatter")
                  ->group("Execution");
            },
        .run = [this](const cli::CryptOptions& options,
                      cli::Verb verb) { return crypt(options, verb); },
    };
    cli::add_encrypt(app, status, program);
    cli::add_decrypt(app, status, program);
    cli::add_verify(app, status, program);
    cli::add_bench(
        app, status,
        {.add_options =
             [this](CLI::App& verb) {
               verb.add_option("--distribute", distributions_,
                               "Data that is where its rank is, or goes from rank 0 to it and back "
                               "(default: both).")
                   ->type_name("shared,scatter")
                   ->group(
                       "Axes, each a comma list whose product is the rows; all names every value");
             },
         .run = [this](const bench::Axes& axes,
                       const bench::Options& options) { return measure(axes, options); }});
  }

 private:
  [[nodiscard]] static Distribution distribution(const std::string& name) {
    if (name == "shared") return Distribution::shared;
    if (name == "scatter") return Distribution::scatter;
    throw InvalidArgument("--distribute " + name + ": it is either shared or scatter");
  }

  [[nodiscard]] static std::vector<std::string> split(const std::string& list) {
    std::vector<std::string> names;
    std::stringstream stream(list);
    for (std::string name; std::getline(stream, name, ',');) names.push_back(name);
    return names;
  }

  int crypt(const cli::CryptOptions& given, cli::Verb verb) {
    took_part_ = true;
    if (ranks_.is_root()) return run_as_root(given, verb);
    return run_as_worker([&] {
      static_cast<void>(distribution(distribute_));
      return cli::make_plan(options_here(given), verb).execution;
    });
  }

  int measure(const bench::Axes& axes, const bench::Options& options) {
    took_part_ = true;
    const auto prepare = [&] {
      if (axes.rivals_named && !axes.rivals.empty()) {
        throw InvalidArgument("rivals are no MPI programs: paraes bench measures them");
      }
      if (axes.threads.size() > 1 || axes.kernels.size() > 1) {
        throw InvalidArgument("over ranks, bench takes one kernel and one number of threads");
      }
      Execution execution;
      execution.threads = axes.threads.front();
      execution.kernel = axes.kernels.front();
      return execution;
    };
    if (!ranks_.is_root()) return run_as_worker(prepare);
    return command([&](const Others& others) {
      static_cast<void>(prepare());
      others.check();
      std::vector<Distribution> list;
      for (const std::string& name : split(distributions_)) list.push_back(distribution(name));
      return bench::run(make_bench_plan(ranks_, axes, list), options, stdout, stderr);
    });
  }

  // The other ranks, when they are ready or have said why not.
  struct Others {
    std::vector<unsigned> threads{1};
    std::optional<Reply> trouble;
    std::string troubled;

    void check() const {
      if (trouble) throw_reply(*trouble, troubled);
    }
  };

  // Rank 0's part: work(others) returns the exit status, which all exit with.
  template <class Work>
  int command(const Work& work) {
    Others others;
    for (int other = 1; other < ranks_.size(); ++other) {
      const auto ready = ranks_.receive(other, Tag::reply).read<Reply>();
      others.threads.push_back(ready.threads);
      if (ready.kind == Reply::Kind::good || others.trouble) continue;
      others.trouble = ready;
      others.troubled = ranks_.name(other);
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

  // Another rank's: prepare() says how it computes, or throws why it cannot.
  template <class Prepare>
  int run_as_worker(const Prepare& prepare) {
    Reply ready;
    Execution execution;
    try {
      execution = prepare();
      ready.threads = threads_of(execution);
    } catch (...) {
      ready = reply_of_current_exception();
    }
    ranks_.send(0, Tag::reply, serialized(ready));
    return Worker(ranks_, execution).run();
  }

  [[nodiscard]] cli::CryptOptions options_here(const cli::CryptOptions& given) const {
    cli::CryptOptions options = given;
    options.device = own_device(ranks_, given.device);
    // Open MPI gives its processes a pseudo-terminal for standard output, whatever mpirun has.
    options.output.launched = true;
    return options;
  }

  int run_as_root(const cli::CryptOptions& given, cli::Verb verb) {
    return command([&](Others others) {
      const Distribution how = distribution(distribute_);
      const cli::CryptOptions options = options_here(given);
      // What is wrong here is said as paraes says it.
      std::optional<Execution> execution;
      try {
        execution = cli::make_plan(options, verb).execution;
      } catch (const Error&) {
        execution.reset();
      }
      if (execution) {
        others.check();
        others.threads[0] = threads_of(*execution);
      }
      Root distributor(ranks_, how, others.threads);
      return cli::run_batch(options, verb, &distributor);
    });
  }

  const Ranks& ranks_;
  bool took_part_ = false;
  std::string distribute_ = "shared";             // of files
  std::string distributions_ = "shared,scatter";  // of bench
};

}  // namespace
}  // namespace paraes::mpi

int main(int argc, char** argv) {
  using namespace paraes;
  const mpi::Ranks ranks(&argc, &argv);
  if (!mpi::are_alike(ranks, argc, argv)) return cli::exit_usage;
  mpi::MpiProgram program(ranks);
  const int status = cli::run_app(
      argc, argv,
      {.name = "paraes-mpi",
       .what = "Encrypts and decrypts with AES, on all ranks of an MPI job.",
       .footer = mpi::footer,
       .add_verbs = [&](CLI::App& app, int& verb_status) { program.add_verbs(app, verb_status); }});
  return program.leave(status);
}
