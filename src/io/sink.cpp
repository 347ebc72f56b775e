#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "paraes/error.hpp"
#include "paraes/io.hpp"
#include "src/core/system/random.hpp"
#include "src/io/posix.hpp"
#include "src/io/system/files.hpp"
#include "src/io/system/pipes.hpp"
#include "src/io/write_back.hpp"

namespace paraes {
namespace {

constexpr std::string_view temporary_suffix = ".paraes-tmp";

// The host name as it appears in the names of temporary files. Dots are replaced, because they are
// the separator.
const std::string& host_name() {
  static const std::string name = [] {
    std::array<char, 65> buffer{};
    // Linux limits host names to 64 bytes.
    if (gethostname(buffer.data(), buffer.size() - 1) != 0) buffer[0] = 0;
    std::string text = buffer.data();
    for (char& c : text) {
      const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
      if (!plain && c != '_') c = '-';
    }
    return text.empty() ? "unnamed" : text;
  }();
  return name;
}

// Shortens the name of a target, without splitting a UTF-8 character, so that the name of its
// temporary file has at most NAME_MAX (255) bytes.
std::string shortened(const std::string& name) {
  constexpr std::size_t most = 150;
  if (name.size() <= most) return name;
  std::size_t end = most;
  while (end > most - 4 && (static_cast<unsigned char>(name[end]) & 0xc0U) == 0x80U) --end;
  return name.substr(0, end);
}

std::string hex(std::uint32_t bits) {
  constexpr std::string_view digits = "0123456789abcdef";
  std::string text;
  for (int i = 0; i < 8; ++i, bits >>= 4) text += digits[bits & 15U];
  return text;
}

// Contains host, process and a random number, so that names are unique among all hosts.
std::string new_temporary_name(const std::string& target) {
  std::uint32_t random = 0;
  if (const int error = system::draw_random(&random, sizeof random); error != 0) {
    posix::fail("draw a name for", target, error);
  }
  std::string name(1, '.');
  name.append(shortened(target)).append(1, '.').append(host_name()).append(1, '.');
  name.append(std::to_string(getpid())).append(1, '.').append(hex(random));
  return name.append(temporary_suffix);
}

// Removes the last dot of `text` and what follows it, and returns what follows.
std::string_view take_last_part(std::string_view& text) {
  const std::size_t dot = text.rfind('.');
  if (dot == std::string_view::npos) return {};
  const std::string_view part = text.substr(dot + 1);
  text = text.substr(0, dot);
  return part;
}

struct TemporaryParts {
  std::string_view target;  // shortened
  std::string_view host;
};

// The parts of a temporary file's name; nothing for any other name.
std::optional<TemporaryParts> parse_temporary(std::string_view name) noexcept {
  if (name.size() <= temporary_suffix.size() || name.front() != '.') return std::nullopt;
  if (name.substr(name.size() - temporary_suffix.size()) != temporary_suffix) return std::nullopt;
  name = name.substr(1, name.size() - 1 - temporary_suffix.size());
  const std::string_view random = take_last_part(name);
  const std::string_view process = take_last_part(name);
  const std::string_view host = take_last_part(name);
  const auto consists_of = [](std::string_view text, std::string_view characters) {
    return !text.empty() && text.find_first_not_of(characters) == std::string_view::npos;
  };
  const bool fits = random.size() == 8 && consists_of(random, "0123456789abcdef") &&
                    consists_of(process, "0123456789") && !host.empty() && !name.empty();
  return fits ? std::optional(TemporaryParts{name, host}) : std::nullopt;
}

// Renames a file within a folder without replacing another one. Returns false if the target exists.
// Error messages call the target `shown`.
bool rename_new(int folder, const char* from, const char* to, const std::string& shown) {
  if (system::rename_without_replacing(folder, from, to)) return true;
  if (errno == EEXIST) return false;
  if (errno != EINVAL && errno != ENOSYS) posix::fail("write", shown, errno);
  // A hard link does not replace a file either.
  if (linkat(folder, from, folder, to, 0) == 0) {
    int failed = unlinkat(folder, from, 0);
    if (failed != 0) failed = unlinkat(folder, from, 0);
    if (failed == 0) return true;
    // It would keep a second name, of which nobody knows.
    const int error = errno;
    unlinkat(folder, to, 0);
    posix::fail("write", shown, error);
  }
  if (errno == EEXIST) return false;
  if (errno != EPERM && errno != EOPNOTSUPP && errno != ENOSYS && errno != EMLINK) {
    posix::fail("write", shown, errno);
  }
  // Without hard links (FAT), check first; another process may create the target in between.
  struct stat status = {};
  if (fstatat(folder, to, &status, AT_SYMLINK_NOFOLLOW) == 0) return false;
  if (renameat(folder, from, folder, to) != 0) posix::fail("write", shown, errno);
  return true;
}

[[noreturn]] void fail_to_replace(const std::string& shown) {
  throw TargetExists(shown +
                         ": it appeared while its contents were written and was not replaced: try "
                         "again, or choose another output",
                     shown);
}

enum class Named { yes, no, unknown };  // unknown: errno is set

// Whether `name` in `folder` is the file that `descriptor` has open.
Named is_named(int descriptor, int folder, const char* name) noexcept {
  struct stat open_file = {};
  struct stat named = {};
  if (fstat(descriptor, &open_file) != 0) return Named::unknown;
  if (fstatat(folder, name, &named, AT_SYMLINK_NOFOLLOW) != 0) {
    return errno == ENOENT ? Named::no : Named::unknown;
  }
  return FileId(open_file) == FileId(named) ? Named::yes : Named::no;
}

// Removes a temporary file of this host unless a process is writing it: writers hold a lock, which
// the system releases when the process ends.
void remove_stale(const Folder& folder, const std::string& name) {
  constexpr int flags = O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC;
  const int at = folder.descriptor();
  // NFS locks only files that are open for writing.
  Descriptor old(openat(at, name.c_str(), O_RDWR | flags));
  if (old.get() < 0) old = Descriptor(openat(at, name.c_str(), O_RDONLY | flags));
  if (old.get() < 0 || flock(old.get(), LOCK_EX | LOCK_NB) != 0) return;
  if (is_named(old.get(), at, name.c_str()) == Named::yes) unlinkat(at, name.c_str(), 0);
}

Folder folder_for(const std::string& path) {
  try {
    return Folder(folder_of(path));
  } catch (const IoError& error) {
    posix::fail("create", path, error.code());
  }
}

}  // namespace

bool is_temporary_name(std::string_view name) noexcept { return parse_temporary(name).has_value(); }

void Leftovers::remove(const Folder& folder, const std::string& name) {
  const FileId& id = folder.id();
  std::vector<std::string> ours;
  {
    const std::lock_guard lock(mutex_);
    if (folders_.insert(id).second) {
      const int list = openat(folder.descriptor(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
      // In a folder that may not be read, nothing is removed.
      const std::unique_ptr<DIR, int (*)(DIR*)> entries(list < 0 ? nullptr : fdopendir(list),
                                                        closedir);
      if (!entries && list >= 0) ::close(list);
      const dirent* entry = nullptr;
      while (entries && (entry = readdir(entries.get())) != nullptr) {
        const auto parts = parse_temporary(entry->d_name);
        if (parts && parts->host == host_name()) {
          found_.emplace(std::pair(id, std::string(parts->target)), entry->d_name);
        }
      }
    }
    if (found_.empty()) return;
    const auto [first, last] = found_.equal_range({id, shortened(name)});
    for (auto it = first; it != last; ++it) ours.push_back(it->second);
    found_.erase(first, last);
  }
  for (const std::string& temporary : ours) remove_stale(folder, temporary);
}

FileSink::FileSink(std::shared_ptr<const Folder> folder, std::string name, Options options,
                   std::string shown)
    : folder_(std::move(folder)),
      name_(std::move(name)),
      shown_(shown.empty() ? folder_->name_of(name_) : std::move(shown)),
      options_(std::move(options)),
      write_back_(std::make_unique<posix::WriteBack>()) {
  check_target();
  try {
    if (options_.leftovers != nullptr) {
      options_.leftovers->remove(*folder_, name_);
    } else {
      Leftovers().remove(*folder_, name_);
    }
    if (options_.named || !open_unnamed()) open_named();
    if (options_.keep_owner) keep_owner();
  } catch (...) {
    discard();
    throw;
  }
}

FileSink::FileSink(const std::string& path, Options options)
    : FileSink(std::make_shared<const Folder>(folder_for(path)), file_name_of(path),
               std::move(options), path) {}

FileSink::FileSink(const std::string& path) : FileSink(path, Options{}) {}

// Finds out at once what commit() would find out after everything is written. All else is reported
// when the temporary file is created.
void FileSink::check_target() const {
  if (name_.empty()) posix::fail("create", shown_, EISDIR);
  struct stat status = {};
  if (fstatat(folder_->descriptor(), name_.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0) {
    if (errno == ENAMETOOLONG) posix::fail("create", shown_, errno);
    return;
  }
  if (!options_.overwrite) {
    throw TargetExists(shown_ + ": it exists already and was not replaced: choose another output",
                       shown_);
  }
  if (S_ISDIR(status.st_mode)) posix::fail("write", shown_, EISDIR);
}

bool FileSink::open_unnamed() {
  descriptor_ = Descriptor(system::open_unnamed(folder_->descriptor()));
  return descriptor_.get() >= 0;
}

// Calls make(name) with new names until it returns true or fails with another errno than EEXIST.
bool FileSink::make_temporary(const std::function<bool(const char*)>& make) {
  constexpr int attempts = 100;
  for (int i = 0; i < attempts; ++i) {
    const std::string name = new_temporary_name(name_);
    announce(name);
    if (make(name.c_str())) return true;
    const int error = errno;
    announce("");
    errno = error;
    if (error != EEXIST) break;
  }
  return false;
}

void FileSink::open_named() {
  const int folder = folder_->descriptor();
  const bool made = make_temporary([&](const char* name) {
    // Write-only: see SharedSink.
    descriptor_ = Descriptor(
        openat(folder, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, S_IRUSR | S_IWUSR));
    if (descriptor_.get() < 0) return false;
    // Between open and flock another process may have removed the file as stale: check that it
    // still has its name. On file systems without locks, no process removes anything, because
    // remove_stale() needs a lock.
    static_cast<void>(flock(descriptor_.get(), LOCK_EX));
    const Named named = is_named(descriptor_.get(), folder, name);
    if (named == Named::yes) return true;
    const int error = named == Named::no ? EEXIST : errno;
    if (named == Named::unknown) unlinkat(folder, name, 0);
    errno = error;
    return false;
  });
  if (!made) posix::fail("create", shown_, errno);
}

void FileSink::announce(std::string temporary) {
  if (options_.on_temporary) options_.on_temporary(folder_->descriptor(), temporary);
  temporary_ = std::move(temporary);
}

std::string FileSink::temporary() const {
  return temporary_.empty() ? temporary_ : folder_->name_of(temporary_);
}

FileSink::~FileSink() { discard(); }

void FileSink::write(Bytes data) {
  write_at(position_, data);
  position_ += data.size();
}

void FileSink::check_owner() const {
  if (!owner_.is_this()) owner_.check(shown_.c_str());
}

void FileSink::write_at(std::uint64_t offset, Bytes data) {
  check_owner();
  posix::write_full_at(descriptor_.get(), offset, data, shown_);
  write_back_->wrote(descriptor_.get(), offset, data.size(), shown_);
}

void FileSink::copy_at(std::uint64_t offset, const FileSource& from, std::uint64_t begin,
                       std::uint64_t bytes) {
  check_owner();
  constexpr std::size_t most_per_call = std::size_t{1} << 30;
  std::uint64_t done = 0;
  while (done < bytes) {
    const auto wanted =
        static_cast<std::size_t>(std::min<std::uint64_t>(bytes - done, most_per_call));
    const ssize_t n = system::copy_range(from.descriptor_.get(), begin + done, descriptor_.get(),
                                         offset + done, wanted);
    if (n > 0) {
      write_back_->wrote(descriptor_.get(), offset + done, static_cast<std::uint64_t>(n), shown_);
      done += static_cast<std::uint64_t>(n);
      continue;
    }
    if (n < 0 && errno == EINTR) continue;
    // Not every pair of file systems can do it, and some say so by copying nothing.
    const bool refused = n == 0 || errno == ENOSYS || errno == EXDEV || errno == EINVAL ||
                         errno == EOPNOTSUPP || errno == EPERM;
    if (!refused) posix::fail("write", shown_, errno);
    break;
  }
  if (done == bytes) return;
  IoBuffer buffer(static_cast<std::size_t>(std::min<std::uint64_t>(bytes - done, 1U << 20)));
  while (done < bytes) {
    const MutableBytes part = buffer.span().first(
        static_cast<std::size_t>(std::min<std::uint64_t>(bytes - done, buffer.size())));
    read_exactly(from, begin + done, part);
    write_at(offset + done, part);
    done += part.size();
  }
}

FileId FileSink::id() const {
  struct stat status = {};
  if (fstat(descriptor_.get(), &status) != 0) posix::fail("write", shown_, errno);
  return FileId(status);
}

std::optional<struct stat> FileSink::target() const {
  struct stat status = {};
  if (fstatat(folder_->descriptor(), name_.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0) {
    return status;
  }
  if (errno != ENOENT) posix::fail("write", shown_, errno);
  return std::nullopt;
}

// Permissions of the file to be replaced; only those of its owner if the others cannot be
// determined.
mode_t FileSink::permissions_of_target(const struct stat& status) const {
  const Descriptor old(
      openat(folder_->descriptor(), name_.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  if (old.get() < 0) {
    if (errno != EACCES && errno != ENOENT && errno != ELOOP) posix::fail("look at", shown_, errno);
    return status.st_mode & S_IRWXU;
  }
  struct stat opened = {};
  if (fstat(old.get(), &opened) != 0) posix::fail("look at", shown_, errno);
  return FileId(opened) == FileId(status) ? permissions(old.get(), opened)
                                          : status.st_mode & S_IRWXU;
}

// Before anything is written, which may take long.
void FileSink::keep_owner() {
  const auto old = target();
  struct stat own = {};
  if (fstat(descriptor_.get(), &own) != 0) posix::fail("write", shown_, errno);
  if (!old || (old->st_uid == own.st_uid && old->st_gid == own.st_gid)) return;
  if (fchown(descriptor_.get(), old->st_uid, old->st_gid) != 0) {
    const int error = errno;
    throw IoError(shown_ + ": cannot keep its owner and group (" +
                      std::generic_category().message(error) +
                      "), and would lock them out: it takes its owner, or root",
                  error, shown_);
  }
}

void FileSink::set_owner_and_mode() {
  const int file = descriptor_.get();
  mode_t mode = options_.mode;
  const auto old = options_.overwrite ? target() : std::nullopt;
  if (old && S_ISREG(old->st_mode)) {
    // A list that the folder gives to new files could let in whom the old file kept out.
    if (options_.narrow || options_.keep_owner) system::remove_access_list(file);
    if (options_.narrow) mode &= permissions_of_target(*old);
    struct stat own = {};
    if (fstat(file, &own) != 0) posix::fail("write", shown_, errno);
    const bool differs = old->st_uid != own.st_uid || old->st_gid != own.st_gid;
    if (differs && fchown(file, old->st_uid, old->st_gid) != 0) mode &= S_IRWXU;
  }
  if (fchmod(file, mode) != 0 && errno != EPERM) posix::fail("write", shown_, errno);
}

void FileSink::prepare() {
  check_owner();
  if (prepared_) return;
  const int file = descriptor_.get();
  // Set only now, so that no other user can open an incomplete file.
  set_owner_and_mode();
  if (options_.modified) {
    const std::array<timespec, 2> times = {
        {{.tv_sec = 0, .tv_nsec = UTIME_OMIT}, *options_.modified}};
    if (futimens(file, times.data()) != 0 && errno != EPERM) posix::fail("write", shown_, errno);
  }
  if (!system::sync_to_disk(file) && errno != EINVAL) posix::fail("sync", shown_, errno);
  // Some file systems report a failed write only when a descriptor is closed. Closing a duplicate
  // has that effect, and keeps the descriptor open for naming the file and for its lock.
  Descriptor copy(fcntl(file, F_DUPFD_CLOEXEC, 3));
  if (copy.get() < 0) posix::fail("write", shown_, errno);
  if (const int error = copy.close(); error != 0) posix::fail("write", shown_, error);
  prepared_ = true;
}

void FileSink::commit() {
  check_owner();
  prepare();
  give_name();
  descriptor_.close();
  if (!options_.sync_folder) return;
  if (const int error = folder_->try_sync(options_.needs_sync)) {
    posix::fail("sync the folder of", shown_, error);
  }
}

void FileSink::give_name() {
  const int file = descriptor_.get();
  const int folder = folder_->descriptor();
  if (temporary_.empty()) {
    if (system::link_unnamed(file, folder, name_.c_str())) return;
    if (errno != EEXIST) posix::fail("write", shown_, errno);
    if (!options_.overwrite) fail_to_replace(shown_);
    // Only a file with a name can replace another one atomically. It is locked before it gets its
    // temporary name; otherwise another process could remove it as stale.
    static_cast<void>(flock(file, LOCK_EX | LOCK_NB));
    if (!make_temporary(
            [&](const char* name) { return system::link_unnamed(file, folder, name); })) {
      posix::fail("write", shown_, errno);
    }
  }
  // On file systems whose locks have no effect on other hosts, one of these may have removed it.
  switch (is_named(file, folder, temporary_.c_str())) {
    case Named::yes:
      break;
    case Named::no:
      throw IoError(shown_ + ": cannot write it: its temporary file " + temporary() +
                        " was removed; try again when no other process writes this file",
                    EIO, shown_);
    case Named::unknown:
      posix::fail("write", shown_, errno);
  }
  if (!options_.overwrite) {
    if (!rename_new(folder, temporary_.c_str(), name_.c_str(), shown_)) fail_to_replace(shown_);
  } else if (renameat(folder, temporary_.c_str(), folder, name_.c_str()) != 0) {
    posix::fail("write", shown_, errno);
  }
  announce("");
}

void FileSink::discard() noexcept {
  if (temporary_.empty() || !owner_.is_this()) return;
  const int folder = folder_->descriptor();
  if (is_named(descriptor_.get(), folder, temporary_.c_str()) != Named::no) {
    unlinkat(folder, temporary_.c_str(), 0);
  }
  temporary_.clear();
  try {
    if (options_.on_temporary) options_.on_temporary(folder, temporary_);
  } catch (...) {  // NOLINT(bugprone-empty-catch): a destructor must not throw
  }
}

SharedSink::SharedSink(const std::string& path, std::string name)
    : descriptor_(open(path.c_str(), O_WRONLY | O_NOFOLLOW | O_CLOEXEC)),
      name_(std::move(name)),
      write_back_(std::make_unique<posix::WriteBack>()) {
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
  posix::write_full_at(descriptor_.get(), offset, data, name_);
  write_back_->wrote(descriptor_.get(), offset, data.size(), name_);
}

void SharedSink::sync() {
  if (!system::sync_to_disk(descriptor_.get()) && errno != EINVAL)
    posix::fail("sync", name_, errno);
}

void SharedSink::resize(std::uint64_t bytes) {
  while (ftruncate(descriptor_.get(), static_cast<off_t>(bytes)) != 0) {
    if (errno != EINTR) posix::fail("write", name_, errno);
  }
}

void SharedSink::commit() {
  sync();
  if (const int error = descriptor_.close(); error != 0) posix::fail("write", name_, error);
}

FileId SharedSink::id() const {
  struct stat status = {};
  if (fstat(descriptor_.get(), &status) != 0) posix::fail("read", name_, errno);
  return FileId(status);
}

PipeSink::PipeSink(Descriptor descriptor, std::string name)
    : descriptor_(std::move(descriptor)), name_(std::move(name)) {
  struct stat status = {};
  const bool is_pipe = fstat(descriptor_.get(), &status) == 0 && S_ISFIFO(status.st_mode);
  if (is_pipe) system::enlarge_pipe(descriptor_.get());
  takes_pages_ = is_pipe && system::pipes_take_pages();
}

void PipeSink::write(Bytes data) { posix::write_full(descriptor_.get(), data, name_); }

void PipeSink::write_pages(Bytes data) {
  if (!takes_pages_) return write(data);
  posix::write_references(descriptor_.get(), data, name_);
}

void PipeSink::commit() {
  if (const int error = descriptor_.close(); error != 0) posix::fail("write", name_, error);
}

}  // namespace paraes
