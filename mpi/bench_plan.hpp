// Benchmarks whose calls run on all ranks.
#pragma once

#include <vector>

#include "bench/axes.hpp"
#include "bench/harness/case.hpp"
#include "mpi/distribution.hpp"
#include "mpi/ranks.hpp"

namespace paraes::mpi {

// Throws InvalidArgument for axes that have no rows on ranks.
void refuse_on_ranks(const bench::Axes& axes);

// On rank 0: for the axes, rows with all ranks in each of these distributions, and beside them rows
// with the same total number of threads in rank 0 alone. Meanwhile the other ranks run a Worker.
[[nodiscard]] bench::BenchPlan make_bench_plan(const Ranks& ranks, const bench::Axes& axes,
                                               const std::vector<Distribution>& distributions);

}  // namespace paraes::mpi
