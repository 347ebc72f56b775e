// Signal handlers end the process themselves, because a read from a pipe or a sync of a slow disk
// may block. They clean up whatever is registered here.
#pragma once

#include <sys/types.h>
#include <termios.h>

#include <csignal>
#include <cstddef>
#include <string>

namespace paraes::cli {

// SIGINT, SIGTERM and SIGHUP (unless ignored already, as under nohup) remove temporaries, restore
// the terminal's echo and exit with 128 + the signal's number. SIGPIPE does the same, even if it
// was ignored. SIGXFSZ no longer ends the process: the write fails with EFBIG.
void install_signal_handlers();

// Libraries allocate memory in functions that must not throw: where there is none, the process
// cleans up as for a signal, says so and exits with exit_failed. What else nobody catches aborts as
// usual.
void install_terminate_handler();

// Opens descriptors 0, 1 and 2 if they are closed, so that no other file gets one of these numbers
// and receives messages. Using them still fails.
void reserve_standard_descriptors();

// Registers one temporary that a signal removes. For FileSink::Options::on_temporary. Thread-safe:
// each thread uses an object of its own.
class TemporaryName {
 public:
  TemporaryName();
  TemporaryName(const TemporaryName&) = delete;
  TemporaryName& operator=(const TemporaryName&) = delete;
  ~TemporaryName();

  // Registers `name` in the open folder `folder`, which must stay open until the next call. An
  // empty name registers nothing.
  void set(int folder, const std::string& name);

 private:
  std::size_t place_;
};

// Keeps the signals above waiting while it exists, in this thread: for what a handler cannot clean
// up.
class SignalsWait {
 public:
  SignalsWait();
  SignalsWait(const SignalsWait&) = delete;
  SignalsWait& operator=(const SignalsWait&) = delete;
  ~SignalsWait();

  // Whether one has come, so that the process should get to its end.
  [[nodiscard]] bool one_waits() const noexcept;

 private:
  sigset_t before_;
};

// A program that this process is about to start, and that may ask for a secret on the terminal: a
// signal ends it as well, and restores the settings that the terminal had before. Only one object
// may exist at a time.
class ChildProgram {
 public:
  ChildProgram();
  ChildProgram(const ChildProgram&) = delete;
  ChildProgram& operator=(const ChildProgram&) = delete;
  ~ChildProgram();

  // For ProgramCall::on_process.
  static void set(pid_t process) noexcept;
};

// Restores the settings of the terminal `descriptor` when destroyed, or when a signal comes before.
class RestoreTerminal {
 public:
  RestoreTerminal(int descriptor, const termios& settings);
  RestoreTerminal(const RestoreTerminal&) = delete;
  RestoreTerminal& operator=(const RestoreTerminal&) = delete;
  ~RestoreTerminal();
};

}  // namespace paraes::cli
