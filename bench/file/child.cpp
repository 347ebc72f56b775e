#include "bench/file/child.hpp"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>

#include "bench/harness/noted_signals.hpp"
#include "paraes/error.hpp"
#include "paraes/io.hpp"
#include "src/core/system/memory.hpp"
#include "src/core/system/process.hpp"

namespace paraes::bench {

ChildResult run_child(const std::vector<std::string>& argv) {
  std::vector<char*> words;
  words.reserve(argv.size() + 1);
  for (const std::string& word : argv) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  // In memory there is no pipe to drain, and no file to remove.
  const Descriptor output(system::open_memory_file("paraes-bench"));
  if (output.get() < 0) throw IoError("cannot create a file in memory", errno);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, output.get(), STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, output.get(), STDERR_FILENO);
  pid_t child = 0;
  const int error =
      posix_spawn(&child, words[0], &actions, nullptr, words.data(), system::environment());
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) throw IoError(argv[0] + ": cannot be started", error);
  int status = 0;
  while (waitpid(child, &status, 0) < 0) {
    if (errno != EINTR) throw IoError("waitpid", errno);
    if (noted_signal() != 0) kill(child, SIGTERM);
  }
  throw_if_interrupted();
  ChildResult result;
  result.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  result.output.resize(4096);
  const ssize_t n = pread(output.get(), result.output.data(), result.output.size(), 0);
  result.output.resize(n > 0 ? static_cast<std::size_t>(n) : 0);
  return result;
}

std::string first_line_of(const std::vector<std::string>& argv) try {
  const ChildResult result = run_child(argv);
  return result.status == 0 ? result.output.substr(0, result.output.find('\n')) : "";
} catch (const IoError&) {
  return {};
}

}  // namespace paraes::bench
