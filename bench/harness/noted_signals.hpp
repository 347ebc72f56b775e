// Signals that end a measurement only after its files are removed and its children have ended.
#pragma once

namespace paraes::bench {

// Thrown at the next safe place after SIGINT, SIGTERM or SIGHUP, so that folders are removed.
// Not a std::exception: the harness notes those as wrong rows and goes on.
struct Interrupted {
  int signal;
};

// While one lives, these signals are noted rather than fatal; those that were ignored (nohup) stay
// so.
class NoteSignals {
 public:
  NoteSignals();
  ~NoteSignals();
  NoteSignals(const NoteSignals&) = delete;
  NoteSignals& operator=(const NoteSignals&) = delete;
};

// The last signal that was noted; 0: none.
[[nodiscard]] int noted_signal() noexcept;

void throw_if_interrupted();

}  // namespace paraes::bench
