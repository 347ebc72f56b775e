#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "bench/file/copy_threads.hpp"
#include "cli/app.hpp"
#include "cli/numbers.hpp"
#include "cli/report.hpp"
#include "cli/verbs.hpp"

namespace {

using namespace paraes::cli;

constexpr const char* footer = R"(
Examples:
  paraes encrypt backup.tar          asks for a passphrase
  paraes decrypt backup.tar.paes
  paraes keygen -o my.key
  paraes encrypt -k my.key -r photos
  paraes verify -k my.key -r photos
  tar c dir | paraes encrypt -k my.key > dir.tar.paes
  paraes devices

`paraes VERB --help` or `paraes help VERB` says more about each verb.

Exit status:
  0              done
  1              input/output, device or internal error
  2              usage or refusal, or nothing was found
  3              some of several files failed, or --salvage lost something
  4              the data is not intact
  5              wrong key, passphrase, identity or context, or a damaged header
  129, 130, 143  ended by SIGHUP, SIGINT or SIGTERM
  141            closed pipe)";

int run(int argc, char** argv) {
  const ExecutableInfo executable = {
      .name = "paraes",
      .summary = "Encrypts and decrypts with AES, as fast as this machine can.",
      .footer = footer,
      .verbs =
          {
              {"encrypt", [](CLI::App& app, int& status) { add_encrypt(app, status, {}); }},
              {"decrypt", [](CLI::App& app, int& status) { add_decrypt(app, status, {}); }},
              {"verify", [](CLI::App& app, int& status) { add_verify(app, status, {}); }},
              {"rekey", add_rekey},
              {"info", add_info},
              {"keygen", add_keygen},
              {"devices", add_devices},
              {"bench", [](CLI::App& app, int& status) { add_bench(app, status, {}); }},
              {"tune", add_tune},
              {"lab", [](CLI::App& app, int&) { add_lab(app); }},
          },
  };
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
  return run_app(argc, argv, executable);
}

}  // namespace

int main(int argc, char** argv) {
  return run_guarded([=] { return run(argc, argv); });
}
