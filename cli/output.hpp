// Where output goes: names, refusals, and the sink that keeps the promises of DESIGN, "Output".
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "input.hpp"
#include "paraes/ciphers.hpp"
#include "paraes/io.hpp"
#include "signals.hpp"

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
  std::string target;             // where a symbolic link leads
  bool exists = false;            // a regular file to be replaced
  bool written_in_place = false;  // exists and is no regular file: a device, a pipe
};

// Decides where the output for `input_path` goes and refuses, with InvalidArgument, what must not
// happen: an existing target without -f, the input itself, binary data on a terminal.
[[nodiscard]] Destination choose_destination(Direction direction, const std::string& input_path,
                                             const Input& input, const OutputOptions& options);

// Opens it. A file takes the mode and the time of the input, if that is a file. `temporary` lives
// longer than the sink. `sync_folder` and `named`: see FileSink::Options.
[[nodiscard]] std::unique_ptr<Sink> open_sink(const Destination& destination, const Input& input,
                                              TemporaryName& temporary, bool sync_folder,
                                              bool named);

// To be called before there are other threads.
void remember_umask();

// The ending of encrypted files.
inline constexpr std::string_view suffix = ".paes";

// The name of the output for an input named `input`. Throws InvalidArgument if there is none.
[[nodiscard]] std::string default_name(Direction direction, const std::string& input);

}  // namespace paraes::cli
