#include "bench/system/counters.hpp"

namespace paraes::bench {

std::vector<CounterEvent> processor_events() { return {}; }

Counters::Counters(const std::vector<CounterEvent>& /*events*/)
    : reason_("only Linux has the interface to the processor's counters that the bench uses") {}

Counters::~Counters() = default;

void Counters::start() {}

std::optional<Counts> Counters::stop() const { return std::nullopt; }

}  // namespace paraes::bench
