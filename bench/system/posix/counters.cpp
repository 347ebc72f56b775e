#include "bench/system/counters.hpp"

namespace paraes::bench {

std::vector<CounterEvent> processor_events() { return {}; }

Counters::Counters(const std::vector<CounterEvent>& /*events*/)
    : reason_("only Linux has the interface to the processor's counters that the bench uses") {}

Counters::~Counters() = default;

void Counters::start() {}

std::optional<Counts> Counters::stop() const { return std::nullopt; }

int open_energy_counter(std::uint32_t /*type*/, std::uint64_t /*config*/, int /*cpu*/) noexcept {
  return -1;
}

}  // namespace paraes::bench
