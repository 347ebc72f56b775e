#include "cli/report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <new>
#include <nlohmann/json.hpp>

#include "cli/status_line.hpp"
#include "paraes/error.hpp"
#include "paraes/io.hpp"

namespace paraes::cli {
namespace {

struct Character {
  std::size_t bytes = 0;  // 0: the text does not begin with a character in UTF-8
  std::uint32_t code = 0;
};

// The first character of `text` (RFC 3629).
Character first_character(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<std::uint32_t>(text[i]) & 0xffU; };
  const std::uint32_t lead = byte(0);
  if (lead < 0x80) return {1, lead};
  const std::size_t n = lead >> 5 == 0x06 ? 2 : lead >> 4 == 0x0e ? 3 : lead >> 3 == 0x1e ? 4 : 0;
  if (n == 0 || text.size() < n) return {};
  std::uint32_t code = lead & (0x7fU >> n);
  for (std::size_t i = 1; i < n; ++i) {
    if (byte(i) >> 6 != 2) return {};
    code = code << 6 | (byte(i) & 0x3fU);
  }
  constexpr std::array<std::uint32_t, 5> least = {0, 0, 0x80, 0x800, 0x10000};
  const bool is_surrogate = code >= 0xd800 && code < 0xe000;
  if (code < least.at(n) || is_surrogate || code > 0x10ffff) return {};
  return {n, code};
}

// Whether a terminal obeys the character, breaks the line at it, or shows what follows in another
// order: controls (C0, DEL, C1), line separators, and the controls of bidirectional text.
bool is_control(std::uint32_t code) {
  return code < 0x20 || (code >= 0x7f && code < 0xa0) || code == 0x061c || code == 0x200e ||
         code == 0x200f || (code >= 0x2028 && code <= 0x202e) || (code >= 0x2066 && code <= 0x2069);
}

bool is_closed_pipe(const std::exception& error) {
  const auto* io = dynamic_cast<const IoError*>(&error);
  return io != nullptr && io->code() == EPIPE;
}

// The flags and commands that help with an error. The library does not know them.
std::string advice(const std::exception& error) {
  if (dynamic_cast<const UnknownDevice*>(&error) != nullptr) {
    return "; `paraes devices` lists all";
  }
  if (const auto* missing = dynamic_cast<const MissingProgram*>(&error)) {
    return fmt::format(" (`paraes devices --compile --arch {} -o FOLDER` compiles them)",
                       missing->target());
  }
  if (const auto* damaged = dynamic_cast<const DamagedProgram*>(&error)) {
    return fmt::format("; `paraes devices --compile --arch {} -o {}` compiles it again",
                       damaged->target(), folder_of(damaged->path()));
  }
  if (const auto* segment = dynamic_cast<const BadSegment*>(&error);
      segment != nullptr && segment->key_fits()) {
    return " (`paraes decrypt --salvage` saves the intact segments)";
  }
  if (dynamic_cast<const NotSalted*>(&error) != nullptr) {
    return " (bare ciphertext needs --format raw, with its key and mode)";
  }
  return "";
}

template <class T>
nlohmann::ordered_json or_null(const std::optional<T>& value) {
  return value ? nlohmann::ordered_json(*value) : nlohmann::ordered_json(nullptr);
}

}  // namespace

int exit_status(const std::exception& error) {
  if (is_closed_pipe(error)) return exit_closed_pipe;
  if (dynamic_cast<const InvalidArgument*>(&error) != nullptr) return exit_usage;
  if (dynamic_cast<const WrongKey*>(&error) != nullptr) return exit_wrong_key;
  if (dynamic_cast<const IntegrityError*>(&error) != nullptr) return exit_not_intact;
  return exit_failed;
}

std::string printable(std::string_view text) {
  std::string shown;
  while (!text.empty()) {
    const Character first = first_character(text);
    const std::size_t n = std::max<std::size_t>(first.bytes, 1);
    if (first.bytes == 0 || first.code < 0x20) {
      shown += fmt::format("\\x{:02x}", static_cast<unsigned char>(text[0]));
    } else if (is_control(first.code)) {
      shown += fmt::format("\\u{:04x}", first.code);
    } else {
      shown += text.substr(0, n);
    }
    text.remove_prefix(n);
  }
  return shown;
}

