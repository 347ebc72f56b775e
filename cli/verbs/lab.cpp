// lab: replaces this process with paraes-lab, which the Python package installs.

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "cli/terminal/messages.hpp"
#include "cli/verbs/verbs.hpp"
#include "cli/words/errors.hpp"
#include "cli/words/help.hpp"
#include "src/core/system/process.hpp"

namespace paraes::cli {
namespace {

namespace fs = std::filesystem;

constexpr const char* lab_name = "paraes-lab";

// Printed by --help where the laboratory is not installed; else it prints its own.
constexpr const char* help_without_lab = R"(Runs `paraes bench`, analyses its JSON, and repeats the
experiments of six papers on parallel AES on this machine.

Usage: paraes lab VERB ...

Verbs:
  reproduce   run a paper's experiment and compare with the paper's numbers
  report      write everything in bench JSON as one page
  compare     say for each row whether b is faster than a
  figure      draw one figure as SVG

The laboratory is not installed: it is a part of the Python package. Install it with `./quickstart
--with lab` or `pip install '.[lab]'` in the source tree of paraes; `paraes lab VERB --help` then
says more about each verb.)";

bool is_executable(const fs::path& path) {
  std::error_code none;
  return fs::is_regular_file(path, none) && access(path.c_str(), X_OK) == 0;
}

// Looks for paraes-lab beside this executable, in PATH, and in the Python environment that the
// build folder has beside this build tree. Returns an empty path if it is in none of these.
fs::path find_lab(const fs::path& self) {
  const fs::path folder = self.parent_path();
  if (fs::path beside = folder / lab_name; is_executable(beside)) return beside;
  const char* const path = std::getenv("PATH");
  std::string_view rest = path == nullptr ? "" : path;
  while (!rest.empty()) {
    const std::size_t end = rest.find(':');
    const std::string_view name = rest.substr(0, end);
    rest = end == std::string_view::npos ? "" : rest.substr(end + 1);
    // The working folder and those below it do not count: others may have put a paraes-lab there.
    if (!name.starts_with('/')) continue;
    if (fs::path found = fs::path(name) / lab_name; is_executable(found)) return found;
  }
  const fs::path build = folder.parent_path();  // of build/release/cli
  std::error_code none;
  if (!fs::exists(build / "CMakeCache.txt", none)) return {};
  const fs::path installed = build.parent_path() / "venv" / "bin" / lab_name;
  return is_executable(installed) ? installed : fs::path();
}

}  // namespace

void add_lab(CLI::App& app) {
  app.add_subcommand(
      "lab",
      "Repeats the experiments of papers on parallel AES, and makes tables and figures "
      "from the JSON of bench.");
}

int run_lab(char** arguments) {
  const fs::path self = system::executable_path();
  const fs::path lab = find_lab(self);
  if (lab.empty()) {
    const std::string_view first = arguments[0] == nullptr ? "" : arguments[0];
    if ((first == "--help" || first == "-h") && arguments[1] == nullptr) {
      std::string text = wrap_paragraphs(help_without_lab);
      text.pop_back();  // print_line writes the last newline
      print_line(stdout, text);
      return exit_done;
    }
    say("the laboratory is not installed: paraes-lab is neither beside paraes nor in an absolute "
        "folder of PATH; install it with `./quickstart --with lab` or `pip install '.[lab]'` in "
        "the source tree");
    return exit_failed;
  }
  // paraes-lab measures this executable, unless the user chose another one.
  if (!self.empty()) setenv("PARAES_PROGRAM", self.c_str(), 0);
  std::vector<char*> words;
  std::string name = lab.string();
  words.push_back(name.data());
  while (*arguments != nullptr) words.push_back(*arguments++);
  words.push_back(nullptr);
  execv(lab.c_str(), words.data());
  say("cannot run " + name + ": " + std::generic_category().message(errno));
  return exit_failed;
}

}  // namespace paraes::cli
