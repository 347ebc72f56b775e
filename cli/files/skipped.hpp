// The entries of folders, and the arguments, that are no inputs.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <string>

#include "cli/arguments/options.hpp"

namespace paraes::cli {

// Why an entry of a folder, or an argument, is not an input.
enum class Skip : std::uint8_t {
  name,       // *.paes when encrypting, others when decrypting
  link,       // a symbolic link in a folder
  output,     // the folder of -o, which lies in an input folder
  special,    // a device, pipe or socket
  temporary,  // of another run, active or killed
  excluded,   // by --exclude
  mounted,    // a folder on another file system, with --one-file-system
};

// The entries that were skipped, counted by reason.
class SkippedEntries {
 public:
  struct Entry {
    const char* name;
    std::uint32_t folder;
    Skip why;
  };

  // `keep`: keep the names.
  explicit SkippedEntries(bool keep) : keep_(keep) {}

  // `name`: in the memory of the list of files.
  void add(const char* name, std::uint32_t folder, Skip why);

  [[nodiscard]] std::uint64_t total() const;
  // "3 *.paes files, 1 symbolic link", or empty.
  [[nodiscard]] std::string text(Verb verb) const;
  // Empty unless the names are kept.
  [[nodiscard]] const std::deque<Entry>& entries() const noexcept { return entries_; }

 private:
  bool keep_;
  std::array<std::uint64_t, 7> counts_{};
  std::deque<Entry> entries_;
};

// "a symbolic link" and the like.
[[nodiscard]] const char* reason_of(Skip why, Verb verb);

}  // namespace paraes::cli
