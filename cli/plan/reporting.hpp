// What a run prints, and where.
#pragma once

#include <cstdio>
#include <optional>
#include <string>

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

}  // namespace paraes::cli
