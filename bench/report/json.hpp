// The report as JSON, schema 1, for programs.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>

#include "bench/harness/measure.hpp"

namespace paraes::bench {

[[nodiscard]] nlohmann::ordered_json report(std::uint64_t seed,
                                            const nlohmann::ordered_json& context,
                                            const Outcome& outcome);

}  // namespace paraes::bench
