// lab: the laboratory, which is a program of its own (paraes-lab, of the Python package), in place
// of this process.

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "cli/report.hpp"
#include "cli/verbs.hpp"

namespace paraes::cli {
namespace {

namespace fs = std::filesystem;

constexpr const char* program = "paraes-lab";

bool is_program(const fs::path& path) {
  std::error_code none;
  return fs::is_regular_file(path, none) && access(path.c_str(), X_OK) == 0;
}

// Where paraes-lab is, or empty: beside this program, in PATH, or in the Python environment of the
// build tree that this program was built in.
fs::path find_lab(const fs::path& self) {
  const fs::path folder = self.parent_path();
  if (fs::path beside = folder / program; is_program(beside)) return beside;
  const char* const path = std::getenv("PATH");
  std::string_view rest = path == nullptr ? "" : path;
  while (!rest.empty()) {
    const std::size_t end = rest.find(':');
    const std::string_view name = rest.substr(0, end);
    rest = end == std::string_view::npos ? "" : rest.substr(end + 1);
    if (name.empty()) continue;  // the working folder, which may be anybody's
    if (fs::path there = fs::path(name) / program; is_program(there)) return there;
  }
  const fs::path build = folder.parent_path();  // of build/release/cli
  std::error_code none;
  if (!fs::exists(build / "CMakeCache.txt", none)) return {};
  const fs::path ours = build.parent_path() / "venv" / "bin" / program;
  return is_program(ours) ? ours : fs::path();
}

}  // namespace

void add_lab(CLI::App& app) {
  app.add_subcommand("lab",
                     "Repeats the experiments of papers, and makes tables and figures of bench "
                     "JSON: paraes-lab.");
}

int run_lab(char** arguments) {
  std::error_code error;
  const fs::path self = fs::read_symlink("/proc/self/exe", error);
  const fs::path lab = find_lab(self);
  if (lab.empty()) {
    say("the laboratory is not installed: no paraes-lab is in PATH or beside paraes; "
        "`./quickstart --with lab` or `pip install .` in the source tree of paraes installs it");
    return exit_failed;
  }
  // What it measures is this program, unless somebody chose another.
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
