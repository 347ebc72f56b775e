#include "bench/file/workspace.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <vector>

#include "bench/harness/case.hpp"
#include "bench/memory/arena.hpp"
#include "bench/memory/oracle.hpp"
#include "bench/system/machine.hpp"
#include "paraes/error.hpp"
#include "paraes/io.hpp"
#include "src/core/system/memory.hpp"

namespace paraes::bench {
namespace {

namespace fs = std::filesystem;

// Writes `bytes` bytes from fill(offset, buffer, bytes) to a file with mode 0600.
void write_file(const std::string& path, std::uint64_t bytes, auto fill) {
  Descriptor file(open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
  if (file.get() < 0) throw IoError(path, errno);
  std::vector<std::uint8_t> buffer(std::min<std::uint64_t>(bytes, 1U << 20));
  for (std::uint64_t at = 0; at < bytes;) {
    const std::size_t step = std::min<std::uint64_t>(buffer.size(), bytes - at);
    fill(at, buffer.data(), step);
    const ssize_t n = write(file.get(), buffer.data(), step);
    if (n < 0) throw IoError(path, errno);
    at += static_cast<std::uint64_t>(n);
  }
  if (const int error = file.close(); error != 0) throw IoError(path, error);
}

}  // namespace

std::string workspace_root(const std::string& requested) {
  if (!requested.empty()) return requested;
  if (const char* folder = std::getenv("TMPDIR"); folder != nullptr && *folder != '\0') {
    return folder;
  }
  return access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp";
}

std::string describe_folder(const std::string& folder) {
  const std::string kind = file_system_of(folder);
  return kind.empty() ? folder : folder + " (" + kind + ")";
}

void Workspace::acquire() {
  if (!folder_.empty()) return;
  std::string pattern_text = root_ + "/paraes-bench-XXXXXX";
  if (mkdtemp(pattern_text.data()) == nullptr) {
    throw Skip(root_ + ": cannot create a folder (--dir): " + std::strerror(errno));
  }
  folder_ = pattern_text;
  try {
    need_room(1);
    write_file(plaintext(), bytes_, pattern);
    for (const std::size_t size : {16U, 24U, 32U, 64U}) {
      write_file(key_file(size), size, [](std::uint64_t at, std::uint8_t* out, std::size_t n) {
        std::memcpy(out, material().key.data() + at, n);
      });
    }
    static constexpr std::string_view passphrase = "correct horse battery staple\n";
    write_file(passphrase_file(), passphrase.size(),
               [](std::uint64_t at, std::uint8_t* out, std::size_t n) {
                 std::memcpy(out, passphrase.data() + at, n);
               });
  } catch (...) {
    remove();
    throw;
  }
}

void Workspace::need_room(unsigned files) const {
  struct statvfs info = {};
  if (statvfs(folder_.c_str(), &info) != 0) return;
  std::uint64_t room = static_cast<std::uint64_t>(info.f_bavail) * info.f_frsize;
  if (file_system_of(folder_) == "tmpfs") room = std::min(room, system::available_memory());
  // An eighth more than the plaintext is ample for the headers, tags and padding of every format.
  const std::uint64_t need = files * (bytes_ + bytes_ / 8) + (std::uint64_t{16} << 20);
  if (need > room) {
    throw Skip("the files need " + std::to_string(need >> 20) + " MiB and " +
               std::to_string(room >> 20) + " MiB are free in " + root_ + " (--dir)");
  }
}

std::string Workspace::key_file(std::size_t bytes) const {
  return path("key" + std::to_string(bytes));
}

bool Workspace::is_plaintext(const std::string& path) const {
  const MappedFile file(path);
  return file.size() == bytes_ && is_answer({.bytes = bytes_}, file.data(), nullptr);
}

void Workspace::remove() noexcept {
  if (folder_.empty()) return;
  std::error_code ignored;
  fs::remove_all(folder_, ignored);
  folder_.clear();
  made_.clear();
}

MappedFile::MappedFile(const std::string& path) {
  const Descriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (file.get() < 0) throw IoError(path, errno);
  struct stat info = {};
  if (fstat(file.get(), &info) != 0) throw IoError(path, errno);
  if (info.st_size <= 0) return;
  size_ = static_cast<std::uint64_t>(info.st_size);
  void* const map = mmap(nullptr, size_, PROT_READ, MAP_PRIVATE, file.get(), 0);
  if (map == MAP_FAILED) throw IoError(path, errno);
  data_ = static_cast<const std::uint8_t*>(map);
}

MappedFile::~MappedFile() {
  if (data_ != nullptr) munmap(const_cast<std::uint8_t*>(data_), size_);
}

}  // namespace paraes::bench
