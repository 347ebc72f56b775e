#include "bench/harness/measure.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <exception>
#include <utility>

namespace paraes::bench {
namespace {

using Clock = std::chrono::steady_clock;
static_assert(Clock::is_steady);

// Energy counters of the CPU step about once a millisecond; less timed work than this says nothing.
constexpr double min_energy_ns = 100e6;
constexpr unsigned max_samples = 100000;

// The least work between two looks at the counter of a GPU, which steps every 20 to 100 ms: so
// much, and so many times what a look takes, for the GPU may idle meanwhile.
constexpr double work_ns = 5e6;
constexpr double work_per_look = 20;
// After so long, and so many looks, without a step the counter of a GPU counts nothing.
constexpr double patience_ns = 1e9;
constexpr unsigned patience_looks = 3;
// The part of a stretch that must have been calls; what is done between them takes energy, too.
constexpr double min_part = 0.9;

double nanoseconds(Clock::duration duration) {
  return std::chrono::duration<double, std::nano>(duration).count();
}

// One variant on its way through the harness.
struct Entrant {
  Variant* variant;
  Result result;
  std::uint64_t batch = 1;
  double total_ns = 0;
  double joules = 0;
  bool metered = true;

  [[nodiscard]] bool failed() const { return !result.error.empty(); }
  [[nodiscard]] bool on_cpu() const { return result.row.device == "cpu"; }
};

// Nanoseconds that `batch` calls take together.
double time_calls(Variant& variant, std::uint64_t batch) {
  if (variant.needs_restore()) {
    double sum = 0;
    for (std::uint64_t i = 0; i < batch; ++i) {
      variant.restore();
      const auto begin = Clock::now();
      variant.call();
      sum += nanoseconds(Clock::now() - begin);
    }
    return sum;
  }
  const auto begin = Clock::now();
  for (std::uint64_t i = 0; i < batch; ++i) variant.call();
  return nanoseconds(Clock::now() - begin);
}

template <class Body>
void guard(Entrant& entrant, Body body) {
  try {
    body();
  } catch (const std::exception& error) {
    entrant.result.error = error.what();
    if (entrant.result.error.empty()) entrant.result.error = "unknown error";
  }
}

// Finds how many calls last min_ns, in steps: the first calls are slow (page faults, cold caches),
// so a guess from one call would be too low.
template <class Timer>
std::uint64_t calibrate(double min_ns, Timer timer) {
  std::uint64_t batch = 1;
  for (;;) {
    const double took = std::max(timer(batch), 1.0);
    if (took >= min_ns) return batch;
    const double factor = min_ns / took;
    if (factor < 1.5) return static_cast<std::uint64_t>(std::ceil(batch * factor));
    batch = static_cast<std::uint64_t>(std::ceil(batch * std::min(factor, 16.0)));
  }
}

// Samples of one key expansion; none if the variant has no key to expand.
std::vector<double> time_key_expansion(Variant& variant) {
  if (!variant.expand_key()) return {};
  const auto timer = [&variant](std::uint64_t batch) {
    const auto begin = Clock::now();
    for (std::uint64_t i = 0; i < batch; ++i) variant.expand_key();
    return nanoseconds(Clock::now() - begin);
  };
  const std::uint64_t batch = calibrate(1e5, timer);
  static_cast<void>(variant.take_phases());
  std::vector<double> samples;
  samples.reserve(9);
  for (int i = 0; i < 9; ++i) {
    const double took = timer(batch);
    const PhaseNanoseconds phases = variant.take_phases();
    const auto timed = phases.find("key_expansion");
    samples.push_back((timed != phases.end() ? timed->second : took) / static_cast<double>(batch));
  }
  return samples;
}

void take_sample(Entrant& entrant, EnergyMeter& energy) {
  Variant& variant = *entrant.variant;
  variant.lead_in();
  // What untimed calls have added.
  static_cast<void>(variant.take_phases());
  const auto before = entrant.on_cpu() ? energy.joules() : std::nullopt;
  const double took = time_calls(variant, entrant.batch);
  const auto after = entrant.on_cpu() ? energy.joules() : std::nullopt;
  const PhaseNanoseconds phases = variant.take_phases();
  const auto calls = static_cast<double>(entrant.batch);
  entrant.result.samples_ns.push_back(took / calls);
  for (const auto& [name, ns] : phases) {
    entrant.result.timeline_samples_ns[name].push_back(ns / calls);
  }
  entrant.total_ns += took;
  if (before && after) {
    entrant.joules += *after - *before;
  } else {
    entrant.metered = false;
  }
}

// A counter when it changed, and the work done by then.
struct CounterReading {
  double at_ns = 0;
  double joules = 0;
  double timed_ns = 0;
  std::uint64_t calls = 0;
};

// The steps of one GPU's counter in a stretch of work.
class Steps {
 public:
  explicit Steps(double joules) : seen_(joules) {}

