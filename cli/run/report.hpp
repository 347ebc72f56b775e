// Errors and warnings, the JSON object for a file, and exit statuses.
#pragma once

#include <cstdint>
#include <cstdio>
#include <exception>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "paraes/messages.hpp"

namespace paraes::cli {

inline constexpr int exit_done = 0;
inline constexpr int exit_failed = 1;  // I/O, device or internal
inline constexpr int exit_usage = 2;   // usage or refusal
inline constexpr int exit_some_failed =
    3;  // some of several files failed, or salvage lost something
inline constexpr int exit_not_intact = 4;  // the data is not intact
inline constexpr int exit_wrong_key = 5;   // the header does not match the key
inline constexpr int exit_closed_pipe = 141;

[[nodiscard]] int exit_status(const std::exception& error);

// `text` as terminals may show it: file names, and what drivers and files say, can hold anything.
// Control characters below U+0020 and bytes that are no UTF-8 become \xNN. Other controls, line
// separators and controls of bidirectional text become \uNNNN, as JSON allows.
[[nodiscard]] std::string printable(std::string_view text);

// Writes "paraes: <text>" and a newline to standard error. The text is made printable: one message
// is one line.
void say(std::string_view text);

// The text of an exception, with the flag or command that helps if there is one.
[[nodiscard]] std::string error_text(const std::exception& error);

// The name of an input, or of an output, in messages: "-" is a standard stream.
[[nodiscard]] std::string input_name(const std::string& input);
[[nodiscard]] std::string output_name(const std::string& output);

// `text`, an error of the run on the first of these files, with that file's name before it unless
// it begins with the name of one of them. So does every text of the library about a file. Empty
// names are left out.
[[nodiscard]] std::string with_name(std::string_view text, const std::vector<std::string>& files);

// Prints the text of an exception, except for a closed pipe, and returns its exit status.
int say_error(const std::exception& error);

// The statuses of inputs that were not processed, and are no failures.
inline constexpr const char* skipped_status = "skipped";
inline constexpr const char* up_to_date_status = "up to date";

// One file that a run found, as --json prints it.
struct RunReport {
  std::string input;
  std::optional<std::string> output;  // unknown if the run failed before it was chosen
  std::optional<std::string> format;
  std::uint64_t bytes = 0;  // of plaintext
  double seconds = 0;
  std::optional<std::string> device;
  std::optional<std::string> kernel;
  std::optional<std::string> fallback;  // why the requested device did not do it all
  std::string status = "ok";            // or one of those above, or the error
  std::optional<std::string> reason;    // why it was skipped
  int exit = exit_done;
  std::optional<PhaseTimes> timeline_ns;
  std::optional<std::vector<BadRange>> bad_ranges;  // of --salvage
  std::optional<std::string> rekeyed;               // of rekey: "header", or "data" for all of it
};

[[nodiscard]] std::string to_json(const RunReport& report);

// The last line of --json with several inputs or -r.
struct RunSummary {
  std::uint64_t files = 0;     // that were processed without an error
  std::uint64_t bytes = 0;     // of plaintext in them
  std::uint64_t salvaged = 0;  // by --salvage, with losses
  std::uint64_t up_to_date = 0;
  std::uint64_t skipped = 0;
  std::uint64_t failed = 0;
  double seconds = 0;
  int exit = exit_done;
};

[[nodiscard]] std::string to_json(const RunSummary& summary);

// Writes the lines of `text`, made printable, and a newline, and flushes; throws IoError if that
// fails. JSON without control characters keeps its value.
void print_line(std::FILE* stream, std::string_view text);

}  // namespace paraes::cli
