#include "signals.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <utility>

namespace paraes::cli {
namespace {

// Handlers may only read lock-free atomics and call what POSIX lists as safe (unlinkat, tcsetattr,
// _exit).
// As many as there can be threads; what finds no place is not removed by a signal.
constexpr std::size_t places = 4096 + 8;
std::array<std::atomic<const char*>, places> temporaries = {};
std::array<std::atomic<int>, places> folders = {};  // of those
std::array<std::atomic<bool>, places> taken = {};
std::atomic<int> terminal = -1;
termios terminal_settings = {};
static_assert(std::atomic<const char*>::is_always_lock_free);

extern "C" void end_process(int number) {
  for (std::size_t i = 0; i < places; ++i) {
    if (const char* name = temporaries[i].load(); name != nullptr) {
      unlinkat(folders[i].load(), name, 0);
    }
  }
  if (const int descriptor = terminal.load(); descriptor >= 0) {
    tcsetattr(descriptor, TCSANOW, &terminal_settings);
  }
  _exit(128 + number);
}

extern "C" void do_nothing(int) {}

void handle(int number, void (*handler)(int), bool even_if_ignored) {
  struct sigaction old = {};
  if (sigaction(number, nullptr, &old) == 0 && old.sa_handler == SIG_IGN && !even_if_ignored) {
    return;
  }
  struct sigaction action = {};
  action.sa_handler = handler;
  action.sa_flags = SA_RESTART;
  sigfillset(&action.sa_mask);
  sigaction(number, &action, nullptr);
}

}  // namespace

void install_signal_handlers() {
  for (const int number : {SIGINT, SIGTERM, SIGHUP}) handle(number, end_process, false);
  handle(SIGPIPE, end_process, true);
  handle(SIGXFSZ, do_nothing, true);
}

void reserve_standard_descriptors() {
  for (int number = 0; number <= 2; ++number) {
    if (fcntl(number, F_GETFD) >= 0 || errno != EBADF) continue;
    // The lowest free number is the one that open returns; the access is the wrong one on purpose.
    static_cast<void>(!open("/dev/null", number == 0 ? O_WRONLY : O_RDONLY));
  }
}

TemporaryName::TemporaryName() : place_(0) {
  while (place_ < places && taken[place_].exchange(true)) ++place_;
}

TemporaryName::~TemporaryName() {
  if (place_ == places) return;
  temporaries[place_].store(nullptr);
  taken[place_].store(false);
}

void TemporaryName::set(int folder, const std::string& name) {
  if (place_ == places) return;
  // The old name is kept until the new one is in place: the handler may be reading it.
  std::unique_ptr<char[]> next;
  if (!name.empty()) {
    next = std::make_unique<char[]>(name.size() + 1);
    std::memcpy(next.get(), name.c_str(), name.size() + 1);
  }
  folders[place_].store(folder);
  temporaries[place_].store(next.get());
  name_ = std::move(next);
}

RestoreTerminal::RestoreTerminal(int descriptor, const termios& settings) {
  terminal_settings = settings;
  terminal.store(descriptor);
}

RestoreTerminal::~RestoreTerminal() {
  const int descriptor = terminal.exchange(-1);
  if (descriptor >= 0) tcsetattr(descriptor, TCSANOW, &terminal_settings);
}

}  // namespace paraes::cli
