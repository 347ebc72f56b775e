#include "cli/plan/standard_input.hpp"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <initializer_list>
#include <optional>

#include "paraes/error.hpp"
#include "paraes/io.hpp"
#include "paraes/recipients.hpp"
#include "src/core/system/descriptors.hpp"

namespace paraes::cli {
namespace {

bool is_standard_input(const struct stat& status) {
  struct stat own = {};
  return fstat(STDIN_FILENO, &own) == 0 && FileId(status) == FileId(own);
}

// Whether `path` leads to the standard input of this process, as /dev/stdin does.
bool leads_to_standard_input(const std::string& path) {
  struct stat status = {};
  return stat(path.c_str(), &status) == 0 && is_standard_input(status);
}

// Whether an input is standard input, also by another name. `links`: look for one behind symbolic
// links, which asks the system about every input.
bool reads_data(const std::vector<std::string>& inputs, bool links) {
  return std::any_of(inputs.begin(), inputs.end(), [&](const std::string& input) {
    if (input == "-") return inputs.size() == 1;
    const auto number = links ? system::descriptor_named(input) : system::descriptor_in(input);
    if (!number || *number == STDIN_FILENO) return number.has_value();
    struct stat status = {};
    return fstat(*number, &status) == 0 && is_standard_input(status);
  });
}

// A flag that reads a secret, with the name that it was given; empty if there is none.
std::string flag_with(const SecretSources& sources, bool (*reads)(const std::string& path),
                      bool (*reads_number)(int number)) {
  for (const auto& [name, path] : {std::pair("key-file", &sources.key_file),
                                   std::pair("passphrase-file", &sources.passphrase_file)}) {
    if (*path && reads(**path)) return fmt::format("{} {}", sources.flag(name), **path);
  }
  if (sources.passphrase_fd && reads_number(*sources.passphrase_fd)) {
    return fmt::format("{} {}", sources.flag("passphrase-fd"), *sources.passphrase_fd);
  }
  return "";
}

// The flag that reads a secret from standard input, as far as names tell.
std::string secret_by_name(const SecretSources& sources) {
  return flag_with(
      sources, [](const std::string& path) { return path == "-"; },
      [](int number) { return number == STDIN_FILENO; });
}

// The same, whatever name standard input has.
std::string secret_by_any_name(const SecretSources& sources) {
  return flag_with(
      sources, [](const std::string& path) { return path == "-" || leads_to_standard_input(path); },
      [](int number) {
        struct stat status = {};
        return fstat(number, &status) == 0 && is_standard_input(status);
      });
}

bool is_pipe() {
  struct stat own = {};
  return fstat(STDIN_FILENO, &own) == 0 && (S_ISFIFO(own.st_mode) || S_ISSOCK(own.st_mode));
}

// age reads these files itself, perhaps several times.
void check_file_names(const SecretSources& sources, const char* name,
                      const std::vector<std::string>& files, bool is_data) {
  for (const std::string& file : files) {
    if (file.empty()) throw InvalidArgument(sources.flag(name) + " has an empty name");
    if (holds_private_key(file)) {
      throw InvalidArgument(
          fmt::format("{} takes the name of a file, but a private key was given: anybody may have "
                      "seen it, so make a new one",
                      sources.flag(name)));
    }
    if (file != "-" && !(is_data && leads_to_standard_input(file))) continue;
    throw InvalidArgument(
        fmt::format("{} cannot be standard input ({}): name a file", sources.flag(name), file));
  }
}

// Why there is no input.
std::string why_none(const CryptOptions& options) {
  const std::string name = verb_name(options.verb);
  if (options.verb == Verb::rekey) {
    return "rekey replaces files, so it needs a FILE, or a folder with -r";
  }
  if (options.recursive) {
    return fmt::format("-r needs a folder or FILE: without one, {} reads standard input", name);
  }
  if (options.remove) {
    return fmt::format("--rm needs a FILE to remove: without one, {} reads standard input", name);
  }
  if (const std::string flag = secret_by_name(options.keys); !flag.empty()) {
    return fmt::format("{} needs an input FILE: {} reads standard input", name, flag);
  }
  return fmt::format("{} needs an input FILE, or - for standard input", name);
}

}  // namespace

std::vector<std::string> inputs_of(const CryptOptions& options, bool is_terminal) {
  const bool needs_file = options.verb == Verb::rekey || options.recursive || options.remove ||
                          !secret_by_name(options.keys).empty();
  if (options.inputs.empty() && !needs_file && !is_terminal) return {"-"};
  return options.inputs;
}

StandardInput plan_standard_input(const CryptOptions& options,
                                  const std::vector<std::string>& inputs) {
  const bool rekey = options.verb == Verb::rekey;
  if (inputs.empty() || (rekey && std::find(inputs.begin(), inputs.end(), "-") != inputs.end())) {
    throw InvalidArgument(why_none(options));
  }
  StandardInput plan;
  plan.is_data = reads_data(inputs, false);
  for (const SecretSources* sources : {&options.keys, &options.to}) {
    check_file_names(*sources, "recipients-file", sources->recipients_files, plan.is_data);
    check_file_names(*sources, "identity", sources->identities, plan.is_data);
  }
  const std::string flag = secret_by_name(options.keys);
  const std::string new_flag = secret_by_name(options.to);
  if (!flag.empty() && !new_flag.empty()) {
    throw InvalidArgument(fmt::format(
        "{} and {} both need standard input; use a file for one of them", flag, new_flag));
  }
  if (plan.is_data) {
    // Of a pipe, data and secret would each get a part.
    for (const SecretSources* sources : {&options.keys, &options.to}) {
      const std::string reader =
          is_pipe() ? secret_by_any_name(*sources) : secret_by_name(*sources);
      if (reader.empty()) continue;
      throw InvalidArgument(fmt::format(
          "{} needs standard input, but the data comes from there; use a file", reader));
    }
  }
  const bool programs = options.keys.starts_programs() || options.to.starts_programs();
  const std::vector<std::string>& identities = options.keys.identities;
  plan.is_taken = reads_data(inputs, programs) || !secret_by_any_name(options.keys).empty() ||
                  !secret_by_any_name(options.to).empty() ||
                  std::any_of(identities.begin(), identities.end(), leads_to_standard_input);
  return plan;
}

}  // namespace paraes::cli
