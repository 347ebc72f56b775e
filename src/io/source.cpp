#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "paraes/error.hpp"
#include "paraes/io.hpp"
#include "src/core/system/files.hpp"
#include "src/io/calls.hpp"
#include "src/io/system/files.hpp"
#include "src/io/system/pipes.hpp"

namespace paraes {

namespace {

// How far the kernel usually reads ahead.
constexpr std::uint64_t read_ahead_bytes = std::uint64_t{128} << 10;

// Whether a regular file has as many bytes as its status says. A file system that makes up files
// when they are read, such as /proc, /sys and some of FUSE, gives them no blocks, and a size of
// zero or a page, at whose end some of them fail.
bool has_its_size(int descriptor, const struct stat& status) {
  if (status.st_blocks != 0) return true;
  if (system::makes_up_contents(descriptor)) return false;
  std::uint8_t byte = 0;
  const bool empty = status.st_size == 0;
  const ssize_t n = pread(descriptor, &byte, 1, empty ? 0 : status.st_size - 1);
  return n >= 0 && (n == 0) == empty;
}

// A block device has no size in its status.
FileVersion version_of(int descriptor, const struct stat& status) {
  FileVersion version(status);
  if (S_ISBLK(status.st_mode)) {
    version.size = static_cast<std::uint64_t>(std::max<off_t>(lseek(descriptor, 0, SEEK_END), 0));
  }
  return version;
}

void expect_all_reads(const Descriptor& descriptor, std::uint64_t bytes) {
  if (bytes <= read_ahead_bytes) return;
  system::expect_sequential_reads(descriptor.get());
}

[[noreturn]] void fail_changed(std::string_view name, const char* how) {
  throw IoError(
      std::string(name) + ": it " + how + " while it was read: try again when nothing writes to it",
      EIO, std::string(name));
}

void check_version(int descriptor, const FileVersion& opened, std::string_view name) {
  struct stat status = {};
  if (fstat(descriptor, &status) != 0) calls::fail("read", name, errno);
  const FileVersion now = version_of(descriptor, status);
  if (now.size > opened.size) fail_changed(name, "grew");
  if (now.size < opened.size) fail_changed(name, "shrank");
  if (!(now == opened)) fail_changed(name, "was written to");
}

}  // namespace

Source::Ready Source::read_ready(MutableBytes buffer, std::size_t /*least*/) {
  const std::size_t n = read(buffer);
  return {.bytes = n, .ended = n < buffer.size()};
}

FileSource::FileSource(const std::string& path) : FileSource(open(path)) {}

FileSource::FileSource(Descriptor descriptor, std::string name)
    : descriptor_(std::move(descriptor)), name_(std::move(name)) {
  struct stat status = {};
  if (fstat(descriptor_.get(), &status) != 0) calls::fail("read", name_, errno);
  version_ = version_of(descriptor_.get(), status);
  expect_all_reads(descriptor_, version_.size);
}

FileSource::FileSource(Descriptor descriptor, std::string name, const struct stat& status)
    : descriptor_(std::move(descriptor)),
      name_(std::move(name)),
      version_(version_of(descriptor_.get(), status)) {
  expect_all_reads(descriptor_, version_.size);
}

FileSource FileSource::open(const std::string& path) {
  Descriptor descriptor(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (descriptor.get() < 0) calls::fail("open", path, errno);
  return {std::move(descriptor), path};
}

std::size_t FileSource::read(MutableBytes buffer) {
  const std::size_t n = read_at(position_, buffer);
  position_ += n;
  return n;
}

std::optional<std::uint64_t> FileSource::remaining() const {
  return position_ < size() ? size() - position_ : 0;
}

std::size_t FileSource::read_at(std::uint64_t offset, MutableBytes buffer) const {
  return calls::read_full_at(descriptor_.get(), offset, buffer, name_);
}

PipeSource::PipeSource(Descriptor descriptor, std::string name)
    : descriptor_(std::move(descriptor)), name_(std::move(name)) {
  struct stat status = {};
  if (fstat(descriptor_.get(), &status) != 0) calls::fail("read", name_, errno);
  if (S_ISREG(status.st_mode)) {
    const off_t position = lseek(descriptor_.get(), 0, SEEK_CUR);
    if (position >= 0 && has_its_size(descriptor_.get(), status)) {
      remaining_ =
          static_cast<std::uint64_t>(position < status.st_size ? status.st_size - position : 0);
    }
    version_ = FileVersion(status);
  }
  if (S_ISFIFO(status.st_mode)) system::enlarge_pipe(descriptor_.get());
  if (S_ISREG(status.st_mode)) return;
  // If this fails, reads still work, but cannot be cancelled.
  system::Event event = system::make_event();
  cancelled_ = std::move(event.readable);
  cancel_ = std::move(event.writable);
}

void PipeSource::cancel() noexcept {
  if (cancelled_.get() >= 0) system::set_event(cancelled_, cancel_);
}

std::size_t PipeSource::read(MutableBytes buffer) {
  return read_ready(buffer, buffer.size()).bytes;
}

Source::Ready PipeSource::read_ready(MutableBytes buffer, std::size_t least) {
  const Ready ready = calls::read_ready(descriptor_.get(), cancelled_.get(), buffer, least, name_);
  if (remaining_) *remaining_ -= std::min<std::uint64_t>(*remaining_, ready.bytes);
  return ready;
}

FileVersion::FileVersion(const struct stat& status) noexcept
    : id(status),
      size(static_cast<std::uint64_t>(status.st_size)),
      modified(system::modified_time(status)) {}

const char* change_of(const std::optional<struct stat>& now, const struct stat& before) noexcept {
  if (!now) return "removed";
  if (FileId(*now) != FileId(before)) return "replaced";
  if (!(FileVersion(*now) == FileVersion(before))) return "written to";
  const timespec new_change = system::changed_time(*now);
  const timespec old_change = system::changed_time(before);
  const bool same =
      new_change.tv_sec == old_change.tv_sec && new_change.tv_nsec == old_change.tv_nsec;
  return same ? nullptr : "changed";
}

bool FileVersion::operator==(const FileVersion& other) const noexcept {
  return id == other.id && size == other.size && modified.tv_sec == other.modified.tv_sec &&
         modified.tv_nsec == other.modified.tv_nsec;
}

void PositionalSource::check_unchanged() const {
  std::uint8_t byte = 0;
  if (read_at(size(), {&byte, 1}) != 0) fail_changed(name(), "grew");
}

void FileSource::check_unchanged() const {
  // Files in some virtual file systems have contents although their size is zero.
  PositionalSource::check_unchanged();
  check_version(descriptor_.get(), version_, name_);
}

bool FileSource::lock() const noexcept {
  return flock(descriptor_.get(), LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK;
}

void FileSource::read_whole(MutableBytes buffer) const {
  const auto bytes = static_cast<std::size_t>(size());
  const ssize_t n = pread(descriptor_.get(), buffer.data(), bytes + 1, 0);
  if (n >= 0 && static_cast<std::size_t>(n) == bytes) {
    check_version(descriptor_.get(), version_, name_);
    return;
  }
  // An error, a change, or a read that was interrupted.
  read_exactly(*this, 0, buffer.first(bytes));
  check_unchanged();
}

void PipeSource::check_unchanged() const {
  if (version_) check_version(descriptor_.get(), *version_, name_);
}

std::unique_ptr<Source> source_of(Descriptor descriptor, std::string name,
                                  const struct stat& status) {
  const bool seeks = S_ISBLK(status.st_mode) ||
                     (S_ISREG(status.st_mode) && has_its_size(descriptor.get(), status));
  if (seeks) return std::make_unique<FileSource>(std::move(descriptor), std::move(name), status);
  return std::make_unique<PipeSource>(std::move(descriptor), std::move(name));
}

void read_exactly(const PositionalSource& source, std::uint64_t offset, MutableBytes buffer) {
  if (source.read_at(offset, buffer) != buffer.size()) fail_changed(source.name(), "shrank");
}

}  // namespace paraes