  void look(const CounterReading& now) {
    ++looks_;
    if (now.joules == seen_) return;
    seen_ = now.joules;
    looks_ = 0;
    last_ = now;
    if (!first_) first_ = now;
  }

  [[nodiscard]] double ns() const { return first_ ? last_.at_ns - first_->at_ns : 0; }
  [[nodiscard]] bool stands_still(double now_ns) const {
    return looks_ >= patience_looks && now_ns - last_.at_ns > patience_ns;
  }
  // The part of the time between the first and the last step that was calls.
  [[nodiscard]] double part() const { return (last_.timed_ns - first_->timed_ns) / ns(); }
  [[nodiscard]] double joules_of_a_call() const {
    return (last_.joules - first_->joules) / static_cast<double>(last_.calls - first_->calls);
  }

 private:
  double seen_;
  unsigned looks_ = 0;  // since the last step
  std::optional<CounterReading> first_;
  CounterReading last_;
};

// A sample is shorter than a step of the counter, which covers the samples of other rows as well.
// So the calls are made once more, in one stretch, and counted from one step of the counter to a
// later one. Sets energy_joules or energy_reason.
void measure_stretch(Entrant& entrant, GpuEnergyMeter& meter, double min_ns) {
  Result& result = entrant.result;
  std::vector<Steps> gpus;
  const auto begin = Clock::now();
  CounterReading now;
  const auto done = [&](const Steps& gpu) { return gpu.ns() >= min_ns; };
  for (;;) {
    const auto looked = Clock::now();
    const auto joules = meter.joules();
    if (!joules) {
      result.energy_reason = meter.reason();
      return;
    }
    const auto seen = Clock::now();
    now.at_ns = nanoseconds(seen - begin);
    for (std::size_t i = 0; i < joules->size(); ++i) {
      now.joules = (*joules)[i];
      if (gpus.size() == i) gpus.emplace_back(now.joules);
      gpus[i].look(now);
      if (gpus[i].stands_still(now.at_ns)) {
        result.energy_reason = "the energy counter of the GPU stands still";
        return;
      }
    }
    if (std::all_of(gpus.begin(), gpus.end(), done)) break;
    const double enough = std::max(work_ns, work_per_look * nanoseconds(seen - looked));
    for (double worked = 0; worked < enough;) {
      const double took = time_calls(*entrant.variant, entrant.batch);
      worked += took;
      now.timed_ns += took;
      now.calls += entrant.batch;
    }
  }
  double sum = 0;
  for (const Steps& gpu : gpus) {
    if (gpu.part() < min_part) {
      result.energy_reason = "what is done between the calls takes too much of the energy";
      return;
    }
    sum += gpu.joules_of_a_call();
  }
  result.energy_joules = sum;
}

void measure_gpu_energy(Entrant& entrant, EnergyMeter& energy, double min_ns) {
  if (entrant.failed()) {
    entrant.result.energy_reason = "a call failed";
    return;
  }
  GpuEnergyMeter& meter = energy.gpu(entrant.result.row.device);
  if (!meter.available()) {
    entrant.result.energy_reason = meter.reason();
  } else if (entrant.total_ns < min_ns) {
    entrant.result.energy_reason =
        fmt::format("less than {} s of timed work (--min-time): the counter of a GPU is too coarse",
                    min_ns * 1e-9);
  } else {
    measure_stretch(entrant, meter, min_ns);
  }
}

// Before key expansion is timed, whose samples are its own.
void drop_partial_phases(Result& result) {
  // They would stand beside samples_ns of other calls.
  std::erase_if(result.timeline_samples_ns,
                [&](const auto& phase) { return phase.second.size() != result.samples_ns.size(); });
}

void set_timeline(Result& result, const Variant& variant) {
  for (const auto& [name, samples] : result.timeline_samples_ns) {
    result.timeline[name] = median_of(samples);
  }
  if (variant.is_kernel_alone() && !result.samples_ns.empty()) {
    result.timeline["kernel"] = result.statistics.median;
  }
}

void finish(Entrant& entrant, EnergyMeter& energy, const Settings& settings) {
  Result& result = entrant.result;
  result.statistics = statistics_of(result.samples_ns);
  drop_partial_phases(result);
  if (!entrant.on_cpu()) {
    guard(entrant, [&] { measure_gpu_energy(entrant, energy, settings.min_gpu_energy_ns); });
  } else if (!energy.available()) {
    result.energy_reason = energy.reason();
  } else if (!entrant.metered) {
    result.energy_reason = "the energy counter could not be read";
  } else if (entrant.total_ns < min_energy_ns) {
    result.energy_reason = "less than 0.1 s of timed work: the counter is too coarse";
  } else {
    result.energy_joules =
        entrant.joules / (static_cast<double>(entrant.batch) * result.samples_ns.size());
  }
  guard(entrant, [&] {
    std::vector<double> key_expansion = time_key_expansion(*entrant.variant);
    if (!key_expansion.empty()) {
      result.timeline_samples_ns["key_expansion"] = std::move(key_expansion);
    }
    result.verified = entrant.variant->verify();
  });
  entrant.variant->rest();
  set_timeline(result, *entrant.variant);
  if (entrant.failed()) result.verified = false;
}

class TearDown {
 public:
  ~TearDown() {
    for (Variant* variant : variants_) variant->tear_down();
  }
  TearDown() = default;
  TearDown(const TearDown&) = delete;
  TearDown& operator=(const TearDown&) = delete;
  void add(Variant* variant) { variants_.push_back(variant); }

