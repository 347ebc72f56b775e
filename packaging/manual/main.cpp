// paraes_manual SOURCE OUTPUT DATE: writes the manual pages, the completions and the reference of
// the command line into folders of OUTPUT. SOURCE is this folder. The pages have the day of
// SOURCE_DATE_EPOCH, if that is set, else DATE. It runs while paraes is built.

#include <array>
#include <charconv>
#include <cstdlib>
#include <ctime>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "cli/verbs/verbs.hpp"
#include "mpi/executable.hpp"
#include "packaging/manual/completions.hpp"
#include "packaging/manual/description.hpp"
#include "packaging/manual/man_pages.hpp"
#include "packaging/manual/reference.hpp"

namespace paraes::manual {
namespace {

namespace fs = std::filesystem;

std::string read_text(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw std::runtime_error("cannot open " + path.string());
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

void write_text(const fs::path& path, const std::string& text) {
  fs::create_directories(path.parent_path());
  std::ofstream file(path, std::ios::binary);
  file << text;
  file.close();
  if (!file) throw std::runtime_error("cannot write " + path.string());
}

std::string date_of(std::string_view epoch) {
  std::time_t seconds = 0;
  const auto [end, error] = std::from_chars(epoch.data(), epoch.data() + epoch.size(), seconds);
  std::tm day = {};
  std::array<char, 16> text{};
  if (error != std::errc() || end != epoch.data() + epoch.size() ||
      gmtime_r(&seconds, &day) == nullptr ||
      std::strftime(text.data(), text.size(), "%Y-%m-%d", &day) == 0) {
    throw std::runtime_error("SOURCE_DATE_EPOCH is no number of seconds");
  }
  return text.data();
}

void write_completions(const fs::path& output, const Executable& executable, const Nested& nested,
                       const std::string& engine) {
  write_text(output / "bash" / executable.name, bash_completion(executable, nested, engine));
  write_text(output / "zsh" / ("_" + executable.name), zsh_completion(executable, nested));
  write_text(output / "fish" / (executable.name + ".fish"), fish_completion(executable, nested));
}

void write_page(const fs::path& output, const Page& page) {
  write_text(output / "man" / page.name, page.text);
}

void write_all(const fs::path& source, const fs::path& output, const std::string& date) {
  mpi::Flags flags;
  // Any functions: what they are there for decides which flags the verbs have.
  const mpi::Actions actions = {
      .crypt = [](const cli::CryptOptions&) { return 0; },
      .measure = [](const bench::Axes&, const bench::Options&) { return 0; },
  };
  const Executable paraes = describe(cli::paraes_executable());
  const Executable mpi = describe(mpi::mpi_executable(flags, actions));
  const Executable lab = read_description(read_text(source / "lab.json"));

  write_page(output, overview_page(paraes, date));
  for (const Verb& verb : paraes.verbs) {
    // The page of lab is that of paraes-lab.
    if (has_page(verb) && verb.name != "lab") write_page(output, verb_page(paraes, verb, date));
  }
  write_page(output, difference_page(mpi, paraes, date));
  write_page(output, whole_page(lab, date));

  const std::string engine = read_text(source / "engine.bash");
  write_completions(output, paraes, {.verb = "lab", .executable = &lab}, engine);
  write_completions(output, mpi, {}, engine);
  write_completions(output, lab, {}, engine);
  write_text(output / "reference.md", reference({&paraes, &mpi, &lab}));
}

}  // namespace
}  // namespace paraes::manual

int main(int argc, char** argv) {
  try {
    if (argc != 4) throw std::runtime_error("usage: paraes_manual SOURCE OUTPUT DATE");
    // They decide which kernels run, but not which there are; wrong ones would be errors.
    unsetenv("PARAES_CPU_MASK");
    unsetenv("PARAES_KERNEL");
    const char* const epoch = std::getenv("SOURCE_DATE_EPOCH");
    paraes::manual::write_all(
        argv[1], argv[2],
        epoch != nullptr && *epoch != '\0' ? paraes::manual::date_of(epoch) : argv[3]);
    return 0;
  } catch (const std::exception& error) {
    std::cerr << "paraes_manual: " << error.what() << '\n';
    return 1;
  }
}
