// Which secrets a run takes, and the files that they and lists are in.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "cli/arguments/options.hpp"
#include "cli/plan/plan.hpp"
#include "cli/words/choices.hpp"
#include "paraes/io.hpp"

namespace paraes::cli {

// Throws InvalidArgument if more than one source of secrets is given, one of a kind that the format
// does not take, or none where that takes no passphrase. For rekey, also without new keys.
void check_secrets(const CryptOptions& options, Format format);

// Throws InvalidArgument if --passphrase-fd names a standard output stream, the pipe or socket that
// the output goes to, or no descriptor that can be read. Apart from make_plan, because only the
// process that reads the passphrase has the descriptor.
void check_passphrase_fds(const Plan& plan);

// A file from which a key, keyset, passphrase, identity, recipients or a list are read: no run
// replaces it.
struct ProtectedFile {
  FileId id;
  std::string flag;        // the flag that names it
  mode_t mode = 0;         // its permissions
  bool is_public = false;  // it has recipients or a list
};

// The existing files that the flags name, directly, through symbolic links, as standard input or as
// another descriptor. Pipes and terminals are not files.
[[nodiscard]] std::vector<ProtectedFile> protected_files(const Plan& plan);

// Warns of files whose mode lets every user read (unless they are public) or change them. Those
// open to a group only are taken to be so on purpose.
void warn_of_open_files(const std::vector<ProtectedFile>& files);

}  // namespace paraes::cli
