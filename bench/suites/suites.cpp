#include "suites/suites.hpp"

namespace paraes::bench {

void plan_transfer(const Axes& axes, Plan& plan) {
  for (const std::string& device : axes.devices) {
    Row row;
    row.device = device;
    row.scope = "transfer";
    plan.skipped.push_back(
        {std::move(row), device == "cpu" ? "data for the cpu is in host memory: nothing to transfer"
                                         : "this build computes on the cpu only"});
  }
}

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
