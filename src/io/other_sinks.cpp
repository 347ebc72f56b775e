#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <memory>
#include <string>
#include <utility>

#include "paraes/error.hpp"
#include "paraes/io.hpp"
#include "src/core/system/files.hpp"
#include "src/io/calls.hpp"
#include "src/io/system/files.hpp"
#include "src/io/system/pipes.hpp"
#include "src/io/write_back.hpp"

namespace paraes {

SharedSink::SharedSink(const std::string& path, std::string name)
    : descriptor_(open(path.c_str(), O_WRONLY | O_NOFOLLOW | O_CLOEXEC)),
      name_(std::move(name)),
      write_back_(std::make_unique<calls::WriteBack>()) {
  if (descriptor_.get() < 0) {
    const IoError error = io_error(path, "open", errno);
    throw IoError(name_ + ": its temporary file " + error.what(), error.code(), name_);
  }
}

SharedSink::SharedSink(SharedSink&& other) noexcept = default;
SharedSink& SharedSink::operator=(SharedSink&& other) noexcept = default;
SharedSink::~SharedSink() = default;

void SharedSink::write(Bytes data) {
  write_at(position_, data);
  position_ += data.size();
}

void SharedSink::write_at(std::uint64_t offset, Bytes data) {
  calls::write_full_at(descriptor_.get(), offset, data, name_);
  write_back_->wrote(descriptor_.get(), offset, data.size(), name_);
}

void SharedSink::sync() {
  if (!system::sync_to_disk(descriptor_.get()) && !system::is_unimplemented(errno)) {
    calls::fail("sync", name_, errno);
  }
}

void SharedSink::resize(std::uint64_t bytes) {
  while (ftruncate(descriptor_.get(), static_cast<off_t>(bytes)) != 0) {
    if (errno != EINTR) calls::fail("write", name_, errno);
  }
}

void SharedSink::commit() {
  sync();
  if (const int error = descriptor_.close(); error != 0) calls::fail("write", name_, error);
}

FileId SharedSink::id() const {
  struct stat status = {};
  if (fstat(descriptor_.get(), &status) != 0) calls::fail("read", name_, errno);
  return FileId(status);
}

PipeSink::PipeSink(Descriptor descriptor, std::string name)
    : descriptor_(std::move(descriptor)), name_(std::move(name)) {
  struct stat status = {};
  const bool is_pipe = fstat(descriptor_.get(), &status) == 0 && S_ISFIFO(status.st_mode);
  if (is_pipe) system::enlarge_pipe(descriptor_.get());
  takes_pages_ = is_pipe && system::pipes_take_pages();
}

void PipeSink::write(Bytes data) { calls::write_full(descriptor_.get(), data, name_); }

void PipeSink::write_pages(Bytes data) {
  if (!takes_pages_) return write(data);
  calls::write_references(descriptor_.get(), data, name_);
}

void PipeSink::commit() {
  if (const int error = descriptor_.close(); error != 0) calls::fail("write", name_, error);
}

}  // namespace paraes
