#include "cli/plan/reporting.hpp"

#include <unistd.h>

#include "cli/words/choices.hpp"

namespace paraes::cli {

Reporting plan_reporting(const CryptOptions& options, const std::vector<std::string>& inputs,
                         bool several, const Output& output) {
  Reporting reporting;
  if (!inputs.empty()) reporting.input = inputs[0];
  if (options.format) reporting.format = format_name(*options.format);
  reporting.several = several;
  reporting.quiet = options.quiet;
  reporting.verbose = options.verbose && !options.quiet;
  reporting.json = options.json;
  const bool writes = options.verb != Verb::verify;
  if (writes && output.mixes_with_stdout) reporting.json_stream = stderr;
  return reporting;
}

Progress::Bar choose_bar(const CryptOptions& options, const Output& output, bool data_on_stdin) {
  if (options.progress) return Progress::Bar::always;
  // A terminal shows what is typed, or the data, in the place of the bar.
  const bool typed = data_on_stdin && isatty(STDIN_FILENO) != 0;
  const bool shown = options.verb != Verb::verify && output.is_terminal();
  const bool wanted =
      !options.no_progress && !options.quiet && isatty(STDERR_FILENO) != 0 && !typed && !shown;
  return wanted ? Progress::Bar::when_slow : Progress::Bar::none;
}

}  // namespace paraes::cli
