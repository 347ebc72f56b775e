#include "mpi/bench_plan.hpp"

#include <unistd.h>

#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "bench/file/workspace.hpp"
#include "bench/memory/arena.hpp"
#include "bench/memory/job.hpp"
#include "bench/suites/suites.hpp"
#include "mpi/bench_memory.hpp"
#include "mpi/executable.hpp"
#include "mpi/root.hpp"
#include "paraes/error.hpp"
#include "paraes/io.hpp"
#include "paraes/messages.hpp"

namespace paraes::mpi {
namespace {

using bench::Job;
using bench::Mode;
using bench::Row;
using bench::Skip;

std::string_view name_of(Distribution distribution) {
  return distribution_choices.at(static_cast<std::size_t>(distribution)).word;
}

// Throws Skip for a job in memory scope that ranks cannot share.
void refuse_on_ranks(const Job& job) {
  bench::refuse(job);
  if (job.mode == Mode::gcm) {
    throw Skip("ranks cannot share one GCM message; with --scope file they share its segments");
  }
  if (job.mode == Mode::cbc && job.direction == Direction::encrypt) {
    throw Skip("CBC encryption is serial (SP 800-38A section 6.2)");
  }
  if (job.mode == Mode::xts && job.unit == 0) throw Skip("ranks cannot share one data unit");
  if (job.bytes > std::numeric_limits<int>::max()) {
    throw Skip("MPI_Scatterv and MPI_Gatherv are limited to 2 GiB");
  }
}

// Encrypts or decrypts a file of the default format, on all ranks; without a distribution, on rank
// 0 alone.
class RanksFileCase : public bench::Case {
 public:
  RanksFileCase(Row row, const Ranks& ranks, std::optional<Distribution> distribution,
                std::shared_ptr<bench::Workspace> workspace)
      : Case(std::move(row)),
        distribution_(distribution),
        root_(ranks, distribution.value_or(Distribution::shared),
              std::vector<unsigned>(static_cast<std::size_t>(ranks.size()),
                                    static_cast<unsigned>(this->row().threads))),
        workspace_(std::move(workspace)) {}

  void set_up() override {
    workspace_->acquire();
    workspace_->need_room(3);
    static int number = 0;
    sealed_ = workspace_->path("sealed" + std::to_string(++number));
    opened_ = workspace_->path("opened" + std::to_string(number));
    if (!encrypts()) seal();
  }

  [[nodiscard]] bool needs_restore() const override { return true; }
  void restore() override { (void)unlink((encrypts() ? sealed_ : opened_).c_str()); }

  void call() override { encrypts() ? seal() : open(); }

  [[nodiscard]] bool verify() override {
    restore();
    call();
    if (encrypts()) {
      (void)unlink(opened_.c_str());
      open();
    }
    return workspace_->is_plaintext(opened_);
  }

  [[nodiscard]] bench::PhaseNanoseconds take_phases() override {
    const PhaseTimes times = std::exchange(times_, {});
    if (distribution_ == Distribution::scatter) {
      return bench::phases_of(times, {"read", "kernel", "write", "scatter", "gather"});
    }
    return bench::phases_of(times, {"read", "kernel", "write"});
  }

 private:
  [[nodiscard]] bool encrypts() const { return row().direction == Direction::encrypt; }
  [[nodiscard]] Execution execution() const {
    Execution execution;
    execution.kernel = row().kernel;
    execution.threads = row().threads;
    return execution;
  }
  [[nodiscard]] Bytes key() const {
    return Bytes(bench::material().key).first(static_cast<std::size_t>(*row().key_bits / 8));
  }
  // The command's options, but the temporary has a name even if rank 0 is alone, so that all rows
  // do the same.
  static FileSink::Options sink_options() {
    FileSink::Options options;
    options.overwrite = true;
    options.named = true;
    return options;
  }

  void seal() {
    FileSource source = FileSource::open(workspace_->plaintext());
    const Message message =
        Message(new_paraes_message(Preface::for_key(key().size()), key(), {}), execution());
    FileSink sink(sealed_, sink_options());
    TransferOptions options;
    options.threads = row().threads;
    const TransferResult result =
        distribution_ ? root_.seal(source, message, sink, options,
                                   {workspace_->plaintext(), sink.temporary(), sealed_})
                      : seal_message(source, message, sink, options);
    sink.commit();
    times_ += result.times;
  }

  void open() {
    FileSource source = FileSource::open(sealed_);
    std::vector<std::uint8_t> header(paraes_header_bytes);
    header.resize(source.read(header));
    const Message message = Message(open_paraes_message(header, key(), {}), execution());
    FileSink sink(opened_, sink_options());
    OpenOptions options;
    options.threads = row().threads;
    const OpenResult result = distribution_ ? root_.open(source, message, &sink, options,
                                                         {sealed_, sink.temporary(), opened_})
                                            : open_message(source, message, &sink, options);
    sink.commit();
    times_ += result.times;
  }

  std::optional<Distribution> distribution_;
  Root root_;
  std::shared_ptr<bench::Workspace> workspace_;
  std::string sealed_;
  std::string opened_;
  PhaseTimes times_;  // since the last take_phases()
};

class RanksPlanner {
 public:
  RanksPlanner(const Ranks& ranks, const bench::Axes& axes, const std::vector<Distribution>& list)
      : ranks_(ranks), axes_(axes), distributions_(list) {}

