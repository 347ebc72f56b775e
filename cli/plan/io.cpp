#include "cli/plan/io.hpp"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <initializer_list>
#include <utility>

#include "cli/streams/descriptors.hpp"
#include "cli/words/errors.hpp"
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

bool is_standard_input(int number) {
  struct stat status = {};
  return fstat(number, &status) == 0 && is_standard_input(status);
}

// Whether `path` leads to the standard input of this process, as /dev/stdin does.
bool leads_to_standard_input(const std::string& path) {
  struct stat status = {};
  return stat(path.c_str(), &status) == 0 && is_standard_input(status);
}

// Whether an input is standard input, also by another name. `links`: look for one behind symbolic
// links, which asks the system about every input.
bool reads_data(const std::vector<std::string>& inputs, bool links) {
  return std::ranges::any_of(inputs, [&](const std::string& input) {
    if (input == "-") return inputs.size() == 1;
    const auto number = links ? system::descriptor_named(input) : system::descriptor_in(input);
    return number && (*number == STDIN_FILENO || is_standard_input(*number));
  });
}

// The flag that reads a secret from standard input, with the name that it was given; empty if there
// is none. `any_name`: whatever name standard input has there.
std::string secret_reader(const SecretSources& sources, bool any_name) {
  for (const auto& [name, path] : {std::pair("key-file", &sources.key_file),
                                   std::pair("passphrase-file", &sources.passphrase_file)}) {
    if (*path && (**path == "-" || (any_name && leads_to_standard_input(**path)))) {
      return fmt::format("{} {}", sources.flag(name), **path);
    }
  }
  const std::optional<int> number = sources.passphrase_fd;
  if (number && (any_name ? is_standard_input(*number) : *number == STDIN_FILENO)) {
    return fmt::format("{} {}", sources.flag("passphrase-fd"), *number);
  }
  return "";
}

[[noreturn]] void refuse_two_readers(const std::string& one, const std::string& other) {
  throw refusal("{} and {} both need standard input; use a file for one of them", one, other);
}

[[noreturn]] void refuse_under_launcher(const std::string& name) {
  throw refusal(
      "{}: paraes-mpi reads and writes no other descriptors than standard input and output: name a "
      "file",
      name);
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
      throw refusal(
          "{} takes the name of a file, but a private key was given: anybody may have seen it, so "
          "make a new one",
          sources.flag(name));
    }
    if (file != "-" && !(is_data && leads_to_standard_input(file))) continue;
    throw refusal("{} cannot be standard input ({}): name a file", sources.flag(name), file);
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
  if (options.removes) {
    return fmt::format("--rm needs a FILE to remove: without one, {} reads standard input", name);
  }
  if (const std::string flag = secret_reader(options.keys, false); !flag.empty()) {
    return fmt::format("{} needs an input FILE: {} reads standard input", name, flag);
  }
  return fmt::format("{} needs an input FILE, or - for standard input", name);
}

// Whether what is written to both stands in one place.
bool mixes_with_standard_output(int descriptor) {
  struct stat status = {};
  struct stat own = {};
  if (fstat(descriptor, &status) != 0 || fstat(STDOUT_FILENO, &own) != 0) return false;
  // Devices such as /dev/null keep nothing.
  const bool keeps = !S_ISCHR(own.st_mode) || isatty(STDOUT_FILENO) != 0;
  return keeps && FileId(status) == FileId(own);
}

// Sets `folder` or `descriptor`.
void look_at_path(const std::string& path, Output& output) {
  if (path.empty() || path == "-") return;
  struct stat status = {};
  bool found = lstat(path.c_str(), &status) == 0;
  const bool is_link = found && S_ISLNK(status.st_mode);
  if (is_link) found = stat(path.c_str(), &status) == 0;
  output.folder = path.back() == '/' || (found && S_ISDIR(status.st_mode));
  if (output.folder) return;
  // A name of a descriptor that is not open may lead nowhere.
  output.descriptor = is_link ? system::descriptor_named(path) : system::descriptor_in(path);
}

}  // namespace

std::vector<std::string> list_readers(const CryptOptions& options, bool own, bool launched) {
  std::vector<std::string> readers;
  const auto add = [&](const char* flag, const std::string& path) {
    const std::optional<int> number = system::descriptor_in(path);
    if (launched && number && *number > STDERR_FILENO) refuse_under_launcher(path);
    if (path != "-" && !(own && leads_to_standard_input(path))) return;
    readers.push_back(fmt::format("{} {}", flag, path));
  };
  if (options.files_from) add("--files-from", *options.files_from);
  for (const std::string& path : options.exclude_from) add("--exclude-from", path);
  if (readers.size() > 1) refuse_two_readers(readers[0], readers[1]);
  for (const SecretSources* sources : {&options.keys, &options.new_keys}) {
    const std::string secret = readers.empty() ? "" : secret_reader(*sources, true);
    if (!secret.empty()) refuse_two_readers(readers[0], secret);
  }
  return readers;
}

