// The phases of a row, in nanoseconds, by the names in phase_table. A phase that was not measured
// has no entry.
#pragma once

#include <initializer_list>
#include <map>
#include <string_view>
#include <vector>

#include "paraes/phase_times.hpp"

namespace paraes::bench {

using PhaseNanoseconds = std::map<std::string_view, double>;
using PhaseSamples = std::map<std::string_view, std::vector<double>>;

// The phases of `times` that `measured` names.
[[nodiscard]] inline PhaseNanoseconds phases_of(const PhaseTimes& times,
                                                std::initializer_list<std::string_view> measured) {
  PhaseNanoseconds result;
  for (const Phase& phase : phase_table) {
    for (const std::string_view name : measured) {
      if (name == phase.name) result[name] = static_cast<double>(times.*phase.busy_ns);
    }
  }
  return result;
}

}  // namespace paraes::bench
