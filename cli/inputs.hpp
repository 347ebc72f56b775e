// Which files several arguments and -r name, and where the output of each goes.
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
  bool regular = false;          // no pipe or device
  std::optional<FileId> target;  // what is there where its output is to go
};

struct Found {
  std::vector<FoundFile> files;
  std::optional<OutputTree> outputs;  // with -o
  // An input that cannot be processed, and why.
  struct Refused {
    std::string input;
    std::string reason;
    int exit = 2;
  };
  std::vector<Refused> refused;
  std::uint64_t skipped_names = 0;  // *.paes when encrypting, others when decrypting
  std::uint64_t skipped_links = 0;
  bool skipped_output = false;         // the folder that -o names, inside of one that was searched
  std::uint64_t skipped_special = 0;   // devices, pipes, sockets
  std::uint64_t skipped_excluded = 0;  // by --exclude
  std::uint64_t skipped_temporaries = 0;  // of runs at work, or killed
};

// Looks through the inputs in order, folders by name. Symbolic links that are arguments are
// followed, others not, also those that appear meanwhile. Throws InvalidArgument where the
// arguments contradict each other, and where an input or an output is a file that a secret comes
// from. Makes no folder and opens no file. The inputs become known to `files`.
[[nodiscard]] Found find_inputs(const CryptOptions& options, Verb verb, TreeRoots& roots,
                                ProtectedFiles& files);

}  // namespace paraes::cli
