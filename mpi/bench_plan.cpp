#include "mpi/bench_plan.hpp"

#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "bench/file/workspace.hpp"
#include "bench/memory/arena.hpp"
#include "bench/memory/job.hpp"
#include "bench/suites/suite_rows.hpp"
#include "mpi/bench_file.hpp"
#include "mpi/bench_memory.hpp"
#include "paraes/error.hpp"
#include "paraes/kernels.hpp"

namespace paraes::mpi {
namespace {

using bench::Job;
using bench::Mode;
using bench::Row;
using bench::Skip;

const char* name_of(Distribution distribution) {
  return distribution == Distribution::shared ? "shared" : "scatter";
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

  template <class Make>
  void add(Row row, const Job& job, const Make& make) {
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
        return make_file_on_ranks(r, ranks_, distribution, workspace_);
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
