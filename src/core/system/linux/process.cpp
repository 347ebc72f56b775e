#include "src/core/system/process.hpp"

#include <fcntl.h>
#include <sys/auxv.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <system_error>

namespace paraes::system {

std::string executable_path() {
  std::error_code error;
  std::string path = std::filesystem::read_symlink("/proc/self/exe", error).string();
  errno = error.value();
  return path;
}

bool has_more_rights_than_caller() noexcept { return getauxval(AT_SECURE) != 0; }

void hide_memory() noexcept { static_cast<void>(prctl(PR_SET_DUMPABLE, 0)); }

bool end_with_parent(pid_t parent) noexcept {
  static_cast<void>(prctl(PR_SET_PDEATHSIG, SIGKILL));
  return getppid() == parent;  // if not, it ended before prctl
}

char** environment() noexcept { return environ; }

bool make_pipe(int (&ends)[2]) noexcept { return pipe2(ends, O_CLOEXEC) == 0; }

mode_t current_umask() {
  constexpr std::string_view field = "Umask:";
  std::ifstream status("/proc/thread-self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with(field)) {
      return static_cast<mode_t>(std::stoul(line.substr(field.size()), nullptr, 8));
    }
  }
  // Linux before 4.7, or without /proc.
  const mode_t mask = umask(077);
  umask(mask);
  return mask;
}

bool only_names_a_file(int flags) noexcept { return (flags & O_PATH) != 0; }

bool depends_on_process(std::string_view path) noexcept {
  return path.starts_with("/dev/fd/") || path.starts_with("/dev/std") || path.starts_with("/proc/");
}

bool has_own_descriptors(std::string_view folder) {
  constexpr std::string_view proc = "/proc/";
  constexpr std::string_view task = "/task/";
  constexpr std::string_view last = "/fd";
  if (folder == "/dev/fd") return true;
  if (!folder.starts_with(proc) || !folder.ends_with(last)) return false;
  folder.remove_prefix(proc.size());
  folder.remove_suffix(std::min(folder.size(), last.size()));
  // Threads share the descriptors.
  if (folder == "thread-self") return true;
  const std::size_t slash = folder.find('/');
  const std::string_view process = folder.substr(0, slash);
  if (slash != std::string_view::npos) {
    const std::string_view thread = folder.substr(slash);
    if (!thread.starts_with(task) || thread.find('/', task.size()) != std::string_view::npos) {
      return false;
    }
  }
  if (process == "self") return true;
  // Not getpid(): /proc may be that of another namespace.
  std::error_code error;
  return std::filesystem::read_symlink("/proc/self", error).native() == process && !error;
}

std::string path_of_descriptor(int descriptor) {
  return "/proc/" + std::to_string(getpid()) + "/fd/" + std::to_string(descriptor);
}

}  // namespace paraes::system
