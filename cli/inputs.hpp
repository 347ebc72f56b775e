// Finds the files that several arguments and -r name, and chooses the output of each.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/crypt_options.hpp"
#include "cli/file_job.hpp"
#include "cli/output_tree.hpp"
#include "cli/protected_files.hpp"

namespace paraes::cli {

struct FoundFile {
  FileJob job;
  std::uint64_t bytes = 0;
  bool regular = false;          // false: a pipe or device
  std::optional<FileId> target;  // an existing file in the place of its output
};

// Why an entry of a folder, or an argument, is not an input.
enum class Skip : std::uint8_t {
  name,       // *.paes when encrypting, others when decrypting
  link,       // a symbolic link in a folder
  output,     // the folder of -o, which lies in an input folder
  special,    // a device, pipe or socket
  temporary,  // of another run, active or killed
  excluded,   // by --exclude
};

// The entries that were skipped, counted by reason.
class SkippedEntries {
 public:
  struct Entry {
    std::string shown;
    Skip why;
  };

  // `keep`: keep the names.
  explicit SkippedEntries(bool keep) : keep_(keep) {}

  void add(const std::string& shown, Skip why);

  [[nodiscard]] std::uint64_t total() const;
  // "3 *.paes files, 1 symbolic link", or empty.
  [[nodiscard]] std::string text(Verb verb) const;
  // Empty unless the names are kept.
  [[nodiscard]] const std::vector<Entry>& entries() const noexcept { return entries_; }

 private:
  bool keep_;
  std::array<std::uint64_t, 6> counts_{};
  std::vector<Entry> entries_;
};

// "a symbolic link" and the like.
[[nodiscard]] const char* reason_of(Skip why, Verb verb);

struct Found {
  explicit Found(bool keep_skipped = false) : skipped(keep_skipped) {}

  std::vector<FoundFile> files;
  std::optional<OutputTree> outputs;  // if -o was given
  // An input that --update leaves out.
  struct UpToDate {
    std::string input;
    std::string output;
    FileId target;
  };
  std::vector<UpToDate> up_to_date;
  // An input that cannot be processed.
  struct Refused {
    std::string input;
    std::string reason;
    int exit = 2;
  };
  std::vector<Refused> refused;
  SkippedEntries skipped;
  std::uint64_t folders = 0;             // below those that are arguments
  std::vector<std::string> without_any;  // folders, as arguments, in which there is nothing to do

  // How many bytes the files have.
  [[nodiscard]] std::uint64_t bytes() const;
  // Whether there are inputs: files, or folders that hold nothing but folders.
  [[nodiscard]] bool any() const;
};

// Searches the inputs in order, and the entries of folders in the order of their names. Follows
// symbolic links that are arguments and no others, not even those that appear during the search.
// Throws InvalidArgument if the arguments contradict each other, or if an input or output is a file
// that a secret is read from. Makes no folder and opens no file. Adds the inputs to `files`.
[[nodiscard]] Found find_inputs(const CryptOptions& options, Verb verb, TreeRoots& roots,
                                ProtectedFiles& files);

}  // namespace paraes::cli
