// Where the data of a run comes from and goes to, as its flags say: files, or the standard streams
// and other descriptors that names mean.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/arguments/options.hpp"

namespace paraes::cli {

// The flags that read a list from standard input, with the names that they were given. `own`:
// whether this process has the standard input of the run, so that other names than "-" can mean it.
// Throws InvalidArgument if two lists, or a list and a secret, are read from there, before either
// is; under a launcher, also for a list from a descriptor above standard error.
[[nodiscard]] std::vector<std::string> list_readers(const CryptOptions& options, bool own,
                                                    bool launched);

// `readers`, of all functions below: what list_readers returned.

// The inputs of a run. Without a FILE, standard input is the one input: unless that is a terminal
// (`is_terminal`), whose user has more likely forgotten the FILE, or a flag needs a FILE, or
// standard input for itself. Then there is none.
[[nodiscard]] std::vector<std::string> inputs_of(const CryptOptions& options,
                                                 const std::vector<std::string>& readers,
                                                 bool is_terminal);

struct StandardInput {
  bool is_data = false;   // an input is standard input, as far as its name tells
  bool is_taken = false;  // the data, a list or a secret is read from it, by whatever name
};

// Throws InvalidArgument if there are no inputs, if two want standard input, or if a flag names it
// that needs a file.
[[nodiscard]] StandardInput plan_standard_input(const CryptOptions& options,
                                                const std::vector<std::string>& inputs,
                                                const std::vector<std::string>& readers);

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

// Checks the descriptors that names of inputs, outputs and secrets mean, such as /dev/fd/3, before
// this process opens any of its own. Throws InvalidArgument for one that is not open as it needs to
// be; under a launcher, for any above standard error: what MPI has open would be taken for it.
// Returns the name of an input or output that means a descriptor; empty if none does, as far as the
// text of the inputs tells.
[[nodiscard]] std::string check_named_descriptors(const CryptOptions& options,
                                                  const std::vector<std::string>& inputs,
                                                  const Output& output);

}  // namespace paraes::cli
