// Where a benchmark ran.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace paraes::bench {

// The schema's "context": null where unknown.
// `folder` is where the file scope worked, empty
// if it did not; then the programs that are its rivals are not asked for their versions either.
[[nodiscard]] nlohmann::ordered_json context(const std::string& folder);

}  // namespace paraes::bench
