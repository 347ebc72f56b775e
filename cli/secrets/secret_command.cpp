#include "cli/secrets/keys.hpp"

#include <fcntl.h>
#include <fmt/format.h>

#include <algorithm>
#include <cerrno>

#include "cli/terminal/signals.hpp"
#include "cli/words/errors.hpp"
#include "paraes/error.hpp"
#include "paraes/io.hpp"
#include "src/core/system/program.hpp"

namespace paraes::cli {

SecretBytes output_of_command(const std::string& command, const std::string& flag,
                              std::string_view kind, std::size_t most, const SecretReading& how) {
  system::ProgramCall call;
  call.path = "/bin/sh";
  call.arguments = {"-c", command};
  Descriptor nothing;
  call.hidden = how.hidden_variables;
  if (how.stdin_is_taken) {
    nothing = Descriptor(open("/dev/null", O_RDONLY | O_CLOEXEC));
    if (nothing.get() < 0) throw io_error("/dev/null", "open", errno);
    call.input = nothing.get();
  }
  const ChildProgram child;
  call.on_process = ChildProgram::set;
  // All of it: a part of a secret would be another one.
  call.waits_for_all_output = true;
  SecretBytes output(most + 1);
  std::size_t kept = 0;
  call.on_output = [&](Bytes data) {
    const std::size_t n = std::min(data.size(), output.size() - kept);
    std::copy_n(data.begin(), n, output.data() + kept);
    kept += n;
    return kept <= most;
  };
  const system::ProgramEnd end = system::run_program(call);
  if (kept > most) {
    throw refusal("{}: it printed more than {} bytes: too many for a {}", flag, most, kind);
  }
  if (!end.succeeded()) {
    throw Error(end.exited ? fmt::format("{} failed with exit status {}", flag, end.number)
                           : fmt::format("{} was ended by signal {}", flag, end.number));
  }
  output.truncate(kept);
  return output;
}

}  // namespace paraes::cli
