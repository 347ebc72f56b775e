#include "src/core/system/process.hpp"

#include <dlfcn.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <system_error>

#include "src/core/system/program_path.hpp"

// The program has to declare it (POSIX, environ(7)).
extern "C" char** environ;

namespace paraes::system {
namespace {

// The path by which the executable was started, or only its name if the shell found it in PATH. It
// contains the library, and with it this function.
std::string name_of_executable() {
  Dl_info info = {};
  const auto own = reinterpret_cast<const void*>(&name_of_executable);
  return dladdr(own, &info) != 0 && info.dli_fname != nullptr ? info.dli_fname : "";
}

}  // namespace

std::string executable_path() {
  std::string name = name_of_executable();
  if (name.find('/') == std::string::npos) name = find_in_path(name);
  if (name.empty()) {
    errno = ENOENT;
    return {};
  }
  std::error_code error;
  std::string path = std::filesystem::canonical(name, error).string();
  errno = error.value();
  return path;
}

bool has_more_rights_than_caller() noexcept {
  return getuid() != geteuid() || getgid() != getegid();
}

// RLIMIT_CORE alone keeps the memory of the process out of core files.
void hide_memory() noexcept {}

bool end_with_parent(pid_t parent) noexcept { return getppid() == parent; }

char** environment() noexcept { return environ; }

// A process that another thread starts between these calls inherits the pipe.
bool make_pipe(int (&ends)[2]) noexcept {
  if (pipe(ends) != 0) return false;
  if (fcntl(ends[0], F_SETFD, FD_CLOEXEC) == 0 && fcntl(ends[1], F_SETFD, FD_CLOEXEC) == 0) {
    return true;
  }
  const int error = errno;
  close(ends[0]);
  close(ends[1]);
  errno = error;
  return false;
}

mode_t current_umask() {
  const mode_t mask = umask(077);
  umask(mask);
  return mask;
}

bool only_names_a_file(int /*flags*/) noexcept { return false; }

bool depends_on_process(std::string_view path) noexcept {
  return path.starts_with("/dev/fd/") || path.starts_with("/dev/std");
}

bool has_own_descriptors(std::string_view folder) { return folder == "/dev/fd"; }

std::string path_of_descriptor(int /*descriptor*/) { return {}; }

}  // namespace paraes::system
