// Calls on pipes, as far as systems differ.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>

#include "paraes/io.hpp"

namespace paraes::system {

// Enlarges a pipe to 1 MiB, where the system can: a larger pipe needs fewer context switches.
void enlarge_pipe(int descriptor) noexcept;

// Whether give_pages can work.
[[nodiscard]] bool pipes_take_pages() noexcept;
// Puts references to the pages of `data` into a pipe. As write(2), but may fail with ENOSYS, EPERM,
// EINVAL or ENOMEM where write succeeds.
[[nodiscard]] ssize_t give_pages(int descriptor, const std::uint8_t* data,
                                 std::size_t bytes) noexcept;

// Something that one thread sets and for which another one waits with poll(2): `readable` becomes
// readable. Both are empty if the system refuses.
struct Event {
  Descriptor readable;
  Descriptor writable;  // empty if it is set through `readable`
};
[[nodiscard]] Event make_event() noexcept;
void set_event(const Descriptor& readable, const Descriptor& writable) noexcept;

}  // namespace paraes::system
