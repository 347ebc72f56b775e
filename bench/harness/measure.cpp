#include "bench/harness/measure.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <exception>
#include <utility>

#include "bench/system/counters.hpp"

namespace paraes::bench {
namespace {

using Clock = std::chrono::steady_clock;
static_assert(Clock::is_steady);

// CPU energy counters update about once a millisecond, too coarse for less timed work than this.
constexpr double min_energy_ns = 100e6;
constexpr unsigned max_samples = 100000;

// GPU energy counters update every 20 to 100 ms. Calls between two readings take at least this long
// and at least this many times as long as a reading, during which the GPU may be idle.
constexpr double min_work_ns = 5e6;
constexpr double min_work_per_reading = 20;
// A GPU has no working counter if it did not change for this long and in this many readings.
constexpr double stall_ns = 1e9;
constexpr unsigned stall_readings = 3;
// The fraction of the energy measurement that must be timed calls: the rest takes energy, too.
constexpr double min_call_fraction = 0.9;

double nanoseconds(Clock::duration duration) {
  return std::chrono::duration<double, std::nano>(duration).count();
}

struct CaseMeasurement {
  Case* timed;
  Result result;
  std::uint64_t batch = 1;  // calls in a sample
  double total_ns = 0;      // of all samples
  double joules = 0;        // of the CPU, in all samples
  bool metered = true;      // whether every sample has its joules
  bool is_long = false;     // whether a call takes long_call_ns

  [[nodiscard]] bool failed() const { return !result.error.empty(); }
  [[nodiscard]] bool on_cpu() const { return result.row.device == "cpu"; }
};

// Time of `batch` calls, in nanoseconds, without the restores.
double time_calls(Case& timed, std::uint64_t batch) {
  if (timed.needs_restore()) {
    double sum = 0;
    for (std::uint64_t i = 0; i < batch; ++i) {
      timed.restore();
      const auto begin = Clock::now();
      timed.call();
      sum += nanoseconds(Clock::now() - begin);
    }
    return sum;
  }
  const auto begin = Clock::now();
  for (std::uint64_t i = 0; i < batch; ++i) timed.call();
  return nanoseconds(Clock::now() - begin);
}

void guard(CaseMeasurement& measurement, auto body) try {
  body();
} catch (const std::exception& error) {
  measurement.result.error = error.what();
  if (measurement.result.error.empty()) measurement.result.error = "unknown error";
}

// How many calls take min_ns. Grows in steps, since an estimate from the first call alone, which is
// slow (page faults, cold caches), would be too low.
std::uint64_t calibrate(double min_ns, auto timer) {
  std::uint64_t batch = 1;
  for (;;) {
    const double took = std::max(timer(batch), 1.0);
    if (took >= min_ns) return batch;
    const double factor = min_ns / took;
    if (factor < 1.5) return static_cast<std::uint64_t>(std::ceil(batch * factor));
    batch = static_cast<std::uint64_t>(std::ceil(batch * std::min(factor, 16.0)));
  }
}

// Nine samples of the time of one key expansion; empty if the case has no key to expand.
std::vector<double> time_key_expansion(Case& timed) {
  if (!timed.expand_key()) return {};
  const auto timer = [&timed](std::uint64_t batch) {
    const auto begin = Clock::now();
    for (std::uint64_t i = 0; i < batch; ++i) timed.expand_key();
    return nanoseconds(Clock::now() - begin);
  };
  const std::uint64_t batch = calibrate(1e5, timer);
  static_cast<void>(timed.take_phases());
  std::vector<double> samples;
  samples.reserve(9);
  for (int i = 0; i < 9; ++i) {
    const double took = timer(batch);
    const PhaseNanoseconds phases = timed.take_phases();
    const auto own = phases.find("key_expansion");
    samples.push_back((own != phases.end() ? own->second : took) / static_cast<double>(batch));
  }
  return samples;
}

void take_sample(CaseMeasurement& measurement, EnergyMeter& energy) {
  Case& timed = *measurement.timed;
  // A long call brings its data itself.
  if (!measurement.is_long) timed.lead_in();
  static_cast<void>(timed.take_phases());  // of untimed calls
  const auto before = measurement.on_cpu() ? energy.joules() : std::nullopt;
  const double took = time_calls(timed, measurement.batch);
  const auto after = measurement.on_cpu() ? energy.joules() : std::nullopt;
  const PhaseNanoseconds phases = timed.take_phases();
  const auto calls = static_cast<double>(measurement.batch);
  measurement.result.samples_ns.push_back(took / calls);
  for (const auto& [name, ns] : phases) {
    measurement.result.timeline_samples_ns[name].push_back(ns / calls);
  }
  measurement.total_ns += took;
  if (before && after) {
    measurement.joules += *after - *before;
  } else {
    measurement.metered = false;
  }
}

// A reading of an energy counter, with the time and the work done until then.
struct CounterReading {
  double at_ns = 0;
  double joules = 0;
  double timed_ns = 0;
  std::uint64_t calls = 0;
};

// Watches the energy counter of one GPU. All results are about the time between its first and its
// last update.
class CounterUpdates {
 public:
  explicit CounterUpdates(double joules) : joules_(joules) {}

