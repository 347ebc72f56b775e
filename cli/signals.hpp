// Signals end the process at once, from the handler: a read that waits for a pipe, or a sync of a
// slow disk, must not keep them waiting. What has to be put right first is registered here.
#pragma once

#include <termios.h>

#include <cstddef>
#include <string>

namespace paraes::cli {

// SIGINT, SIGTERM and SIGHUP (unless ignored already, as under nohup) remove the temporary, give
// the terminal its echo back and exit with 128 + the signal's number; SIGPIPE exits with 141;
// SIGXFSZ becomes the error EFBIG of the write.
void install_signal_handlers();

// Opens descriptors 0, 1 and 2 if the caller closed them, so that no file of ours can take their
// place and receive what is meant for the terminal. Using them still fails.
void reserve_standard_descriptors();

// A place for the name of one file that a signal removes. For FileSink::Options::on_temporary; any
// number of threads may have one each.
class TemporaryName {
 public:
  TemporaryName();
  TemporaryName(const TemporaryName&) = delete;
  TemporaryName& operator=(const TemporaryName&) = delete;
  ~TemporaryName();

  // `name` in the open folder `folder`, which stays open until another is set; empty: none.
  void set(int folder, const std::string& name);

 private:
  std::size_t place_;
};

// While one lives, a signal first gives the terminal `descriptor` these settings back.
class RestoreTerminal {
 public:
  RestoreTerminal(int descriptor, const termios& settings);
  RestoreTerminal(const RestoreTerminal&) = delete;
  RestoreTerminal& operator=(const RestoreTerminal&) = delete;
  ~RestoreTerminal();  // gives them back, too
};

}  // namespace paraes::cli