  bench::BenchPlan plan() {
    for (const std::string& scope : axes_.scopes) {
      bench::skip_openmp(axes_, scope, "ranks use the library's threads", plan_);
    }
    for (const std::string& scope : axes_.scopes) {
      if (scope == "memory") {
        for (const std::uint64_t bytes : bench::sizes_or(axes_, {1 << 20, 64 << 20})) memory(bytes);
      } else if (scope == "file") {
        for (const std::uint64_t bytes : bench::sizes_or(axes_, {64 << 20})) files(bytes);
      } else {
        plan_.skipped.push_back({{.ranks = ranks_.size(), .scope = scope},
                                 "on ranks, bench has only the scopes memory and file"});
      }
    }
    return std::move(plan_);
  }

 private:
  void memory(std::uint64_t bytes) {
    arena_ = std::make_shared<bench::Arena>(bytes, threads_ * ranks_.size(),
                                            bench::Arena::Memory::shared);
    bench::each_job(axes_, bytes, threads_, [this](const Job& job) { add(job); });
    group_.finish();
  }

  void add(const Job& job) {
    for (const Distribution distribution : distributions_) {
      Row row = bench::row_of(job);
      row.ranks = ranks_.size();
      row.distribution = name_of(distribution);
      add(std::move(row), job, [&](const Row& r) {
        return make_memory_on_ranks(r, ranks_, job, distribution == Distribution::scatter,
                                    session_++, arena_);
      });
    }
    Job alone = job;
    alone.threads *= ranks_.size();
    add(bench::row_of(alone), alone,
        [&](const Row& r) { return make_memory_alone(r, alone, arena_); });
  }

  void add(Row row, const Job& job, const auto& make) {
    row.kernel = kernel_;
    group_.add(std::move(row), [&](const Row& r) {
      refuse_on_ranks(job);
      bench::require_kernel(kernel_, false);
      return make(r);
    });
  }

  void files(std::uint64_t bytes) {
    if (bench::skip_without_gcm(axes_, "paraes", plan_)) return;
    const std::string folder = bench::workspace_root(axes_.folder);
    plan_.folder = folder;
    workspace_ = std::make_shared<bench::Workspace>(folder, bytes);
    for (const int bits : axes_.key_bits_named ? axes_.key_bits : std::vector<int>{256}) {
      const bench::FileRowJob job{"paraes", Mode::gcm, bits, axes_.unit};
      for (const Direction direction : axes_.directions) {
        Row row = bench::row_of(job, direction, bytes);
        row.kernel = kernel_;
        row.threads = threads_;
        row.overlap = true;
        add(job, std::move(row));
      }
    }
    group_.finish();
  }

  void add(const bench::FileRowJob& job, Row row) {
    const auto add_row = [&](std::optional<Distribution> distribution) {
      group_.add(row, [&](const Row& r) {
        bench::require_kernel(r.kernel, false);
        bench::refuse(job, r.bytes);
        return std::make_unique<RanksFileCase>(r, ranks_, distribution, workspace_);
      });
    };
    row.ranks = ranks_.size();
    for (const Distribution distribution : distributions_) {
      row.distribution = name_of(distribution);
      add_row(distribution);
    }
    row.distribution.clear();
    row.ranks = 1;
    row.threads *= ranks_.size();
    add_row(std::nullopt);
  }

  const Ranks& ranks_;
  bench::Axes axes_;
  const std::vector<Distribution>& distributions_;
  // refuse_on_ranks() permits only one of each.
  const int threads_ = axes_.threads.front();
  const std::string& kernel_ = axes_.kernels.front();
  bench::BenchPlan plan_;
  bench::GroupBuilder group_{plan_};
  std::shared_ptr<bench::Arena> arena_;
  std::shared_ptr<bench::Workspace> workspace_;
  int session_ = 1;
};

}  // namespace

void refuse_on_ranks(const bench::Axes& axes) {
  if (axes.rivals_named && !axes.rivals.empty()) {
    throw InvalidArgument("rivals do not run on ranks: measure them with `paraes bench`");
  }
  if (axes.devices != std::vector<std::string>{"cpu"}) {
    throw InvalidArgument("--device: on ranks, bench measures the cpu only");
  }
  if (axes.threads.size() > 1 || axes.kernels.size() > 1) {
    throw InvalidArgument("on ranks, bench takes only one kernel and one number of threads");
  }
  if (bench::has(axes.in_place, true)) {
    throw InvalidArgument(
        "--in-place: ranks have separate buffers for input and output; measure in place with "
        "`paraes bench`");
  }
  if (axes.formats != std::vector<std::string>{"paraes"}) {
    throw InvalidArgument("--format: on ranks, bench measures the format paraes only");
  }
  if (axes.key_expansions != std::vector<std::string>{"host"}) {
    throw InvalidArgument("--key-expansion: on ranks, keys are expanded on the host");
  }
}

bench::BenchPlan make_bench_plan(const Ranks& ranks, const bench::Axes& axes,
                                 const std::vector<Distribution>& distributions) {
  return RanksPlanner(ranks, axes, distributions).plan();
}

}  // namespace paraes::mpi
