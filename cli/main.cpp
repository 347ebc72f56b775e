#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "bench/file/copy_threads.hpp"
#include "cli/verbs/app.hpp"
#include "cli/verbs/verbs.hpp"
#include "cli/words/errors.hpp"
#include "cli/words/numbers.hpp"

namespace {

using namespace paraes::cli;

int run(int argc, char** argv) {
  // Before the flags are parsed: those after `lab` belong to paraes-lab.
  const auto is = [&](int i, std::string_view word) { return i < argc && argv[i] == word; };
  if (is(1, "lab")) return run_lab(argv + 2);
  if (argc == 3 && is(1, "help") && is(2, "lab")) {
    std::string help = "--help";
    std::array<char*, 2> arguments = {help.data(), nullptr};
    return run_lab(arguments.data());
  }
  if (argc == 5 && is(1, paraes::bench::copy_threads_word)) {
    constexpr std::uint64_t most = 1024;
    const auto threads = static_cast<unsigned>(parse_number(argv[2], "THREADS", 1, most));
    paraes::bench::copy_with_threads(threads, argv[3], argv[4]);
    return exit_done;
  }
  return run_app(argc, argv, paraes_executable());
}

}  // namespace

int main(int argc, char** argv) {
  return run_guarded([=] { return run(argc, argv); });
}
