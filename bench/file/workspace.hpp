// The folder of a group of file cases: plaintext, keys, ciphertexts, outputs.
#pragma once

#include <cstdint>
#include <set>
#include <string>

#include "bench/memory/job.hpp"
#include "src/core/non_copyable.hpp"

namespace paraes::bench {

// Where file scope makes its folders: `requested`, else $TMPDIR, else /dev/shm, else /tmp.
[[nodiscard]] std::string workspace_root(const std::string& requested);

// The folder and the type of its file system, for the report.
[[nodiscard]] std::string describe_folder(const std::string& folder);

class Workspace : NonCopyable {
 public:
  Workspace(std::string root, std::uint64_t bytes) : root_(std::move(root)), bytes_(bytes) {}
  ~Workspace() { remove(); }

  // Creates the folder, with the plaintext and the keys, unless that is done; the destructor
  // removes it. Throws Skip if it cannot be created or has too little space.
  void acquire();

  // Throws Skip unless there is space for `files` more files of the plaintext's size.
  void need_room(unsigned files) const;

  [[nodiscard]] std::string path(const std::string& name) const { return folder_ + "/" + name; }
  [[nodiscard]] std::string plaintext() const { return path("plaintext"); }
  [[nodiscard]] std::string passphrase_file() const { return path("passphrase"); }
  // The first `bytes` bytes of material().key.
  [[nodiscard]] std::string key_file(std::size_t bytes) const;
  [[nodiscard]] std::uint64_t bytes() const { return bytes_; }
  // Whether the file has exactly the bytes of the plaintext.
  [[nodiscard]] bool is_plaintext(const std::string& path) const;

  // Which files have been made, by path: cases share ciphertexts.
  [[nodiscard]] bool has(const std::string& name) const { return made_.count(name) > 0; }
  void add(const std::string& name) { made_.insert(name); }

 private:
  void remove() noexcept;

  std::string root_;
  std::uint64_t bytes_;
  std::string folder_;
  std::set<std::string> made_;
};

// A whole file, mapped for reading.
class MappedFile : NonCopyable {
 public:
  explicit MappedFile(const std::string& path);  // throws IoError
  ~MappedFile();

  [[nodiscard]] const std::uint8_t* data() const { return data_; }
  [[nodiscard]] std::uint64_t size() const { return size_; }

 private:
  const std::uint8_t* data_ = nullptr;
  std::uint64_t size_ = 0;
};

}  // namespace paraes::bench
