// Suites turn axes into a plan. Each scope has one file. To add a suite, add a file and a line in
// make_plan() (bench/bench.cpp).
#pragma once

#include "bench/axes.hpp"
#include "bench/harness/case.hpp"

namespace paraes::bench {

void plan_memory(const Axes& axes, BenchPlan& plan);
void plan_transfer(const Axes& axes, BenchPlan& plan);
void plan_file(const Axes& axes, BenchPlan& plan);

[[nodiscard]] BenchPlan make_plan(const Axes& axes);

}  // namespace paraes::bench
