#include "bench/harness/noted_signals.hpp"

#include <array>
#include <csignal>
#include <cstddef>

namespace paraes::bench {
namespace {

volatile std::sig_atomic_t noted = 0;

constexpr std::array<int, 3> noted_signals = {SIGINT, SIGTERM, SIGHUP};
std::array<struct sigaction, 3> former_actions;

extern "C" void note_signal(int signal) { noted = signal; }

}  // namespace

NoteSignals::NoteSignals() {
  struct sigaction action = {};
  action.sa_handler = note_signal;  // without SA_RESTART: waitpid must return
  for (std::size_t i = 0; i < noted_signals.size(); ++i) {
    sigaction(noted_signals[i], nullptr, &former_actions[i]);
    if (former_actions[i].sa_handler != SIG_IGN) sigaction(noted_signals[i], &action, nullptr);
  }
}

NoteSignals::~NoteSignals() {
  for (std::size_t i = 0; i < noted_signals.size(); ++i) {
    sigaction(noted_signals[i], &former_actions[i], nullptr);
  }
}

int noted_signal() noexcept { return noted; }

void throw_if_interrupted() {
  if (noted != 0) throw Interrupted{noted};
}

}  // namespace paraes::bench