  void add(const CounterReading& now) {
    ++unchanged_;
    if (now.joules == joules_) return;
    joules_ = now.joules;
    unchanged_ = 0;
    last_ = now;
    if (!first_) first_ = now;
  }

  [[nodiscard]] double ns() const { return first_ ? last_.at_ns - first_->at_ns : 0; }
  [[nodiscard]] bool is_stalled(double now_ns) const {
    return unchanged_ >= stall_readings && now_ns - last_.at_ns > stall_ns;
  }
  // The fraction of the time that was timed calls.
  [[nodiscard]] double call_fraction() const { return (last_.timed_ns - first_->timed_ns) / ns(); }
  [[nodiscard]] double joules_per_call() const {
    return (last_.joules - first_->joules) / static_cast<double>(last_.calls - first_->calls);
  }

 private:
  double joules_;
  unsigned unchanged_ = 0;  // readings since the last update
  std::optional<CounterReading> first_;
  CounterReading last_;
};

// The counter updates so rarely that one of its steps covers several samples, those of other rows
// among them. So the calls of this case are made again, without others in between, and counted from
// one update of the counter to a later one. Sets energy_joules or energy_reason.
void measure_calls_on_gpu(CaseMeasurement& measurement, GpuEnergyMeter& meter, double min_ns) {
  Result& result = measurement.result;
  std::vector<CounterUpdates> gpus;
  const auto begin = Clock::now();
  CounterReading now;
  const auto done = [&](const CounterUpdates& gpu) { return gpu.ns() >= min_ns; };
  for (;;) {
    const auto before = Clock::now();
    const auto joules = meter.joules();
    if (!joules) {
      result.energy_reason = meter.reason();
      return;
    }
    const auto after = Clock::now();
    now.at_ns = nanoseconds(after - begin);
    for (std::size_t i = 0; i < joules->size(); ++i) {
      now.joules = (*joules)[i];
      if (gpus.size() == i) gpus.emplace_back(now.joules);
      gpus[i].add(now);
      if (gpus[i].is_stalled(now.at_ns)) {
        result.energy_reason = "the energy counter of the GPU does not change";
        return;
      }
    }
    if (std::all_of(gpus.begin(), gpus.end(), done)) break;
    const double enough = std::max(min_work_ns, min_work_per_reading * nanoseconds(after - before));
    for (double worked = 0; worked < enough;) {
      const double took = time_calls(*measurement.timed, measurement.batch);
      worked += took;
      now.timed_ns += took;
      now.calls += measurement.batch;
    }
  }
  double sum = 0;
  for (const CounterUpdates& gpu : gpus) {
    if (gpu.call_fraction() < min_call_fraction) {
      result.energy_reason = "more than 10 % of the time went to untimed work between the calls";
      return;
    }
    sum += gpu.joules_per_call();
  }
  result.energy_joules = sum;
}

void measure_gpu_energy(CaseMeasurement& measurement, EnergyMeter& energy, double min_ns) {
  if (measurement.failed()) {
    measurement.result.energy_reason = "a call failed";
    return;
  }
  GpuEnergyMeter& meter = energy.gpu(measurement.result.row.device);
  if (!meter.available()) {
    measurement.result.energy_reason = meter.reason();
  } else if (measurement.total_ns < min_ns) {
    measurement.result.energy_reason =
        fmt::format("less than {} s of timed work, too little for a GPU's counter (use --min-time)",
                    min_ns * 1e-9);
  } else {
    measure_calls_on_gpu(measurement, meter, min_ns);
  }
}

// Why the row's calls are not counted; empty if they are.
std::string why_not_counted(const CaseMeasurement& measurement) {
  const Row& row = measurement.result.row;
  if (!measurement.on_cpu() || !measurement.timed->is_kernel_alone() || row.ranks > 1) {
    return "only rows of a kernel alone, in one process on the cpu, are counted";
  }
  if (measurement.timed->needs_restore()) return "between its calls there is other work";
  return measurement.failed() ? "a call failed" : "";
}

// Counts calls of their own, so that reading the counters takes no part in times and energy.
void count_calls(CaseMeasurement& measurement) {
  Result& result = measurement.result;
  result.counters_reason = why_not_counted(measurement);
  if (!result.counters_reason.empty()) return;
  Case& timed = *measurement.timed;
  // Without counters, a call that starts threads would take its time in vain.
  if (const Counters probe; !probe.available()) {
    result.counters_reason = probe.reason();
    return;
  }
  timed.lead_in();  // starts threads that rest() ended
  Counters counters;
  result.counters_reason = counters.reason();
  if (!counters.available()) return;
  const int batches = measurement.is_long ? 1 : 5;
  Counts totals;
  for (int i = 0; i < batches; ++i) {
    if (!measurement.is_long) timed.lead_in();
    counters.start();
    static_cast<void>(time_calls(timed, measurement.batch));
    const auto counts = counters.stop();
    if (!counts) {
      result.counters_reason =
          "the counters did not run all the time: other programs used them, there are too few, or "
          "a thread ran on another kind of core";
      return;
    }
    for (const auto& [name, count] : *counts) totals[name] += count;
  }
  for (const auto& [name, count] : totals) {
    result.counters[name] = count / (batches * static_cast<double>(measurement.batch));
  }
}

// Drops phases that some samples lack: their entries would not match those of samples_ns. For use
// before key expansion is timed, which has separate samples.
void drop_partial_phases(Result& result) {
  std::erase_if(result.timeline_samples_ns,
                [&](const auto& phase) { return phase.second.size() != result.samples_ns.size(); });
}

void set_timeline(Result& result, const Case& timed) {
  for (const auto& [name, samples] : result.timeline_samples_ns) {
    result.timeline[name] = median_of(samples);
  }
  if (timed.is_kernel_alone() && !result.samples_ns.empty()) {
    result.timeline["kernel"] = result.statistics.median;
  }
}

void finish(CaseMeasurement& measurement, EnergyMeter& energy, const Settings& settings) {
  Result& result = measurement.result;
  result.statistics = statistics_of(result.samples_ns);
  drop_partial_phases(result);
  if (!measurement.on_cpu()) {
    guard(measurement,
          [&] { measure_gpu_energy(measurement, energy, settings.min_gpu_energy_ns); });
  } else if (!energy.available()) {
    result.energy_reason = energy.reason();
  } else if (!measurement.metered) {
    result.energy_reason = "the energy counter could not be read";
  } else if (measurement.total_ns < min_energy_ns) {
    result.energy_reason =
        "less than 0.1 s of timed work, too little for the energy counter (use --min-time)";
  } else {
    result.energy_joules =
        measurement.joules / (static_cast<double>(measurement.batch) * result.samples_ns.size());
  }
  guard(measurement, [&] { count_calls(measurement); });
  guard(measurement, [&] {
    std::vector<double> key_expansion = time_key_expansion(*measurement.timed);
    if (!key_expansion.empty()) {
      result.timeline_samples_ns["key_expansion"] = std::move(key_expansion);
    }
    try {
      result.verified = measurement.timed->verify();
    } catch (const Unverifiable& reason) {
      result.unverifiable = reason.what();
    }
  });
  measurement.timed->rest();
  set_timeline(result, *measurement.timed);
  if (!measurement.failed()) return;
  result.verified = false;
  result.unverifiable.clear();
}

// Finds how many calls a sample has, and warms up.
void prepare(CaseMeasurement& measurement, const Settings& settings) {
  guard(measurement, [&] {
    double call_ns = 0;  // in the last batch
    measurement.batch = calibrate(settings.min_sample_ns, [&](std::uint64_t batch) {
      const double took = time_calls(*measurement.timed, batch);
      call_ns = took / static_cast<double>(batch);
      return took;
    });
    measurement.is_long = call_ns >= settings.long_call_ns;
    const unsigned warmup = settings.warmup.value_or(measurement.is_long ? 0 : 1);
    for (unsigned i = 0; i < warmup; ++i) {
      if (measurement.timed->needs_restore()) measurement.timed->restore();
      measurement.timed->call();
    }
  });
  measurement.timed->rest();
}

// Takes a sample of each row in turn, in another order each time, until all have enough.
void take_samples(std::vector<CaseMeasurement>& measurements, const Settings& settings,
                  Random& random, EnergyMeter& energy, const Progress& progress) {
  for (unsigned round = 0; round < max_samples; ++round) {
    std::vector<CaseMeasurement*> order;
    for (CaseMeasurement& measurement : measurements) {
      const bool enough = measurement.result.samples_ns.size() >= settings.samples &&
                          measurement.total_ns >= settings.min_seconds * 1e9;
      if (!enough && !measurement.failed()) order.push_back(&measurement);
    }
    if (order.empty()) break;
    random.shuffle(order);
    for (CaseMeasurement* measurement : order) {
      progress(std::min(1.0, static_cast<double>(round) / settings.samples),
               measurement->result.row);
      guard(*measurement, [&] { take_sample(*measurement, energy); });
      measurement->timed->rest();
    }
  }
}

}  // namespace

Outcome measure(const Group& group, const Settings& settings, Random& random, EnergyMeter& energy,
                const Progress& progress) {
  Outcome outcome;
  std::vector<CaseMeasurement> measurements;
  for (const auto& timed : group) {
    try {
      timed->set_up();
      measurements.push_back({timed.get(), {}});
      measurements.back().result.row = timed->row();
    } catch (const Skip& skip) {
      outcome.skipped.push_back({timed->row(), skip.what()});
    }
  }
  for (CaseMeasurement& measurement : measurements) {
    progress(0, measurement.result.row);
    prepare(measurement, settings);
  }
  take_samples(measurements, settings, random, energy, progress);
  for (CaseMeasurement& measurement : measurements) {
    progress(1, measurement.result.row);
    finish(measurement, energy, settings);
    outcome.results.push_back(std::move(measurement.result));
  }
  return outcome;
}

}  // namespace paraes::bench
