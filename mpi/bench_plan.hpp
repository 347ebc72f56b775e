// Benchmarks over the ranks: rows of the harness whose calls all ranks take part in.
#pragma once

#include <vector>

#include "bench/axes.hpp"
#include "bench/harness/case.hpp"
#include "mpi/ranks.hpp"
#include "mpi/root.hpp"

namespace paraes::mpi {

// Rank 0: rows of the axes with all ranks, distributed in these ways, and beside each with as many
// threads of rank 0 alone. The other ranks run a Worker meanwhile.
[[nodiscard]] bench::BenchPlan make_bench_plan(const Ranks& ranks, const bench::Axes& axes,
                                               const std::vector<Distribution>& distributions);

}  // namespace paraes::mpi
