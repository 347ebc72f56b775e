// Runs other programs.
#pragma once

#include <sys/types.h>

#include <functional>
#include <string>
#include <vector>

#include "paraes/ciphers.hpp"
#include "paraes/io.hpp"

namespace paraes::system {

struct ProgramCall {
  std::string path;                    // of the executable; never looked up in PATH
  std::vector<std::string> arguments;  // without its name
  int input = -1;                   // becomes its standard input; -1: it keeps that of this process
  std::vector<int> inherited;       // also open in the program, under the same numbers
  std::vector<std::string> hidden;  // variables that its environment lacks
  // Called with what the program writes to standard output, and to standard error. Without
  // on_errors, it keeps the standard error of this process. If one returns false, the program is
  // killed. Must not throw. The memory is cleared after the call.
  std::function<bool(Bytes data)> on_output;
  std::function<bool(Bytes data)> on_errors;
  // Called each time that the program has written nothing for a second.
  std::function<void()> on_silence;
  // Called with its process id when it has started, and with 0 when it has ended.
  std::function<void(pid_t process)> on_process;
  // Programs that it has started may still have its output open when it ends: whether to wait until
  // they close it. What they write until then is passed on in either case.
  bool waits_for_all_output = false;
};

struct ProgramEnd {
  bool exited = false;  // false: a signal ended it
  int number = 0;       // the exit status, or the number of the signal

  [[nodiscard]] bool succeeded() const noexcept { return exited && number == 0; }
  // "it ended with exit status 3", or "signal 9 (Killed) ended it".
  [[nodiscard]] std::string text() const;
};

// Runs a program to its end. It starts with no signal blocked, and SIGPIPE and SIGCHLD not ignored,
// whatever the calling thread does. Throws IoError, whose text begins with the path, if it cannot
// be started, or if what it writes cannot be read.
[[nodiscard]] ProgramEnd run_program(const ProgramCall& call);

// A pipe whose reading end holds `data`: for a secret that a program reads from a descriptor. Its
// writing end is closed. Throws IoError with ENOBUFS if the pipe is too small: 4096 bytes always
// fit, and 65536 usually do.
[[nodiscard]] Descriptor pipe_with(Bytes data);

}  // namespace paraes::system