 private:
  std::vector<Variant*> variants_;
};

}  // namespace

Outcome measure(const Group& group, const Settings& settings, Random& random, EnergyMeter& energy,
                const Progress& progress) {
  Outcome outcome;
  std::vector<Entrant> entrants;
  TearDown tear_down;
  for (const auto& variant : group) {
    try {
      tear_down.add(variant.get());
      variant->set_up();
      Entrant entrant{variant.get(), {}, 1, 0, 0, true};
      entrant.result.row = variant->row();
      entrants.push_back(std::move(entrant));
    } catch (const Skip& skip) {
      outcome.skipped.push_back({variant->row(), skip.what()});
    }
  }

  for (Entrant& entrant : entrants) {
    progress(0, entrant.result.row);
    guard(entrant, [&] {
      entrant.batch = calibrate(settings.min_sample_ns, [&](std::uint64_t batch) {
        return time_calls(*entrant.variant, batch);
      });
      for (unsigned i = 0; i < settings.warmup; ++i) {
        if (entrant.variant->needs_restore()) entrant.variant->restore();
        entrant.variant->call();
      }
    });
    entrant.variant->rest();
  }

  for (unsigned round = 0; round < max_samples; ++round) {
    std::vector<Entrant*> order;
    for (Entrant& entrant : entrants) {
      const bool enough = entrant.result.samples_ns.size() >= settings.samples &&
                          entrant.total_ns >= settings.min_seconds * 1e9;
      if (!enough && !entrant.failed()) order.push_back(&entrant);
    }
    if (order.empty()) break;
    random.shuffle(order);
    for (Entrant* entrant : order) {
      progress(std::min(1.0, static_cast<double>(round) / settings.samples), entrant->result.row);
      guard(*entrant, [&] { take_sample(*entrant, energy); });
      entrant->variant->rest();
    }
  }

  for (Entrant& entrant : entrants) {
    progress(1, entrant.result.row);
    finish(entrant, energy, settings);
    outcome.results.push_back(std::move(entrant.result));
  }
  return outcome;
}

}  // namespace paraes::bench
