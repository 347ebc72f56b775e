// What is mounted on a file.
#pragma once

namespace paraes::system {

// Whether something is mounted on `name` in the open folder `folder`, so that no other file can
// take its place. False where the system does not say so (Linux before 5.8).
[[nodiscard]] bool is_mount_point(int folder, const char* name) noexcept;

}  // namespace paraes::system
