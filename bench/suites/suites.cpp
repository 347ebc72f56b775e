#include "bench/suites/suites.hpp"

namespace paraes::bench {

Plan make_plan(const Axes& axes) {
  Plan plan;
  for (const std::string& scope : axes.scopes) {
    if (scope == "memory") plan_memory(axes, plan);
    if (scope == "transfer") plan_transfer(axes, plan);
    if (scope == "file") plan_file(axes, plan);
  }
  return plan;
}

}  // namespace paraes::bench
