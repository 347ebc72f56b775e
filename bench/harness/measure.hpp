// The clock: calibrates, warms up, interleaves, samples. It knows variants, and nothing of AES.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "bench/harness/case.hpp"
#include "bench/harness/energy.hpp"
#include "bench/harness/random.hpp"
#include "bench/harness/statistics.hpp"

namespace paraes::bench {

struct Settings {
  unsigned samples = 31;   // at least; more until min_seconds are reached
  double min_seconds = 0;  // timed work per variant
  unsigned warmup = 1;     // untimed calls after calibration
  // A sample repeats the call until it lasts this long: ten thousand ticks of the clock, but well
  // below a scheduler's slice of a few milliseconds, so that on a shared machine most samples see
  // no other process and the median is one of those.
  double min_sample_ns = 5e5;
  // A row on a GPU with at least so much timed work has its energy measured, for as long: twenty
  // steps of the slowest counter.
  double min_gpu_energy_ns = 2e9;
};

struct Result {
  Row row;
  std::vector<double> samples_ns;  // of one call
  Statistics statistics;
  PhaseNanoseconds timeline;  // medians
  // Of the phases that were timed apart: as many as samples_ns, of one call, too; key expansion
  // outside the calls has its own.
  PhaseSamples timeline_samples_ns;
  std::optional<double> energy_joules;  // of one call
  std::string energy_reason;            // why there is none
  bool verified = false;
  std::string error;  // what a call threw, if one did
};

struct Outcome {
  std::vector<Result> results;
  std::vector<Skipped> skipped;
};

// Called now and then with the part of the samples that is done (0 to 1) and who is next.
using Progress = std::function<void(double, const Row&)>;

// Sets all variants of the group up, takes their samples in rounds whose order is shuffled anew
// each time, measures what energy GPUs take, verifies each variant and tears all down. Results come
// in the order of the group.
[[nodiscard]] Outcome measure(const Group& group, const Settings& settings, Random& random,
                              EnergyMeter& energy, const Progress& progress);

}  // namespace paraes::bench
