// The machine and the software that a benchmark ran on.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace paraes::bench {

// The "context" of the JSON schema; members that are unknown are null. `folder` is the folder of
// file scope. If it is empty, there are no rows in file scope, and the versions of its rivals are
// left out. `machine` is the user's name for the machine, empty if it has none.
[[nodiscard]] nlohmann::ordered_json context(const std::string& folder, const std::string& machine);

// The version of the library or program behind the rival of this name, as in "libraries"; empty if
// there is none.
[[nodiscard]] std::string version_of_rival(const std::string& rival);

}  // namespace paraes::bench
