// Whole programs as children.
#pragma once

#include <string>
#include <vector>

namespace paraes::bench {

struct ChildResult {
  int status = 0;      // exit status, or 128 + the signal that ended it
  std::string output;  // standard output and error, the first 4 KiB
};

// Runs argv[0] (a path) to its end with nothing on standard input. Throws IoError when it cannot be
// started, and Interrupted as below; the child is ended then.
[[nodiscard]] ChildResult run_child(const std::vector<std::string>& argv);

// Full path of a program on PATH; empty if there is none.
[[nodiscard]] std::string find_program(const std::string& name);

// First line that `argv` prints; empty if it fails.
[[nodiscard]] std::string first_line_of(const std::vector<std::string>& argv);

// Thrown at the next safe place after SIGINT, SIGTERM or SIGHUP, so that folders are removed.
// Not a std::exception: the harness notes those as wrong rows and goes on.
struct Interrupted {
  int signal;
};

// While one lives, these signals are noted rather than fatal.
class NoteSignals {
 public:
  NoteSignals();
  ~NoteSignals();
  NoteSignals(const NoteSignals&) = delete;
  NoteSignals& operator=(const NoteSignals&) = delete;
};

void throw_if_interrupted();

}  // namespace paraes::bench
