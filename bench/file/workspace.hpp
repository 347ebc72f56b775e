// The folder of a group of file variants: the plaintext, keys, ciphertexts.
#pragma once

#include <cstdint>
#include <set>
#include <string>

#include "bench/memory/job.hpp"

namespace paraes::bench {

// Where the file scope works: `asked`, else $TMPDIR, else /dev/shm, else /tmp.
[[nodiscard]] std::string workspace_root(const std::string& asked);

// The folder and the kind of its file system, for the report.
[[nodiscard]] std::string describe_folder(const std::string& folder);

class Workspace {
 public:
  Workspace(std::string root, std::uint64_t bytes) : root_(std::move(root)), bytes_(bytes) {}
  ~Workspace() { remove(); }
  Workspace(const Workspace&) = delete;
  Workspace& operator=(const Workspace&) = delete;

  // The folder exists, with the plaintext and the keys, while some variant holds it. Throws Skip
  // when it cannot be made or has no room for it.
  void acquire();
  void release() noexcept;

  // Throws Skip unless `files` more files of the plaintext's size fit.
  void need_room(unsigned files) const;

  [[nodiscard]] std::string path(const std::string& name) const { return folder_ + "/" + name; }
  [[nodiscard]] std::string plaintext() const { return path("plaintext"); }
  [[nodiscard]] std::string passphrase_file() const { return path("passphrase"); }
  // The first `bytes` bytes of material().key.
  [[nodiscard]] std::string key_file(std::size_t bytes) const;
  [[nodiscard]] std::uint64_t bytes() const { return bytes_; }
  // Whether a file has the bytes of the plaintext.
  [[nodiscard]] bool is_plaintext(const std::string& path) const;

  // Files that variants make for each other.
  [[nodiscard]] bool has(const std::string& name) const { return made_.count(name) > 0; }
  void add(const std::string& name) { made_.insert(name); }

 private:
  void remove() noexcept;

  std::string root_;
  std::uint64_t bytes_;
  std::string folder_;
  int holders_ = 0;
  std::set<std::string> made_;
};

// A whole file in memory, to be compared.
class MappedFile {
 public:
  explicit MappedFile(const std::string& path);  // throws IoError
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  [[nodiscard]] const std::uint8_t* data() const { return data_; }
  [[nodiscard]] std::uint64_t size() const { return size_; }

 private:
  const std::uint8_t* data_ = nullptr;
  std::uint64_t size_ = 0;
};

}  // namespace paraes::bench
