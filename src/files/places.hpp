// Files that are named by paths: what may be opened, and what may be replaced.
#pragma once

#include <sys/stat.h>

#include <memory>
#include <string>

#include "paraes/files.hpp"
#include "paraes/io.hpp"

namespace paraes::detail {

struct OpenedFile {
  Descriptor descriptor;
  struct stat status = {};
  std::string path;
};

// Opens a file for reading. `waits`: whether opening a FIFO waits for a writer. Throws IoError,
// also for a folder; InvalidArgument if it holds the secret.
[[nodiscard]] OpenedFile open_for_reading(const std::string& path, const MessageSecret& secret,
                                          bool waits);

// How an output is made.
struct OutputOptions {
  bool overwrite = false;
  bool is_encrypted = true;           // see system::take_over
  const OpenedFile* input = nullptr;  // its mode and time are kept; nullptr: it is not a file
};

// A file that will replace `path` when it is committed. A symbolic link stays, and what it leads to
// is replaced. Throws InvalidArgument for the input itself, for a file of the secret, for a name of
// a descriptor, for a mount point, and for what exists but is not regular; TargetExists for an
// existing file without `overwrite`.
[[nodiscard]] std::unique_ptr<FileSink> create(const std::string& path, const MessageSecret& secret,
                                               const OutputOptions& options);

// Commits an output of create(), unless what it would replace is by now a file of the secret or the
// input.
void commit(FileSink& sink, const std::string& path, const MessageSecret& secret,
            const OutputOptions& options);

// The file that will replace an opened one, with its mode and time. Throws IoError if it cannot
// have the same owner, and InvalidArgument for a name of a descriptor and a mount point.
[[nodiscard]] std::unique_ptr<FileSink> create_replacement(const OpenedFile& file);
// Commits it, unless anything has happened to the opened file (IoError).
void commit_replacement(FileSink& sink, const OpenedFile& file);

}  // namespace paraes::detail
