// Signals end a measurement only after its files are removed and its child processes have ended.
#pragma once

#include "src/core/non_copyable.hpp"

namespace paraes::bench {

// Thrown at the next safe place after SIGINT, SIGTERM or SIGHUP, so that destructors remove the
// folders. Not a std::exception: the harness would take it for a failed row and continue.
struct Interrupted {
  int signal;
};

// While an object exists, these signals are only noted, not fatal. Signals that were ignored
// (nohup) stay ignored.
class NoteSignals : NonCopyable {
 public:
  NoteSignals();
  ~NoteSignals();
};

// The last signal that was noted, or 0.
[[nodiscard]] int noted_signal() noexcept;

// Throws Interrupted if a signal was noted.
void throw_if_interrupted();

}  // namespace paraes::bench
