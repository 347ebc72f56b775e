#include "src/core/system/program.hpp"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <string_view>
#include <system_error>
#include <tuple>
#include <utility>

#include "paraes/error.hpp"
#include "paraes/secret.hpp"
#include "src/core/system/process.hpp"

namespace paraes::system {
namespace {

[[noreturn]] void fail(const std::string& what, int code) {
  throw IoError(what + ": " + std::generic_category().message(code), code);
}

// A pipe neither of whose ends is 0, 1 or 2: the actions of posix_spawn would overwrite these.
std::pair<Descriptor, Descriptor> new_pipe(const std::string& user) {
  int ends[2];
  if (!make_pipe(ends)) fail(user + ": cannot make a pipe", errno);
  std::array<Descriptor, 2> pipe = {Descriptor(ends[0]), Descriptor(ends[1])};
  for (Descriptor& end : pipe) {
    if (end.get() > STDERR_FILENO) continue;
    end = Descriptor(fcntl(end.get(), F_DUPFD_CLOEXEC, STDERR_FILENO + 1));
    if (end.get() < 0) fail(user + ": cannot make a pipe", errno);
  }
  return {std::move(pipe[0]), std::move(pipe[1])};
}

// The attributes and file actions of a posix_spawn.
class SpawnPlan {
 public:
  SpawnPlan() {
    posix_spawnattr_init(&attributes_);
    posix_spawn_file_actions_init(&actions_);
    sigset_t none;
    sigemptyset(&none);
    posix_spawnattr_setsigmask(&attributes_, &none);
    sigset_t defaults;
    sigemptyset(&defaults);
    sigaddset(&defaults, SIGPIPE);
    sigaddset(&defaults, SIGCHLD);
    posix_spawnattr_setsigdefault(&attributes_, &defaults);
    posix_spawnattr_setflags(&attributes_, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  }
  ~SpawnPlan() {
    posix_spawn_file_actions_destroy(&actions_);
    posix_spawnattr_destroy(&attributes_);
  }
  SpawnPlan(const SpawnPlan&) = delete;
  SpawnPlan& operator=(const SpawnPlan&) = delete;

  // From a number to itself: closes it no longer on exec (POSIX.1-2024). If there is no memory for
  // it, spawn fails: the program would write its secrets elsewhere.
  void duplicate(int from, int to) {
    const int error = posix_spawn_file_actions_adddup2(&actions_, from, to);
    if (error_ == 0) error_ = error;
  }

  // Returns an errno, or 0.
  int spawn(pid_t& child, const ProgramCall& call) const {
    if (error_ != 0) return error_;
    std::vector<std::string> words = {call.path};
    words.insert(words.end(), call.arguments.begin(), call.arguments.end());
    std::vector<char*> arguments;
    arguments.reserve(words.size() + 1);
    for (std::string& word : words) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    std::vector<char*> variables;
    for (char** variable = environment(); *variable != nullptr; ++variable) {
      if (!is_hidden(*variable, call.hidden)) variables.push_back(*variable);
    }
    variables.push_back(nullptr);
    return posix_spawn(&child, call.path.c_str(), &actions_, &attributes_, arguments.data(),
                       variables.data());
  }

 private:
  [[nodiscard]] static bool is_hidden(std::string_view variable,
                                      const std::vector<std::string>& hidden) {
    const std::string_view name = variable.substr(0, variable.find('='));
    return std::find(hidden.begin(), hidden.end(), name) != hidden.end();
  }

  posix_spawnattr_t attributes_ = {};
  posix_spawn_file_actions_t actions_ = {};
  int error_ = 0;
};

// A program that was started. If it still runs when this is destroyed, it is killed.
class Child {
 public:
  explicit Child(pid_t process) : process_(process) {}
  ~Child() { stop(); }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  void stop() {
    if (ended_) return;
    kill(process_, SIGKILL);
    static_cast<void>(wait(0));
  }

  // Returns whether it has ended. `flags`: those of waitpid.
  bool wait(int flags) {
    while (!ended_) {
      const pid_t got = waitpid(process_, &status_, flags);
      if (got == 0) return false;
      if (got < 0 && errno == EINTR) continue;
      ended_ = true;
      // If the process ignores SIGCHLD or another thread has waited for all children, nobody knows
      // how it ended.
      if (got < 0) error_ = errno;
    }
    return true;
  }

  [[nodiscard]] ProgramEnd end(const std::string& name) const {
    if (error_ != 0) fail(name + ": cannot tell how it ended", error_);
    if (WIFEXITED(status_)) return {.exited = true, .number = WEXITSTATUS(status_)};
    return {.exited = false, .number = WTERMSIG(status_)};
  }

