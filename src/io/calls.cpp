#include "src/io/calls.hpp"

#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <limits>
#include <new>
#include <optional>
#include <system_error>
#include <utility>

#include "paraes/error.hpp"
#include "src/core/system/memory.hpp"
#include "src/io/system/files.hpp"
#include "src/io/system/pipes.hpp"

namespace paraes {
namespace calls {
namespace {

// Linux transfers at most about 2^31 bytes per call.
constexpr std::size_t max_bytes_per_call = std::size_t{1} << 30;

// Calls call(done, n) until `bytes` bytes are transferred or it returns 0. Waits for a descriptor
// that another process has made non-blocking.
std::size_t move_all(std::size_t bytes, int descriptor, short event, std::string_view verb,
                     std::string_view name, auto call) {
  std::size_t done = 0;
  while (done < bytes) {
    const ssize_t n = call(done, std::min(bytes - done, max_bytes_per_call));
    if (n > 0) {
      done += static_cast<std::size_t>(n);
    } else if (n == 0) {
      break;
    } else if (errno == EAGAIN) {
      pollfd wait = {.fd = descriptor, .events = event, .revents = 0};
      if (poll(&wait, 1, -1) < 0 && errno != EINTR) fail(verb, name, errno);
    } else if (errno != EINTR) {
      fail(verb, name, errno);
    }
  }
  return done;
}

// How long a message waits for more bytes than it needs: too short to be noticed, and long enough
// for a writer that is at work to fill a buffer.
constexpr int patience_ms = 10;

// Waits up to `milliseconds` (-1: for ever) until `descriptor` has data, is at its end, or has an
// error: false if it is none of that. Throws when `cancelled` becomes readable.
bool wait_for_data(int descriptor, int cancelled, int milliseconds, std::string_view name) {
  std::array<pollfd, 2> wait = {{{.fd = descriptor, .events = POLLIN, .revents = 0},
                                 {.fd = cancelled, .events = POLLIN, .revents = 0}}};
  while (poll(wait.data(), wait.size(), milliseconds) < 0) {
    if (errno != EINTR) fail("read", name, errno);
    if (milliseconds >= 0) return false;  // signals must not make it longer
  }
  if (wait[1].revents != 0) fail("read", name, ECANCELED);
  return wait[0].revents != 0;
}

// How long to wait for bytes that are not needed, and would make a chunk larger.
class Patience {
 public:
  // The milliseconds that are left of it; it begins with the first call.
  [[nodiscard]] int left() {
    const auto now = Clock::now();
    if (!until_) until_ = now + std::chrono::milliseconds(patience_ms);
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(*until_ - now);
    return std::max(0, static_cast<int>(left.count()));
  }

