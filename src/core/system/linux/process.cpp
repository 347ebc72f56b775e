#include "src/core/system/process.hpp"

#include <fcntl.h>
#include <sys/auxv.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <filesystem>
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

bool only_names_a_file(int flags) noexcept { return (flags & O_PATH) != 0; }

bool depends_on_process(std::string_view path) noexcept {
  return path.starts_with("/dev/fd/") || path.starts_with("/dev/std") || path.starts_with("/proc/");
}

std::string path_of_descriptor(int descriptor) {
  return "/proc/" + std::to_string(getpid()) + "/fd/" + std::to_string(descriptor);
}

}  // namespace paraes::system
