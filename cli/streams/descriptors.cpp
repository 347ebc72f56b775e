#include "cli/streams/descriptors.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "cli/words/errors.hpp"
#include "paraes/error.hpp"
#include "src/core/system/descriptors.hpp"
#include "src/core/system/process.hpp"

namespace paraes::cli {

void check_descriptor(int number, std::string_view name, Access access) {
  const int flags = fcntl(number, F_GETFL);
  if (flags < 0) {
    throw refusal("{}: there is no such open file descriptor; the shell opens it with `{}{} FILE`",
                  name, number, access == Access::read ? '<' : '>');
  }
  // A descriptor that comes from another program cannot be closed on exec.
  if (number > STDERR_FILENO && (fcntl(number, F_GETFD) & FD_CLOEXEC) != 0) {
    throw refusal("{}: this file descriptor is one of paraes itself, or a secret is read from it",
                  name);
  }
  const int wrong = access == Access::read ? O_WRONLY : O_RDONLY;
  if ((flags & O_ACCMODE) == wrong || system::only_names_a_file(flags)) {
    throw refusal("{}: this file descriptor is not open to {}", name,
                  access == Access::read ? "read" : "write");
  }
}

Descriptor duplicate_of(int number, std::string_view name) {
  Descriptor descriptor(fcntl(number, F_DUPFD_CLOEXEC, STDERR_FILENO + 1));
  if (descriptor.get() < 0) throw io_error(name, "open", errno);
  return descriptor;
}

std::unique_ptr<Sink> open_stream(const std::string& path) {
  if (path == "-") {
    const std::string name = output_name(path);
    return std::make_unique<PipeSink>(duplicate_of(STDOUT_FILENO, name), name);
  }
  if (const auto number = system::descriptor_named(path)) {
    check_descriptor(*number, path, Access::write);
    return std::make_unique<PipeSink>(duplicate_of(*number, path), path);
  }
  struct stat status = {};
  if (stat(path.c_str(), &status) != 0 || !is_stream(status.st_mode)) return nullptr;
  Descriptor descriptor(open(path.c_str(), O_WRONLY | O_CLOEXEC | O_NOCTTY));
  if (descriptor.get() < 0 || fstat(descriptor.get(), &status) != 0) {
    throw io_error(path, "open", errno);
  }
  if (!is_stream(status.st_mode)) {
    throw IoError(fmt::format("{}: another file has taken its place", path), EIO);
  }
  return std::make_unique<PipeSink>(std::move(descriptor), path);
}

}  // namespace paraes::cli
