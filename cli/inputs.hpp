// Which files several arguments and -r name, and where the output of each goes.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "run_file.hpp"

namespace paraes::cli {

struct FoundFile {
  FileJob job;
  std::uint64_t bytes = 0;
  bool regular = false;  // no pipe or device
};

struct Found {
  std::vector<FoundFile> files;
  // What cannot be done, and why.
  struct Refused {
    std::string input;
    std::string reason;
    int exit = 2;
  };
  std::vector<Refused> refused;
  std::uint64_t skipped_names = 0;  // *.paes when encrypting, others when decrypting
  std::uint64_t skipped_links = 0;
  std::uint64_t skipped_special = 0;  // devices, pipes, sockets
};

// Looks through the inputs in order, folders by name. Throws InvalidArgument where the arguments
// contradict each other. Makes no folder and opens no file.
[[nodiscard]] Found find_inputs(const CryptOptions& options, Verb verb);

}  // namespace paraes::cli
