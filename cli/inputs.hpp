// Finds the files that several arguments and -r name, and chooses the output of each.
#pragma once

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

struct Found {
  std::vector<FoundFile> files;
  std::optional<OutputTree> outputs;  // if -o was given
  // An input that cannot be processed.
  struct Refused {
    std::string input;
    std::string reason;
    int exit = 2;
  };
  std::vector<Refused> refused;
  std::uint64_t skipped_names = 0;  // *.paes when encrypting, others when decrypting
  std::uint64_t skipped_links = 0;
  bool skipped_output = false;            // the folder of -o, which lies in an input folder
  std::uint64_t skipped_special = 0;      // devices, pipes, sockets
  std::uint64_t skipped_excluded = 0;     // by --exclude
  std::uint64_t skipped_temporaries = 0;  // of other runs, active or killed
};

// Searches the inputs in order, and the entries of folders in the order of their names. Follows
// symbolic links that are arguments and no others, not even those that appear during the search.
// Throws InvalidArgument if the arguments contradict each other, or if an input or output is a file
// that a secret is read from. Makes no folder and opens no file. Adds the inputs to `files`.
[[nodiscard]] Found find_inputs(const CryptOptions& options, Verb verb, TreeRoots& roots,
                                ProtectedFiles& files);

}  // namespace paraes::cli
