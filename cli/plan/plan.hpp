// The plan of a run of encrypt, decrypt, verify, rekey or info: all that its flags say, checked
// before the first file is opened. Afterwards nobody reads the flags.
#pragma once

#include <cstdint>
#include <cstdio>
#include <optional>
#include <string>
#include <vector>

#include "cli/arguments/options.hpp"
#include "cli/plan/exclude.hpp"
#include "cli/plan/io.hpp"
#include "cli/terminal/progress.hpp"
#include "cli/words/choices.hpp"
#include "paraes/ciphers.hpp"
#include "paraes/kernels.hpp"
#include "paraes/streams.hpp"

namespace paraes::cli {

// How and where a run reports.
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

struct Plan : Settings {
  Reporting reporting;

  // The inputs, and the place of the outputs.
  std::vector<std::string> inputs;
  std::size_t first_listed = 0;  // the first of them that is from the list of --files-from
  std::vector<SecretSources::File> lists;  // of inputs and patterns
  StandardInput standard_input;
  // Whether there may be more than one file: several inputs, a list, or -r. Then -o names a folder
  // for all outputs, and an error with one of them does not end the run.
  bool several = false;
  Exclusions exclusions;
  Output output;

  Format format = Format::paraes;
  bool format_named = false;
  BlockMode mode = BlockMode::ctr;  // of raw and openssl
  std::vector<std::uint8_t> iv;

  KernelInfo kernel;
  Execution execution;
  bool on_gpu = false;
  std::string why;          // why this kernel, and perhaps this device
  bool may_choose = false;  // a profile may choose another device and kernel: see use_profile

  [[nodiscard]] Direction direction() const {
    return verb == Verb::encrypt ? Direction::encrypt : Direction::decrypt;
  }

  // The variables of the environment that hold secrets, which no other program gets.
  [[nodiscard]] std::vector<std::string> secret_variables() const;

  // Whether a program is started: a command, or age.
  [[nodiscard]] bool starts_programs() const {
    return keys.starts_programs() || new_keys.starts_programs();
  }

  // Whether existing files may be overwritten.
  [[nodiscard]] bool replaces_files() const {
    return output.replaces_all || output.replaces_older || verb == Verb::rekey;
  }

  // Whether the outputs get the attributes of the inputs, or messages name them.
  [[nodiscard]] bool looks_at_attributes() const noexcept {
    return verb != Verb::verify && !dry_run && (keeps_attributes || reporting.verbose);
  }

  // How many bytes of plaintext an input of `bytes` bytes has, which is what progress counts: as
  // far as the flags tell. Those of a Tink keyset and of padding are not known yet.
  [[nodiscard]] std::uint64_t plain_bytes(std::uint64_t bytes) const;
};

// Where a run takes place.
struct Surroundings {
  bool stdin_is_terminal = false;
  // Its standard streams pass through a launcher, as under mpirun, which may have opened other
  // descriptors.
  bool launched = false;
  // Whether it has the standard input of the run, and reads the lists that flags name: a rank that
  // gets its work from another one does not.
  bool reads_lists = true;
};

// Throws InvalidArgument for wrong or contradictory flags and for a kernel or device that does not
// exist, and Unavailable for a kernel or device that this machine lacks. Sets `reporting` before.
[[nodiscard]] Plan make_plan(const CryptOptions& options, const Surroundings& surroundings,
                             Reporting& reporting);

// "CBC" and the like, for messages.
[[nodiscard]] const char* mode_name(BlockMode mode);

}  // namespace paraes::cli
