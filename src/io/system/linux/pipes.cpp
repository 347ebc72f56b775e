#include "src/io/system/pipes.hpp"

#include <fcntl.h>
#include <sys/eventfd.h>
#include <sys/uio.h>

namespace paraes::system {

// If the system refuses, the pipe keeps its 64 KiB.
void enlarge_pipe(int descriptor) noexcept {
  static_cast<void>(fcntl(descriptor, F_SETPIPE_SZ, 1 << 20));
}

bool pipes_take_pages() noexcept { return true; }

ssize_t give_pages(int descriptor, const std::uint8_t* data, std::size_t bytes) noexcept {
  const iovec pages = {.iov_base = const_cast<std::uint8_t*>(data), .iov_len = bytes};
  return vmsplice(descriptor, &pages, 1, 0);
}

Event make_event() noexcept { return {Descriptor(eventfd(0, EFD_CLOEXEC)), Descriptor()}; }

void set_event(const Descriptor& readable, const Descriptor& /*writable*/) noexcept {
  static_cast<void>(!eventfd_write(readable.get(), 1));
}

}  // namespace paraes::system
