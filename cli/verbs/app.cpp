#include "cli/verbs/app.hpp"

#include <sys/resource.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <exception>
#include <string_view>
#include <utility>

#include "cli/terminal/messages.hpp"
#include "cli/terminal/signals.hpp"
#include "cli/words/errors.hpp"
#include "cli/words/help.hpp"
#include "paraes/error.hpp"
#include "paraes/kdf.hpp"
#include "paraes/version.hpp"
#include "src/core/system/process.hpp"

namespace paraes::cli {
namespace {

// Makes an application without verbs.
std::unique_ptr<CLI::App> make_empty_app(const ExecutableInfo& executable) {
  auto app = std::make_unique<CLI::App>(executable.summary, executable.name);
  app->formatter(make_help_formatter());
  app->set_version_flag("-V,--version", version(), "Print the version.");
  app->set_help_flag("-h,--help", "Print this help.");
  // A command has at most one verb: after it, the name of a verb is a FILE.
  app->require_subcommand(0, 1);
  return app;
}

// The text of CLI11 without the empty lines at its end.
std::string help_text(const CLI::App& app, const std::string& parent) {
  std::string text = app.help(parent);
  while (!text.empty() && text.back() == '\n') text.pop_back();
  return text;
}

std::pair<std::unique_ptr<CLI::App>, Arguments> read_command(int argc, char** argv,
                                                             const ExecutableInfo& executable,
                                                             int& status) {
  // The other verbs and flags would take most of the time of a small file. Only help and errors
  // need them.
  const std::string_view first = argc > 1 ? argv[1] : "";
  for (const VerbEntry& verb : executable.verbs) {
    if (verb.name != first) continue;
    auto app = make_empty_app(executable);
    verb.add(*app, status, NamedFlags(argc, argv));
    try {
      Arguments arguments = read_arguments(*app, argc, argv);
      if (arguments.help == nullptr) return {std::move(app), std::move(arguments)};
    } catch (const InvalidArgument&) {  // reported below, with what the others have
    }
  }
  auto app = make_app(executable, status);
  Arguments arguments = read_arguments(*app, argc, argv);
  return {std::move(app), std::move(arguments)};
}

// A core dump could contain keys and plaintext from the stack. The kernel ignores this limit where
// it pipes core dumps to a handler (kernel.core_pattern), as systemd and most distributions have it
// do.
void forbid_core_files() {
  const rlimit no_core = {.rlim_cur = 0, .rlim_max = 0};
  static_cast<void>(setrlimit(RLIMIT_CORE, &no_core));
}

// Unless the first argument is a verb that has none.
bool may_have_secrets(int argc, char** argv, const ExecutableInfo& executable) {
  const std::string_view first = argc > 1 ? argv[1] : "";
  return std::none_of(executable.verbs.begin(), executable.verbs.end(), [&](const VerbEntry& verb) {
    return verb.name == first && !verb.has_secrets;
  });
}

}  // namespace

std::unique_ptr<CLI::App> make_app(const ExecutableInfo& executable, int& status) {
  auto app = make_empty_app(executable);
  for (const VerbEntry& verb : executable.verbs) verb.add(*app, status, NamedFlags::all());
  app->add_subcommand(version_verb, "Prints the version.");
  app->add_subcommand(help_verb, "Prints the help of a verb.")
      ->add_option("VERB", "The verb to explain (default: all, in a line each).");
  for (CLI::App* verb : app->get_subcommands({})) verb->group("Verbs");
  // Now that the verbs are there: they would inherit it.
  app->footer(executable.footer);
  return app;
}

int run_guarded(const std::function<int()>& run) try {
  reserve_standard_descriptors();
  install_signal_handlers();
  install_terminate_handler();
  forbid_core_files();
  ignore_openssl_configuration();
  const int status = run();
  // Output that is lost to a full disk or a closed pipe must not look like success.
  if (std::fflush(stdout) != 0) {
    say("standard output: cannot write it");
    return exit_failed;
  }
  return status;
} catch (const std::exception& error) {
  return say_error(error);
}

int run_app(int argc, char** argv, const ExecutableInfo& executable) {
  int status = exit_done;
  // Before the first secret, which is in the arguments.
  if (executable.hides_memory && may_have_secrets(argc, argv, executable)) system::hide_memory();
  stash_key_hex(argc, argv);
  auto [app, arguments] = read_command(argc, argv, executable, status);
  if (arguments.help != nullptr) {
    print_line(stdout,
               help_text(*arguments.help, arguments.help == app.get() ? "" : executable.name));
    return exit_done;
  }
  if (arguments.version) {
    print_line(stdout, executable.name + " " + version());
    return exit_done;
  }
  std::reverse(arguments.words.begin(), arguments.words.end());  // as CLI11 expects them
  try {
    app->parse(std::move(arguments.words));
  } catch (const CLI::ParseError& error) {
    throw InvalidArgument(error.what());  // a value that does not fit
  }
  return status;
}

}  // namespace paraes::cli