 private:
  pid_t process_;
  int status_ = 0;
  int error_ = 0;
  bool ended_ = false;
};

// Receives what a program writes to one descriptor.
class Output {
 public:
  // `program`: its name, for errors.
  Output(Descriptor end, const std::function<bool(Bytes)>& receive, const std::string& program)
      : end_(std::move(end)), receive_(receive), program_(program) {
    if (end_.get() >= 0) fcntl(end_.get(), F_SETFL, O_NONBLOCK);
  }

  [[nodiscard]] bool is_open() const noexcept { return end_.get() >= 0; }
  [[nodiscard]] int descriptor() const noexcept { return end_.get(); }

  enum class Read { nothing, something, enough };
  // Reads at most as much as a pipe holds, because another program may write on and on.
  Read read_available(SecretBytes& buffer) {
    constexpr std::size_t most = std::size_t{1} << 20;
    std::size_t done = 0;
    while (is_open() && done < most) {
      const ssize_t n = ::read(end_.get(), buffer.data(), buffer.size());
      if (n < 0 && errno == EINTR) continue;
      if (n < 0 && errno == EAGAIN) break;
      // Not the end: half a secret is not to be taken for all of it.
      if (n < 0) fail(program_ + ": cannot read what it writes", errno);
      if (n == 0) {
        end_.close();
        break;
      }
      done += static_cast<std::size_t>(n);
      const bool goes_on = receive_(Bytes(buffer.span()).first(static_cast<std::size_t>(n)));
      secure_zero(buffer.data(), static_cast<std::size_t>(n));
      if (!goes_on) return Read::enough;
    }
    return done == 0 ? Read::nothing : Read::something;
  }

 private:
  Descriptor end_;
  const std::function<bool(Bytes)>& receive_;
  const std::string& program_;
};

// Passes on what the program writes until it ends. Returns false if that was enough before.
bool read_outputs(Child& child, std::array<Output, 2>& outputs, const ProgramCall& call) {
  SecretBytes buffer(4096);
  constexpr int step = 100;  // ms
  constexpr int silence = 1000;
  int silent = 0;
  for (;;) {
    std::array<pollfd, 2> wait{};
    nfds_t count = 0;
    for (const Output& output : outputs) {
      if (output.is_open()) wait[count++] = {output.descriptor(), POLLIN, 0};
    }
    if (count == 0) {
      child.wait(0);
      return true;
    }
    const int ready = poll(wait.data(), count, step);
    // Before the last read: what it has written is then in the pipes.
    const bool waits = call.waits_for_all_output && outputs[0].is_open();
    const bool ended = !waits && child.wait(WNOHANG);
    bool any = false;
    for (Output& output : outputs) {
      const Output::Read read = output.read_available(buffer);
      if (read == Output::Read::enough) return false;
      any = any || read == Output::Read::something;
    }
    if (ended) return true;
    silent = any || ready != 0 ? 0 : silent + step;
    if (silent < silence) continue;
    silent = 0;
    if (call.on_silence) call.on_silence();
  }
}

}  // namespace

std::string ProgramEnd::text() const {
  if (exited) return "it ended with exit status " + std::to_string(number);
  return "signal " + std::to_string(number) + " (" + strsignal(number) + ") ended it";
}

ProgramEnd run_program(const ProgramCall& call) {
  auto [output, output_end] = new_pipe(call.path);
  Descriptor errors;
  Descriptor errors_end;
  SpawnPlan plan;
  // First, so that none of these numbers has been given to another file yet.
  for (const int descriptor : call.inherited) plan.duplicate(descriptor, descriptor);
  if (call.input >= 0) plan.duplicate(call.input, STDIN_FILENO);
  plan.duplicate(output_end.get(), STDOUT_FILENO);
  if (call.on_errors) {
    std::tie(errors, errors_end) = new_pipe(call.path);
    plan.duplicate(errors_end.get(), STDERR_FILENO);
  }
  pid_t process = 0;
  if (const int error = plan.spawn(process, call); error != 0) {
    fail(call.path + ": cannot start it", error);
  }
  Child child(process);
  output_end.close();
  errors_end.close();
  std::array<Output, 2> outputs = {Output(std::move(output), call.on_output, call.path),
                                   Output(std::move(errors), call.on_errors, call.path)};
  if (call.on_process) call.on_process(process);
  const bool to_its_end = read_outputs(child, outputs, call);
  if (!to_its_end) child.stop();
  if (call.on_process) call.on_process(0);
  return child.end(call.path);
}

Descriptor pipe_with(Bytes data) {
  auto [reading, writing] = new_pipe("a secret for another program");
  fcntl(writing.get(), F_SETFL, O_NONBLOCK);
  ssize_t n = 0;
  do {
    n = ::write(writing.get(), data.data(), data.size());
  } while (n < 0 && errno == EINTR);
  if (n != static_cast<ssize_t>(data.size())) {
    fail("a secret for another program", n < 0 ? errno : ENOBUFS);
  }
  return std::move(reading);
}

}  // namespace paraes::system
