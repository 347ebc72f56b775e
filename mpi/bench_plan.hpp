// Benchmarks over the ranks: rows of the harness whose calls all ranks take part in.
#pragma once

#include <string>
#include <vector>

#include "bench/axes.hpp"
#include "bench/harness/variant.hpp"
#include "mpi/lead.hpp"
#include "mpi/ranks.hpp"

namespace paraes::mpi {

// Rank 0: rows of the axes with all ranks, distributed in these ways, and beside each with as many
// threads of rank 0 alone. The other ranks serve meanwhile.
[[nodiscard]] bench::Plan make_bench_plan(const Ranks& ranks, const bench::Axes& axes,
                                          const std::vector<Distribution>& distributions);

// Another rank's part in a row of memory scope, which `order` (behind its task) describes. With
// `trouble` it has none: rank 0 is told that, skips the row for it, and ends it at once.
void serve_measurement(const Ranks& ranks, Packet& order, const std::string& trouble);

}  // namespace paraes::mpi