std::vector<std::string> inputs_of(const CryptOptions& options,
                                   const std::vector<std::string>& readers, bool is_terminal) {
  const bool needs_file = options.verb == Verb::rekey || options.recursive || options.removes ||
                          options.files_from || !readers.empty() ||
                          !secret_reader(options.keys, false).empty();
  if (options.inputs.empty() && !needs_file && !is_terminal) return {"-"};
  return options.inputs;
}

StandardInput plan_standard_input(const CryptOptions& options,
                                  const std::vector<std::string>& inputs,
                                  const std::vector<std::string>& readers) {
  const bool rekeys = options.verb == Verb::rekey;
  const bool has_list = options.files_from.has_value();
  if ((inputs.empty() && !has_list) || (rekeys && std::ranges::find(inputs, "-") != inputs.end())) {
    throw InvalidArgument(why_none(options));
  }
  StandardInput plan;
  plan.is_data = reads_data(inputs, false);
  for (const SecretSources* sources : {&options.keys, &options.new_keys}) {
    check_file_names(*sources, "recipients-file", sources->recipients_files, plan.is_data);
    check_file_names(*sources, "identity", sources->identities, plan.is_data);
  }
  const std::string flag = secret_reader(options.keys, false);
  const std::string new_flag = secret_reader(options.new_keys, false);
  if (!flag.empty() && !new_flag.empty()) refuse_two_readers(flag, new_flag);
  if (plan.is_data) {
    // If both read one pipe, data and secret would each get a part.
    std::vector<std::string> others = readers;
    others.push_back(secret_reader(options.keys, is_pipe()));
    others.push_back(secret_reader(options.new_keys, is_pipe()));
    for (const std::string& reader : others) {
      if (reader.empty()) continue;
      throw refusal("{} needs standard input, but the data comes from there; use a file", reader);
    }
  }
  const bool programs = options.keys.starts_programs() || options.new_keys.starts_programs();
  const std::vector<std::string>& identities = options.keys.identities;
  plan.is_taken = reads_data(inputs, programs) || !readers.empty() ||
                  !secret_reader(options.keys, true).empty() ||
                  !secret_reader(options.new_keys, true).empty() ||
                  std::ranges::any_of(identities, leads_to_standard_input);
  return plan;
}

bool Output::is_terminal() const {
  if (data_on_stdout) return isatty(STDOUT_FILENO) != 0;
  return descriptor && isatty(*descriptor) != 0;
}

Output look_at_output(const CryptOptions& options, bool data_on_stdin, bool launched) {
  Output output;
  output.launched = launched;
  output.path = options.output;
  output.standard_output = options.standard_output;
  output.replaces_all = options.force;
  output.replaces_older = options.update;
  if (output.path) look_at_path(*output.path, output);
  output.data_on_stdout =
      output.standard_output ||
      (output.path ? output.path == "-" || output.descriptor == STDOUT_FILENO : data_on_stdin);
  output.mixes_with_stdout = output.data_on_stdout ||
                             (output.descriptor && mixes_with_standard_output(*output.descriptor));
  return output;
}

void check_output(const CryptOptions& options, const Output& output, bool several,
                  bool data_on_stdin) {
  const bool is_standard_output = output.path == "-" || output.descriptor == STDOUT_FILENO;
  if (output.path && output.standard_output && !is_standard_output) {
    throw InvalidArgument("-c and -o name two outputs; give one");
  }
  if (several && output.descriptor) {
    throw refusal("{}: it is a file descriptor, which takes one output: name a folder with -o",
                  *output.path);
  }
  if (several || !output.folder) return;
  const bool part = options.offset || options.length;
  if (!part && !data_on_stdin) return;
  throw refusal("{}: it is a folder, in which {} has no default name; name the output file",
                *output.path, part ? "a part of a message" : "standard input");
}

std::string check_named_descriptors(const CryptOptions& options,
                                    const std::vector<std::string>& inputs, const Output& output) {
  const auto check = [&](const std::string& name, Access access, std::optional<int> number) {
    if (number && !output.launched) check_descriptor(*number, name, access);
    // Other ranks have other standard descriptors.
    if (number && output.launched && *number > STDERR_FILENO) refuse_under_launcher(name);
    return number.has_value();
  };
  std::string found;
  if (check(output.path.value_or(""), Access::write, output.descriptor)) found = *output.path;
  for (const std::string& input : inputs) {
    if (check(input, Access::read, system::descriptor_in(input)) && found.empty()) found = input;
  }
  if (output.launched) return found;
  for (const SecretSources* sources : {&options.keys, &options.new_keys}) {
    for (const SecretSources::File& file : sources->files()) {
      check(file.path, Access::read, system::descriptor_in(file.path));
    }
  }
  return found;
}

}  // namespace paraes::cli
