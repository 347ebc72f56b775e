// What -o, -c, -f and --update say about the outputs of a run.
#pragma once

#include <optional>
#include <string>

#include "cli/arguments/options.hpp"

namespace paraes::cli {

struct Output {
  std::optional<std::string> path;  // of -o; "-" is standard output
  std::optional<int> descriptor;    // that -o means, as with /dev/stdout
  bool folder = false;           // -o names a folder: one that exists, or a name that ends in '/'
  bool standard_output = false;  // -c
  bool replaces_all = false;     // -f
  bool replaces_older = false;   // --update
  // Whether the data may go to standard output: by -c, -o - or another name of that, or from the
  // input "-" without -o.
  bool data_on_stdout = false;
  // Whether standard output passes through a launcher, as under mpirun: it may be a terminal where
  // mpirun's own is none.
  bool launched = false;
  // Whether it would stand among what standard output gets.
  bool mixes_with_stdout = false;

  // Whether the data goes to a terminal, where a progress bar would stand in it.
  [[nodiscard]] bool is_terminal() const;
};

// Asks the system what the name that -o gives leads to.
[[nodiscard]] Output look_at_output(const CryptOptions& options, bool data_on_stdin, bool launched);

// Throws InvalidArgument for two outputs, for a descriptor as the output of several inputs
// (`several`), and for a folder as the output of what has no default name in it.
void check_output(const CryptOptions& options, const Output& output, bool several,
                  bool data_on_stdin);

}  // namespace paraes::cli
