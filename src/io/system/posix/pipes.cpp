#include "src/io/system/pipes.hpp"

#include <unistd.h>

#include <cerrno>

#include "src/core/system/process.hpp"

namespace paraes::system {

void enlarge_pipe(int /*descriptor*/) noexcept {}

bool pipes_take_pages() noexcept { return false; }

ssize_t give_pages(int /*descriptor*/, const std::uint8_t* /*data*/,
                   std::size_t /*bytes*/) noexcept {
  errno = ENOSYS;
  return -1;
}

Event make_event() noexcept {
  int ends[2];
  if (!make_pipe(ends)) return {};
  return {Descriptor(ends[0]), Descriptor(ends[1])};
}

void set_event(const Descriptor& /*readable*/, const Descriptor& writable) noexcept {
  static_cast<void>(!write(writable.get(), "", 1));
}

}  // namespace paraes::system
