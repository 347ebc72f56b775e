// Chooses, checks and opens outputs, as docs/command-line.md describes under "Output".
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "cli/files/file_context.hpp"
#include "cli/files/file_list.hpp"
#include "cli/terminal/signals.hpp"
#include "paraes/ciphers.hpp"
#include "paraes/io.hpp"

namespace paraes::cli {

struct Destination {
  std::optional<int> descriptor;  // of this process, which is written where it is
  std::string path;               // as shown; "-" is standard output
  Place place;                    // of a file; if its name is a symbolic link, of the link's target
  bool exists = false;            // a file will be replaced
  bool up_to_date = false;        // with --update: it stays, see UpdateRule
  bool written_in_place = false;  // an existing device or pipe, which is not replaced
  FileId in_place;                // of the device or pipe
};

// Decides where the output for `input` goes. Throws InvalidArgument for an existing file without -f
// (or --update, if it is older), one that cannot be replaced, a file that holds a secret of the
// run, the input itself, and binary data on a terminal. Stores the name of the output in `shown` as
// soon as it is known.
[[nodiscard]] Destination choose_destination(FileContext& run, const FileJob& job,
                                             const Input& input, std::optional<std::string>& shown);

// Opens the destination. An output file gets the modification time of an input file, and its mode:
// unchanged when encrypting, limited by the umask when decrypting. `temporary` must outlive the
// sink. `named`: see FileSink::Options.
[[nodiscard]] std::unique_ptr<Sink> open_sink(FileContext& run, const FileJob& job,
                                              const Destination& destination, const Input& input,
                                              TemporaryName& temporary, bool named);

// default_mode applies the umask to a mode. The first call changes the process's umask, so that its
// owner can use what it makes: call remember_umask before any threads are started.
void remember_umask();

// Throws InvalidArgument: an output cannot take the place of a folder.
[[noreturn]] void refuse_folder(const std::string& shown);
[[nodiscard]] mode_t default_mode(mode_t mode);

// The suffix of encrypted files.
inline constexpr std::string_view suffix = ".paes";
[[nodiscard]] inline bool has_suffix(std::string_view name) {
  return name.size() > suffix.size() && name.ends_with(suffix);
}

// Why the output of decryption has no name if that of its input does not end in `suffix`.
[[nodiscard]] std::string why_nameless(std::string_view advice);

// The default name of the output for an input named `input`. Throws InvalidArgument, with
// why_nameless(advice), for decryption of a name that does not end in `suffix`.
[[nodiscard]] std::string default_name(Direction direction, const std::string& input,
                                       std::string_view advice);

// The place beside the input that has the default name.
[[nodiscard]] Place beside(Direction direction, const Place& input, std::string_view advice);

}  // namespace paraes::cli
