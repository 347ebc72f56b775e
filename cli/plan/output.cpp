#include "cli/plan/output.hpp"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include "paraes/error.hpp"
#include "paraes/io.hpp"
#include "src/core/system/descriptors.hpp"

namespace paraes::cli {
namespace {

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
    throw InvalidArgument(
        fmt::format("{}: it is a file descriptor, which takes one output: name a folder with -o",
                    *output.path));
  }
  if (several || !output.folder) return;
  const bool part = options.offset || options.length;
  if (!part && !data_on_stdin) return;
  throw InvalidArgument(
      fmt::format("{}: it is a folder, in which {} has no default name; name the output file",
                  *output.path, part ? "a part of a message" : "standard input"));
}

}  // namespace paraes::cli
