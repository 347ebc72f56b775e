// Threads of the library in programs that handle signals.
#pragma once

#include <pthread.h>

#include <csignal>

namespace paraes::system {

// While it exists, this thread takes no signal to the process, and a thread that it starts never
// does: the program's own threads handle them. Signals that an instruction of a thread itself
// raises cannot be blocked.
class BlockedSignals {
 public:
  BlockedSignals() noexcept {
    sigset_t all;
    sigfillset(&all);
    for (const int synchronous : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT, SIGSYS}) {
      sigdelset(&all, synchronous);
    }
    blocked_ = pthread_sigmask(SIG_SETMASK, &all, &before_) == 0;
  }
  ~BlockedSignals() {
    if (blocked_) pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }
  BlockedSignals(const BlockedSignals&) = delete;
  BlockedSignals& operator=(const BlockedSignals&) = delete;

 private:
  sigset_t before_ = {};
  bool blocked_ = false;
};

}  // namespace paraes::system
