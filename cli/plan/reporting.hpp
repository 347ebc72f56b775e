// What a run prints, and where.
#pragma once

#include <cstdio>
#include <optional>
#include <string>
#include <vector>

#include "cli/arguments/options.hpp"
#include "cli/plan/output.hpp"
#include "cli/terminal/progress.hpp"

namespace paraes::cli {

struct Reporting {
  std::string input;                  // the first one, for the report of a run that is refused
  std::optional<std::string> format;  // if it was named
  bool several = false;               // see Plan
  bool quiet = false;
  bool verbose = false;  // and not quiet
  bool json = false;
  std::FILE* json_stream = stdout;  // standard output, unless data goes there
  Progress::Bar bar = Progress::Bar::none;
};

// All of it but the bar.
[[nodiscard]] Reporting plan_reporting(const CryptOptions& options,
                                       const std::vector<std::string>& inputs, bool several,
                                       const Output& output);
// `data_on_stdin`: as far as names tell.
[[nodiscard]] Progress::Bar choose_bar(const CryptOptions& options, const Output& output,
                                       bool data_on_stdin);

}  // namespace paraes::cli
