// The process and its descriptors, as far as systems differ.
#pragma once

#include <sys/types.h>

#include <string>
#include <string_view>

namespace paraes::system {

// The absolute path of the running executable, without symbolic links; empty, with errno set, if it
// cannot be found.
[[nodiscard]] std::string executable_path();

// Whether the process has rights that its caller may lack, as one that is set-user-ID: the
// environment and the path of the executable are then not to be trusted.
[[nodiscard]] bool has_more_rights_than_caller() noexcept;

// Keeps other processes of the user, and core dumps, from the memory of this process, where the
// system can. Core files are forbidden by RLIMIT_CORE.
void hide_memory() noexcept;

// Has the system kill this process when its parent ends, where the system can. `parent` is the
// process that forked this one. Returns false if it has ended already.
[[nodiscard]] bool end_with_parent(pid_t parent) noexcept;

// The variables of the environment, for posix_spawn(3).
[[nodiscard]] char** environment() noexcept;

// pipe(2) with descriptors that are closed on exec. Returns false and sets errno on failure.
[[nodiscard]] bool make_pipe(int (&ends)[2]) noexcept;

// The umask. Where the system does not tell it, it is 077 for a moment while it is read, so that
// what other threads create meanwhile is private, whatever their umask.
[[nodiscard]] mode_t current_umask();

// Whether a descriptor with these flags (fcntl F_GETFL) only names a file and reads nothing.
[[nodiscard]] bool only_names_a_file(int flags) noexcept;

// Whether a path may lead to another file in another process, as /dev/stdin does.
[[nodiscard]] bool depends_on_process(std::string_view path) noexcept;

// Whether `folder`, an absolute path, holds the descriptors of this process by their numbers, as
// /dev/fd does.
[[nodiscard]] bool has_own_descriptors(std::string_view folder);

// A path by which processes of the same user can open what `descriptor` of this process has open,
// also if it has no name. Empty if the system has no such paths.
[[nodiscard]] std::string path_of_descriptor(int descriptor);

}  // namespace paraes::system
