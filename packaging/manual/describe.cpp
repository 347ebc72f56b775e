// paraes_describe FILE: writes what --help of paraes and paraes-mpi prints to a file, as JSON. From
// it, packaging/manual/write.py makes the manual pages, the completions and the reference of the
// command line. It runs while paraes is built.

#include <CLI/CLI.hpp>
#include <cstdlib>
#include <exception>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <vector>

#include "bench/bench.hpp"
#include "cli/verbs/verbs.hpp"
#include "cli/words/help.hpp"
#include "mpi/executable.hpp"
#include "paraes/kernels.hpp"
#include "paraes/version.hpp"

namespace paraes {
namespace {

using Json = nlohmann::ordered_json;

Json flag(const CLI::Option& option) {
  std::vector<std::string> names;  // the short one first
  for (const std::string& name : option.get_snames()) names.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) names.push_back("--" + name);
  return {{"names", names},
          {"type", option.get_type_name()},
          {"text", option.get_description()},
          {"repeats", option.get_expected_max() == CLI::detail::expected_max_vector_size},
          {"value_is_optional",
           option.get_items_expected_min() == 0 && option.get_items_expected_max() > 0}};
}

// The flags of an executable without a verb, or of a verb: groups in the order of --help.
Json owner(const CLI::App& app) {
  Json groups = Json::array();
  for (const std::string& name : app.get_groups()) {
    Json flags = Json::array();
    for (const CLI::Option* option : app.get_options()) {
      if (option->get_group() == name && option->nonpositional()) flags.push_back(flag(*option));
    }
    if (!name.empty() && !flags.empty()) groups.push_back({{"name", name}, {"flags", flags}});
  }
  return {{"groups", groups}, {"footer", app.get_footer()}};
}

Json verb(const CLI::App& app) {
  Json arguments = Json::array();
  for (const CLI::Option* option : app.get_options()) {
    if (!option->get_positional()) continue;
    arguments.push_back({{"name", option->get_name(true)},
                         {"usage", cli::usage_of_argument(*option)},
                         {"text", option->get_description()}});
  }
  Json json = owner(app);
  json.update(
      {{"name", app.get_name()}, {"summary", app.get_description()}, {"arguments", arguments}});
  return json;
}

Json executable(const cli::ExecutableInfo& info) {
  int status = 0;
  const auto app = cli::make_app(info, status);
  Json verbs = Json::array();
  for (const CLI::App* one : app->get_subcommands({})) verbs.push_back(verb(*one));
  Json json = owner(*app);
  json.update(
      {{"name", info.name}, {"summary", info.summary}, {"footer", info.footer}, {"verbs", verbs}});
  return json;
}

Json description() {
  mpi::Flags flags;
  // Any functions: what they are there for decides which flags the verbs have.
  const mpi::Actions actions = {
      .crypt = [](const cli::CryptOptions&) { return 0; },
      .measure = [](const bench::Axes&, const bench::Options&) { return 0; },
  };
  std::vector<std::string> kernel_names;
  for (const auto& list : {kernels(), gpu_kernels()}) {
    for (const KernelInfo& kernel : list) kernel_names.emplace_back(kernel.name);
  }
  return {
      {"version", version()},
      // That complete the values of these flags.
      {"words", {{"--kernel", kernel_names}, {"--rivals", bench::axis_words("--rivals")}}},
      {"executables",
       {executable(cli::paraes_executable()), executable(mpi::mpi_executable(flags, actions))}}};
}

}  // namespace
}  // namespace paraes

int main(int argc, char** argv) {
  try {
    if (argc != 2) throw std::runtime_error("usage: paraes_describe FILE");
    // They decide which kernels run, but not which there are; wrong ones would be errors.
    unsetenv("PARAES_CPU_MASK");
    unsetenv("PARAES_KERNEL");
    std::ofstream file(argv[1], std::ios::binary);
    file << paraes::description().dump(1) << '\n';
    file.close();
    if (!file) throw std::runtime_error(std::string("cannot write ") + argv[1]);
    return 0;
  } catch (const std::exception& error) {
    std::cerr << "paraes_describe: " << error.what() << '\n';
    return 1;
  }
}
