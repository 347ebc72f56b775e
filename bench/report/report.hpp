// The report of a run, as JSON for programs and as text for people.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "bench/harness/measure.hpp"

namespace paraes::bench {

// The "context" of the JSON schema, the machine and the software; members that are unknown are
// null. `folder` is the folder of file scope. If it is empty, there are no rows in file scope, and
// the versions of its rivals are left out. `machine` is the user's name for the machine, empty if
// it has none.
[[nodiscard]] nlohmann::ordered_json context(const std::string& folder, const std::string& machine);

// The version of the library or program behind the rival of this name, as in "libraries"; empty if
// there is none.
[[nodiscard]] std::string version_of_rival(const std::string& rival);

// The report as JSON, schema 1.
[[nodiscard]] nlohmann::ordered_json report(std::uint64_t seed,
                                            const nlohmann::ordered_json& context,
                                            const Outcome& outcome);

// Rows sorted by scope, size and job, the fastest of a job first, with the speed relative to each
// rival that ran. A line above has the axes that all rows share. Where the table would be wider
// than 100 columns, it leaves out ratios, all but those to the first rival.
[[nodiscard]] std::string table(const Outcome& outcome);

// The results in the form of `openssl speed`: a row for each kernel or rival with a mode, key size
// and direction, and a column for each size. For memory scope on one thread of the CPU.
[[nodiscard]] std::string openssl_speed_table(const Outcome& outcome);

// The skipped rows: one line for each reason and kernel or rival, with the number of rows.
[[nodiscard]] std::string skipped_text(const std::vector<Skipped>& skipped);

// Whether the samples vary by more than max_spread percent: then ratios would mean nothing.
inline constexpr double max_spread = 30;
[[nodiscard]] bool is_noisy(const Result& result);

// The rows that a plan would measure, and those that it skips.
[[nodiscard]] std::string listing(const BenchPlan& plan);

// "16 KiB", "1 MiB", "1000 B".
[[nodiscard]] std::string size_text(std::uint64_t bytes);

}  // namespace paraes::bench
