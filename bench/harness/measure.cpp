#include "harness/measure.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <exception>

namespace paraes::bench {
namespace {

using Clock = std::chrono::steady_clock;
static_assert(Clock::is_steady);

// Energy counters step about once a millisecond; less timed work than this says nothing.
constexpr double min_energy_ns = 100e6;
constexpr unsigned max_samples = 100000;

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

std::optional<double> time_key_expansion(Variant& variant) {
  if (!variant.expand_key()) return std::nullopt;
  const auto timer = [&variant](std::uint64_t batch) {
    const auto begin = Clock::now();
    for (std::uint64_t i = 0; i < batch; ++i) variant.expand_key();
    return nanoseconds(Clock::now() - begin);
  };
  const std::uint64_t batch = calibrate(1e5, timer);
  std::vector<double> samples;
  samples.reserve(9);
  for (int i = 0; i < 9; ++i) samples.push_back(timer(batch) / static_cast<double>(batch));
  return median_of(std::move(samples));
}

void take_sample(Entrant& entrant, EnergyMeter& energy) {
  Variant& variant = *entrant.variant;
  if (variant.wants_lead_in()) {
    if (variant.needs_restore()) variant.restore();
    variant.call();
  }
  const auto before = energy.joules();
  const double took = time_calls(variant, entrant.batch);
  const auto after = energy.joules();
  entrant.result.samples_ns.push_back(took / static_cast<double>(entrant.batch));
  entrant.total_ns += took;
  if (before && after) {
    entrant.joules += *after - *before;
  } else {
    entrant.metered = false;
  }
}

void finish(Entrant& entrant, const EnergyMeter& energy) {
  Result& result = entrant.result;
  result.statistics = statistics_of(result.samples_ns);
  if (result.row.device != "cpu") {
    result.energy_reason = "the counter is that of the cpu, which is not what works";
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
    const std::optional<double> key_expansion = time_key_expansion(*entrant.variant);
    result.timeline = entrant.variant->timeline(result.statistics.median, key_expansion);
    result.verified = entrant.variant->verify();
  });
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
    }
  }

  for (Entrant& entrant : entrants) {
    finish(entrant, energy);
    outcome.results.push_back(std::move(entrant.result));
  }
  return outcome;
}

}  // namespace paraes::bench
