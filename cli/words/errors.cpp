#include "cli/words/errors.hpp"

#include <cerrno>

#include "paraes/io.hpp"

namespace paraes::cli {
namespace {

bool is_closed_pipe(const std::exception& error) {
  const auto* io = dynamic_cast<const IoError*>(&error);
  return io != nullptr && io->code() == EPIPE;
}

// The flags and commands that help with an error. The library does not know them.
std::string advice(const std::exception& error) {
  if (const auto* io = dynamic_cast<const IoError*>(&error);
      io != nullptr && io->code() == ENOENT && io->path().find("://") != std::string::npos) {
    return " (for an object of S3 or another store, take `paraes-objects`: pip install "
           "'paraes[objects]')";
  }
  if (is_a(error_kind(error), ErrorKind::unknown_device)) return "; `paraes devices` lists all";
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
  if (const auto* padding = dynamic_cast<const BadPadding*>(&error);
      padding != nullptr && padding->derived()) {
    return " (`openssl enc` without -pbkdf2 needs --kdf evp, and other values of -md need "
           "--digest)";
  }
  if (is_a(error_kind(error), ErrorKind::not_salted)) {
    return " (bare ciphertext needs --format raw, with its key and mode)";
  }
  return "";
}

}  // namespace

int exit_status(const std::exception& error) {
  if (is_closed_pipe(error)) return exit_closed_pipe;
  const ErrorKind kind = error_kind(error);
  if (is_a(kind, ErrorKind::invalid_argument)) return exit_usage;
  if (is_a(kind, ErrorKind::wrong_key)) return exit_wrong_key;
  if (is_a(kind, ErrorKind::integrity_error)) return exit_not_intact;
  return exit_failed;
}

std::string error_text(const std::exception& error) {
  if (error_kind(error) == ErrorKind::memory) return "out of memory";
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

}  // namespace paraes::cli
