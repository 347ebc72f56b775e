#include "bench/file/child.hpp"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>

#include "bench/harness/noted_signals.hpp"
#include "paraes/error.hpp"
#include "src/core/system/memory.hpp"
#include "src/core/system/process.hpp"

namespace paraes::bench {
namespace {

// Collects a child's output in a memory file: there is no pipe to drain, no file to remove.
class CapturedOutput {
 public:
  CapturedOutput() : file_(system::open_memory_file("paraes-bench")) {
    if (file_ < 0) throw IoError("cannot create a file in memory", errno);
  }
  ~CapturedOutput() { close(file_); }
  CapturedOutput(const CapturedOutput&) = delete;
  CapturedOutput& operator=(const CapturedOutput&) = delete;

  [[nodiscard]] int file() const { return file_; }

  [[nodiscard]] std::string text() const {
    std::string text(4096, '\0');
    const ssize_t n = pread(file_, text.data(), text.size(), 0);
    text.resize(n > 0 ? static_cast<std::size_t>(n) : 0);
    return text;
  }

 private:
  int file_;
};

class SpawnActions {
 public:
  explicit SpawnActions(int output) {
    posix_spawn_file_actions_init(&actions_);
    posix_spawn_file_actions_addopen(&actions_, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&actions_, output, STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&actions_, output, STDERR_FILENO);
  }
  ~SpawnActions() { posix_spawn_file_actions_destroy(&actions_); }
  SpawnActions(const SpawnActions&) = delete;
  SpawnActions& operator=(const SpawnActions&) = delete;
  [[nodiscard]] const posix_spawn_file_actions_t* get() const { return &actions_; }

 private:
  posix_spawn_file_actions_t actions_;
};

}  // namespace

ChildResult run_child(const std::vector<std::string>& argv) {
  std::vector<char*> words;
  words.reserve(argv.size() + 1);
  for (const std::string& word : argv) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  const CapturedOutput output;
  const SpawnActions actions(output.file());
  pid_t child = 0;
  const int error =
      posix_spawn(&child, words[0], actions.get(), nullptr, words.data(), system::environment());
  if (error != 0) throw IoError(argv[0] + ": cannot be started", error);
  int status = 0;
  while (waitpid(child, &status, 0) < 0) {
    if (errno != EINTR) throw IoError("waitpid", errno);
    if (noted_signal() != 0) kill(child, SIGTERM);
  }
  throw_if_interrupted();
  ChildResult result;
  result.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  result.output = output.text();
  return result;
}

std::string first_line_of(const std::vector<std::string>& argv) {
  try {
    const ChildResult result = run_child(argv);
    return result.status == 0 ? result.output.substr(0, result.output.find('\n')) : "";
  } catch (const IoError&) {
    return {};
  }
}

}  // namespace paraes::bench
