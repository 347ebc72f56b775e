// Measures cases: calibrates, warms up, takes interleaved samples, verifies. Knows nothing of AES.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "bench/harness/case.hpp"
#include "bench/harness/energy.hpp"
#include "bench/harness/random.hpp"
#include "bench/harness/statistics.hpp"

namespace paraes::bench {

struct Settings {
  unsigned samples = 31;   // of each case; more until min_seconds is reached
  double min_seconds = 0;  // of timed work, for each case
  // Untimed calls between calibration and the samples. Without a number it is one, or none where a
  // call takes long_call_ns: calibration has then made a call that was as good a warm-up.
  std::optional<unsigned> warmup;
  // A sample consists of as many calls as calibration needed for this time. That is long against
  // reading the clock, but well below a scheduler's time slice of a few milliseconds: on a shared
  // machine most samples, and with them the median, are undisturbed by other processes.
  double min_sample_ns = 5e5;
  // The energy of a row on a GPU is measured only if its samples contain this much timed work, and
  // then over at least this long: twenty updates of the slowest counter.
  double min_gpu_energy_ns = 2e9;
  double long_call_ns = 1e8;
};

struct Result {
  Row row;
  std::vector<double> samples_ns;  // mean time of one call, for each sample
  Statistics statistics;
  PhaseNanoseconds timeline;  // medians
  // The phases that were measured separately, for one call: one entry for each of samples_ns. Key
  // expansion outside the calls has nine entries instead.
  PhaseSamples timeline_samples_ns;
  std::optional<double> energy_joules;  // mean of one call
  std::string energy_reason;            // why energy_joules is empty
  // The processor's counters, such as `cycles`: mean of one call, over all threads.
  std::map<std::string, double> counters;
  std::string counters_reason;  // why counters has less than all
  bool verified = false;
  std::string unverifiable;  // why nobody can tell whether it is right; else empty
  std::string error;         // message of the last exception that the case threw
};

[[nodiscard]] inline bool is_wrong(const Result& result) {
  return !result.verified && result.unverifiable.empty();
}

struct Outcome {
  std::vector<Result> results;
  std::vector<Skipped> skipped;
};

// Called before each row is calibrated, sampled or finished, with the fraction of the group's
// rounds that are done (0 to 1) and that row.
using Progress = std::function<void(double, const Row&)>;

// Sets up all cases of the group, calibrates and warms up each, and takes samples in rounds, each
// in a newly shuffled order. Afterwards it measures, for each case, the energy of GPUs and the time
// of key expansion, and verifies the result. Results are in the order of the group.
[[nodiscard]] Outcome measure(const Group& group, const Settings& settings, Random& random,
                              EnergyMeter& energy, const Progress& progress);

}  // namespace paraes::bench
