// Signals end the process at once, from the handler: a read that waits for a pipe, or a sync of a
// slow disk, must not keep them waiting. What has to be put right first is registered here.
#pragma once

#include <termios.h>

#include <string>

namespace paraes::cli {

// SIGINT, SIGTERM and SIGHUP (unless ignored already, as under nohup) remove the temporary, give
// the terminal its echo back and exit with 128 + the signal's number; SIGPIPE exits with 141;
// SIGXFSZ becomes the error EFBIG of the write.
void install_signal_handlers();

// Opens descriptors 0, 1 and 2 if the caller closed them, so that no file of ours can take their
// place and receive what is meant for the terminal. Using them still fails.
void reserve_standard_descriptors();

// The file to remove on a signal; an empty name: none. For FileSink::Options::on_temporary.
void set_temporary(const std::string& path);

// While one lives, a signal first gives the terminal `descriptor` these settings back.
class RestoreTerminal {
 public:
  RestoreTerminal(int descriptor, const termios& settings);
  RestoreTerminal(const RestoreTerminal&) = delete;
  RestoreTerminal& operator=(const RestoreTerminal&) = delete;
  ~RestoreTerminal();  // gives them back, too
};

}  // namespace paraes::cli
