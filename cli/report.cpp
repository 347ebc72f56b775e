#include "cli/report.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <nlohmann/json.hpp>

#include "bench/harness/status_line.hpp"
#include "paraes/error.hpp"
#include "paraes/io.hpp"

namespace paraes::cli {
namespace {

std::string on_one_line(std::string_view text) {
  std::string line;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte == 0x7f) {
      line += fmt::format("\\x{:02x}", byte);
    } else {
      line += c;
    }
  }
  return line;
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
  if (dynamic_cast<const DamagedProgram*>(&error) != nullptr) {
    return "; `paraes devices --compile` compiles it again";
  }
  if (const auto* segment = dynamic_cast<const BadSegment*>(&error);
      segment != nullptr && segment->key_fits()) {
    return " (--salvage saves the intact segments)";
  }
  if (dynamic_cast<const NotSalted*>(&error) != nullptr) {
    return " (if it is bare ciphertext, use --format raw)";
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

void say(std::string_view text) {
  const std::string line = "paraes: " + on_one_line(text) + "\n";
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

std::string with_name(std::string_view text, const std::vector<std::string>& files) {
  for (const std::string& file : files) {
    if (!file.empty() && text.starts_with(file + ": ")) return std::string(text);
  }
  return fmt::format("{}: {}", files.at(0), text);
}

int say_error(const std::exception& error) {
  if (!is_closed_pipe(error)) say(error_text(error));
  return exit_status(error);
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
  object["up_to_date"] = summary.up_to_date;
  object["skipped"] = summary.skipped;
  object["failed"] = summary.failed;
  object["seconds"] = summary.seconds;
  object["exit"] = summary.exit;
  return object.dump();
}

void print_line(std::FILE* stream, const std::string& line) {
  if (bench::write_lines(stream, line + "\n")) return;
  throw io_error(stream == stdout ? "standard output" : "standard error", "write", errno);
}

}  // namespace paraes::cli
