#include "cli/app.hpp"

#include <CLI/CLI.hpp>
#include <cctype>
#include <cstdio>
#include <exception>
#include <memory>
#include <sstream>
#include <utility>

#include "cli/core_dumps.hpp"
#include "cli/keys.hpp"
#include "cli/report.hpp"
#include "cli/signals.hpp"
#include "paraes/error.hpp"
#include "paraes/version.hpp"

namespace paraes::cli {
namespace {

// Removes the second empty line that CLI11 puts between groups.
class Formatter : public CLI::Formatter {
 public:
  std::string make_help(const CLI::App* app, std::string name,
                        CLI::AppFormatMode mode) const override {
    std::string text = CLI::Formatter::make_help(app, std::move(name), mode);
    for (std::size_t at = 0; (at = text.find("\n\n\n", at)) != std::string::npos;) {
      text.erase(at, 1);
    }
    return text;
  }
};

// CLI11's message on one line, in lower case as all messages of paraes begin.
std::string usage_text(const ExecutableInfo& executable, const CLI::App& app,
                       const CLI::ParseError& error) {
  std::string text = error.what();
  for (char& c : text) {
    if (c == '\n') c = ' ';
  }
  while (!text.empty() && text.back() == ' ') text.pop_back();
  if (text.size() > 1 && std::islower(static_cast<unsigned char>(text[1])) != 0) {
    text[0] = static_cast<char>(std::tolower(static_cast<unsigned char>(text[0])));
  }
  const auto verbs = app.get_subcommands();
  const std::string verb = verbs.empty() ? "" : " " + verbs.front()->get_name();
  return text + " (see `" + executable.name + verb + " --help`)";
}

int parse_and_run(int argc, char** argv, const ExecutableInfo& executable) {
  CLI::App app{executable.summary, executable.name};
  app.formatter(std::make_shared<Formatter>());
  app.set_version_flag("--version", executable.name + " " + version(), "Print the version.");
  app.set_help_flag("-h,--help", "Print this help.");
  app.footer(executable.footer);
  int status = exit_done;
  executable.add_verbs(app, status);
  // At most one verb: after it, the name of a verb is a FILE.
  app.require_subcommand(0, 1);
  stash_key_hex(argc, argv);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() != 0) {
      say(usage_text(executable, app, error));
      return exit_usage;
    }
    // --help and --version.
    std::ostringstream text;
    app.exit(error, text);
    std::string shown = text.str();
    while (!shown.empty() && shown.back() == '\n') shown.pop_back();
    print_line(stdout, shown);
    return exit_done;
  }
  if (app.get_subcommands().empty()) {
    std::string verbs;
    for (const CLI::App* verb : app.get_subcommands({})) {
      verbs += (verbs.empty() ? "" : ", ") + verb->get_name();
    }
    say("no verb was given; the verbs are " + verbs + " (see `" + executable.name + " --help`)");
    return exit_usage;
  }
  return status;
}

}  // namespace

int run_app(int argc, char** argv, const ExecutableInfo& executable) {
  try {
    reserve_standard_descriptors();
    install_signal_handlers();
    // A core dump could contain keys and plaintext from the stack.
    forbid_core_files();
    const int status = parse_and_run(argc, argv, executable);
    // Output that is lost to a full disk or a closed pipe must not look like success.
    if (std::fflush(stdout) != 0) {
      say("cannot write standard output");
      return exit_failed;
    }
    return status;
  } catch (const std::exception& error) {
    return say_error(error);
  }
}

}  // namespace paraes::cli