 private:
  using Clock = std::chrono::steady_clock;
  std::optional<Clock::time_point> until_;
};

// Calls write(data, n, done) until all of `data` is written.
void write_all(int descriptor, Bytes data, std::string_view name, auto write) {
  const std::size_t done =
      move_all(data.size(), descriptor, POLLOUT, "write", name,
               [&](std::size_t d, std::size_t n) { return write(data.data() + d, n, d); });
  // A write that transfers nothing and reports no error must not be repeated for ever.
  if (done != data.size()) fail("write", name, EIO);
}

}  // namespace

void fail(std::string_view verb, std::string_view name, int error) {
  throw io_error(name, verb, error);
}

Source::Ready read_ready(int descriptor, int cancelled, MutableBytes buffer, std::size_t least,
                         std::string_view name) {
  Patience patience;
  std::size_t done = 0;
  while (done < buffer.size()) {
    if (done < least) {
      if (cancelled >= 0) wait_for_data(descriptor, cancelled, -1, name);
    } else if (!wait_for_data(descriptor, cancelled, 0, name) &&
               !wait_for_data(descriptor, cancelled, patience.left(), name)) {
      break;
    }
    const ssize_t n = ::read(descriptor, buffer.data() + done,
                             std::min(buffer.size() - done, max_bytes_per_call));
    if (n == 0) return {.bytes = done, .ended = true};
    if (n > 0) {
      done += static_cast<std::size_t>(n);
    } else if (errno == EAGAIN) {
      // Another process has made it non-blocking, and perhaps read what was there.
      wait_for_data(descriptor, cancelled, done < least ? -1 : 0, name);
    } else if (errno != EINTR) {
      fail("read", name, errno);
    }
  }
  return {.bytes = done, .ended = false};
}

std::size_t read_full_at(int descriptor, std::uint64_t offset, MutableBytes buffer,
                         std::string_view name) {
  // No file has bytes that off_t cannot address: asked for them, Linux reads none at all.
  constexpr std::uint64_t end = std::numeric_limits<off_t>::max();
  const auto bytes = std::min<std::uint64_t>(buffer.size(), end - std::min(offset, end));
  return move_all(static_cast<std::size_t>(bytes), descriptor, POLLIN, "read", name,
                  [&](std::size_t done, std::size_t n) {
                    return ::pread(descriptor, buffer.data() + done, n,
                                   static_cast<off_t>(offset + done));
                  });
}

void write_full(int descriptor, Bytes data, std::string_view name) {
  write_all(descriptor, data, name, [&](const std::uint8_t* from, std::size_t n, std::size_t) {
    return ::write(descriptor, from, n);
  });
}

void write_references(int descriptor, Bytes data, std::string_view name) {
  write_all(descriptor, data, name, [&](const std::uint8_t* from, std::size_t n, std::size_t) {
    const ssize_t given = system::give_pages(descriptor, from, n);
    // Kernels and sandboxes without that call; as for no memory, write says that better.
    const bool refused =
        given < 0 && (errno == ENOSYS || errno == EPERM || errno == EINVAL || errno == ENOMEM);
    return refused ? ::write(descriptor, from, n) : given;
  });
}

void write_full_at(int descriptor, std::uint64_t offset, Bytes data, std::string_view name) {
  write_all(descriptor, data, name, [&](const std::uint8_t* from, std::size_t n, std::size_t done) {
    return ::pwrite(descriptor, from, n, static_cast<off_t>(offset + done));
  });
}

}  // namespace calls

IoError io_error(std::string_view name, std::string_view verb, int code) {
  std::string text(name);
  text.append(": cannot ").append(verb).append(" it: ");
  text += std::generic_category().message(code);
  if (code == ENOSPC) text += "; free some space, or write to another file system";
  if (code == EDQUOT) text += "; delete files, or write where you have no quota or a larger one";
  if (code == EFBIG)
    text += "; the limit of the file system or of the shell (ulimit -f) is too low";
  return {text, code, std::string(name)};
}

mode_t permissions(int descriptor, const struct stat& status) noexcept {
  return system::permissions(descriptor, status);
}

bool has_file_attributes() noexcept { return system::has_attributes(); }

std::vector<FileAttribute> file_attributes(int descriptor, const std::string& shown) {
  std::vector<FileAttribute> attributes;
  if (!system::read_attributes(descriptor, attributes)) {
    calls::fail("read the extended attributes of", shown, errno);
  }
  return attributes;
}

std::vector<std::string> set_file_attributes(int descriptor,
                                             const std::vector<FileAttribute>& attributes,
                                             AttributeKind kind) {
  std::vector<std::string> lost;
  for (const FileAttribute& attribute : attributes) {
    if (system::is_access_list(attribute) != (kind == AttributeKind::access_lists)) continue;
    if (!system::set_attribute(descriptor, attribute)) lost.push_back(attribute.name);
  }
  return lost;
}

Descriptor& Descriptor::operator=(Descriptor&& other) noexcept {
  if (this != &other) {
    close();
    number_ = other.release();
  }
  return *this;
}

Descriptor::~Descriptor() { close(); }

int Descriptor::release() noexcept { return std::exchange(number_, -1); }

int Descriptor::close() noexcept {
  if (number_ < 0) return 0;
  // On Linux the descriptor is closed even after EINTR: a second close could hit one that another
  // thread has opened since.
  const bool failed = ::close(release()) != 0 && errno != EINTR;
  return failed ? errno : 0;
}

IoBuffer::IoBuffer(std::size_t size) : size_(size) {
  constexpr std::size_t page = 4096;
  const std::size_t alignment = size >= system::huge_page ? system::huge_page : page;
  const std::size_t rounded = (std::max<std::size_t>(size, 1) + page - 1) / page * page;
  void* memory = nullptr;
  if (posix_memalign(&memory, alignment, rounded) != 0) throw std::bad_alloc();
  data_.reset(static_cast<std::uint8_t*>(memory));
  // Whole huge pages only: the rest of one would be memory that is cleared and never used.
  if (size >= system::huge_page)
    system::request_huge_pages(memory, size / system::huge_page * system::huge_page);
}

void IoBuffer::Free::operator()(std::uint8_t* data) const noexcept { std::free(data); }

}  // namespace paraes