void say(std::string_view text) {
  const std::string line = "paraes: " + printable(text) + "\n";
  // Errors are ignored: if standard error is closed, there is nowhere to report them.
  static_cast<void>(bench::write_lines(stderr, line));
}

std::string error_text(const std::exception& error) {
  if (dynamic_cast<const std::bad_alloc*>(&error) != nullptr) return "out of memory";
  if (const auto* kernel = dynamic_cast<const UnknownKernel*>(&error);
      kernel != nullptr && kernel->source().empty()) {
    return fmt::format("--kernel: {}", kernel->what());
  }
  return error.what() + advice(error);
}

std::string input_name(const std::string& input) {
  return input == "-" ? "standard input" : input.empty() ? "''" : input;
}

std::string output_name(const std::string& output) {
  return output == "-" ? "standard output" : output;
}

std::string with_name(std::string_view text, const std::vector<std::string>& files) {
  for (const std::string& file : files) {
    if (!file.empty() && text.starts_with(file + ": ")) return std::string(text);
  }
  return fmt::format("{}: {}", files.at(0), text);
}

int say_error(const std::exception& error) {
  if (is_closed_pipe(error)) return exit_closed_pipe;
  try {
    say(error_text(error));
    return exit_status(error);
  } catch (const std::bad_alloc&) {  // none for the text either
    bench::write_in_handler("paraes: out of memory\n");
    return exit_failed;
  }
}

std::string to_json(const RunReport& report) {
  nlohmann::ordered_json object;
  object["input"] = report.input;
  object["output"] = or_null(report.output);
  object["format"] = or_null(report.format);
  object["bytes"] = report.bytes;
  object["seconds"] = report.seconds;
  object["device"] = or_null(report.device);
  object["kernel"] = or_null(report.kernel);
  object["fallback"] = or_null(report.fallback);
  object["status"] = report.status;
  if (report.reason) object["reason"] = *report.reason;
  object["exit"] = report.exit;
  if (report.rekeyed) object["rekeyed"] = *report.rekeyed;
  object["timeline_ns"] = nullptr;
  if (report.timeline_ns) {
    for (const Phase& phase : phase_table) {
      object["timeline_ns"][std::string(phase.name)] = *report.timeline_ns.*phase.busy_ns;
    }
    if (report.timeline_ns->scatter == 0) {  // not a run on several ranks
      object["timeline_ns"].erase("scatter");
      object["timeline_ns"].erase("gather");
    }
  }
  if (report.bad_ranges) {
    object["bad_ranges"] = nlohmann::ordered_json::array();
    for (const BadRange& range : *report.bad_ranges) {
      object["bad_ranges"].push_back({{"offset", range.offset}, {"bytes", range.bytes}});
    }
  }
  // JSON is UTF-8; a file's name may not be.
  return object.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

std::string to_json(const RunSummary& summary) {
  nlohmann::ordered_json object;
  object["files"] = summary.files;
  object["bytes"] = summary.bytes;
  object["salvaged"] = summary.salvaged;
  object["up_to_date"] = summary.up_to_date;
  object["skipped"] = summary.skipped;
  object["failed"] = summary.failed;
  object["seconds"] = summary.seconds;
  object["exit"] = summary.exit;
  return object.dump();
}

void print_line(std::FILE* stream, std::string_view text) {
  std::string shown;
  for (;;) {
    const std::size_t end = text.find('\n');
    shown += printable(text.substr(0, end)) + "\n";
    if (end == std::string_view::npos) break;
    text.remove_prefix(end + 1);
  }
  if (bench::write_lines(stream, shown)) return;
  throw io_error(stream == stdout ? "standard output" : "standard error", "write", errno);
}

}  // namespace paraes::cli
