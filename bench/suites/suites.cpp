#include "bench/suites/suites.hpp"

namespace paraes::bench {

BenchPlan make_plan(const Axes& axes) {
  BenchPlan plan;
  for (const std::string& scope : axes.scopes) {
    if (scope == "memory") plan_memory(axes, plan);
    if (scope == "transfer") plan_transfer(axes, plan);
    if (scope == "file") plan_file(axes, plan);
  }
  return plan;
}

}  // namespace paraes::bench
