#include "cli/terminal/signals.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <exception>
#include <new>

#include "cli/terminal/status_line.hpp"
#include "cli/words/errors.hpp"

namespace paraes::cli {
namespace {

// Handlers may only read lock-free atomics and call async-signal-safe functions (unlinkat,
// tcsetattr, write_in_handler, _exit).

constexpr std::array<int, 3> ending_signals = {SIGINT, SIGTERM, SIGHUP};

// One for each possible thread. A signal does not remove a temporary that found no place here.
constexpr std::size_t most_temporaries = 4096 + 8;
struct Temporary {
  std::atomic<bool> is_taken = false;
  std::atomic<bool> is_set = false;
  int folder = 0;
  std::array<char, 256> name = {};  // an array: a handler may read it while it changes
};
std::array<Temporary, most_temporaries> temporaries;
std::atomic<int> terminal = -1;
termios terminal_settings = {};
std::atomic<pid_t> child_program = 0;
static_assert(std::atomic<pid_t>::is_always_lock_free);
static_assert(std::atomic<bool>::is_always_lock_free);

void clean_up() noexcept {
  for (const Temporary& temporary : temporaries) {
    if (temporary.is_set.load()) unlinkat(temporary.folder, temporary.name.data(), 0);
  }
  if (const pid_t process = child_program.load(); process > 0) kill(process, SIGTERM);
  if (const int descriptor = terminal.load(); descriptor >= 0) {
    tcsetattr(descriptor, TCSANOW, &terminal_settings);
    static_cast<void>(!write(descriptor, "\n", 1));  // ends the line of the prompt
  }
}

// AddressSanitizer must leave this out: before a call that does not return, it cleans up the stack
// of the thread, and on a thread that it does not know yet it writes a warning to standard error.
extern "C" [[gnu::no_sanitize_address]] void end_process(int number) {
  clean_up();
  write_in_handler("");
  _exit(128 + number);
}

std::terminate_handler usual_end = nullptr;

bool is_out_of_memory(const std::exception_ptr& error) noexcept {
  try {
    if (error) std::rethrow_exception(error);
  } catch (const std::bad_alloc&) {
    return true;
  } catch (...) {  // the usual handler describes it
  }
  return false;
}

void end_unless_caught() {
  if (!is_out_of_memory(std::current_exception())) usual_end();
  clean_up();
  write_in_handler("paraes: out of memory\n");
  _exit(exit_failed);
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

SignalsWait::SignalsWait() : before_() {
  sigset_t ending;
  sigemptyset(&ending);
  for (const int number : ending_signals) sigaddset(&ending, number);
  pthread_sigmask(SIG_BLOCK, &ending, &before_);
}

SignalsWait::~SignalsWait() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

bool SignalsWait::one_waits() const noexcept {
  sigset_t pending;
  return sigpending(&pending) == 0 &&
         std::any_of(ending_signals.begin(), ending_signals.end(),
                     [&](int number) { return sigismember(&pending, number) == 1; });
}

void install_signal_handlers() {
  for (const int number : ending_signals) handle(number, end_process, false);
  // If it were ignored, nobody could tell how another program has ended.
  static_cast<void>(signal(SIGCHLD, SIG_DFL));
  handle(SIGPIPE, end_process, true);
  handle(SIGXFSZ, do_nothing, true);
}

void install_terminate_handler() { usual_end = std::set_terminate(end_unless_caught); }

void reserve_standard_descriptors() {
  for (int number = 0; number <= 2; ++number) {
    if (fcntl(number, F_GETFD) >= 0 || errno != EBADF) continue;
    // open returns the lowest free number. The wrong access mode makes every use fail.
    static_cast<void>(!open("/dev/null", number == 0 ? O_WRONLY : O_RDONLY));
  }
}

TemporaryName::TemporaryName() : place_(0) {
  while (place_ < most_temporaries && temporaries[place_].is_taken.exchange(true)) ++place_;
}

TemporaryName::~TemporaryName() {
  if (place_ == most_temporaries) return;
  temporaries[place_].is_set.store(false);
  temporaries[place_].is_taken.store(false);
}

void TemporaryName::set(int folder, const std::string& name) {
  if (place_ == most_temporaries) return;
  Temporary& own = temporaries[place_];
  own.is_set.store(false);
  if (name.empty() || name.size() >= own.name.size()) return;
  own.folder = folder;
  std::memcpy(own.name.data(), name.c_str(), name.size() + 1);
  own.is_set.store(true);
}

ChildProgram::ChildProgram() {
  const int descriptor = open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY);
  // In the background, the terminal is another job's.
  if (descriptor >= 0 && tcgetpgrp(descriptor) == getpgrp() &&
      tcgetattr(descriptor, &terminal_settings) == 0) {
    terminal.store(descriptor);
  } else if (descriptor >= 0) {
    close(descriptor);
  }
}

ChildProgram::~ChildProgram() {
  child_program.store(0);
  if (const int descriptor = terminal.exchange(-1); descriptor >= 0) close(descriptor);
}

void ChildProgram::set(pid_t process) noexcept { child_program.store(process); }

RestoreTerminal::RestoreTerminal(int descriptor, const termios& settings) {
  terminal_settings = settings;
  terminal.store(descriptor);
}

RestoreTerminal::~RestoreTerminal() {
  const int descriptor = terminal.exchange(-1);
  if (descriptor >= 0) tcsetattr(descriptor, TCSANOW, &terminal_settings);
}

}  // namespace paraes::cli
