// Where output goes: names, refusals, and the sink that keeps the promises of DESIGN, "Output".
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "cli/file_job.hpp"
#include "cli/input.hpp"
#include "cli/signals.hpp"
#include "paraes/ciphers.hpp"
#include "paraes/io.hpp"

namespace paraes::cli {

struct OutputOptions {
  std::string path;              // -o; "-" is standard output
  bool path_given = false;       // -o was given
  bool standard_output = false;  // -c
  bool force = false;            // -f
  bool launched = false;         // a launcher stands between here and where the output ends
};

struct Destination {
  bool standard_output = false;
  std::string path;               // as the user knows it; "-" is standard output
  Place place;                    // of a file; where its name was a symbolic link, what that led to
  bool exists = false;            // there is something to be replaced
  bool written_in_place = false;  // exists and is no regular file: a device, a pipe
  FileId in_place;                // that one
};

struct RunContext;

// Decides where the output for `input` goes and refuses, with InvalidArgument, what must not
// happen: an existing target without -f, a file that is protected, the input itself, binary data
// on a terminal.
[[nodiscard]] Destination choose_destination(RunContext& run, const FileJob& job,
                                             const Input& input);

// Opens it. An encrypted file takes the mode and the time of the input, if that is a file; a
// decrypted one what the umask leaves of the mode. `temporary` lives longer than the sink. `named`:
// see FileSink::Options.
[[nodiscard]] std::unique_ptr<Sink> open_sink(RunContext& run, const FileJob& job,
                                              const Destination& destination, const Input& input,
                                              TemporaryName& temporary, bool named);

// Applies the umask to a mode. The umask can only be read by changing it, which other threads
// would notice: remember_umask is called before there are any.
void remember_umask();
[[nodiscard]] mode_t default_mode(mode_t mode);

// The ending of encrypted files.
inline constexpr std::string_view suffix = ".paes";

// The name of the output for an input named `input`. Throws InvalidArgument if there is none.
[[nodiscard]] std::string default_name(Direction direction, const std::string& input);

// The place of that name beside the input.
[[nodiscard]] Place beside(Direction direction, const Place& input);

}  // namespace paraes::cli
