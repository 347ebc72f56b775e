#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "bench/bench.hpp"
#include "cli/arguments/number_flags.hpp"
#include "cli/terminal/messages.hpp"
#include "cli/terminal/status_line.hpp"
#include "cli/verbs/verbs.hpp"
#include "cli/words/numbers.hpp"
#include "cli/words/sizes.hpp"
#include "paraes/error.hpp"
#include "src/core/system/process.hpp"

namespace paraes::cli {
namespace {

struct Flags {
  bench::AxisTexts axes;
  bench::Options options;
  bool no_overlap = false;
};

constexpr const char* description = R"(
Samples of all rows of one size are interleaved at random. Every row is verified against OpenSSL
after it is timed; a wrong one makes the exit status 1. Rows that cannot run are listed with the
reason.
)";
constexpr const char* bench_examples = R"(
Examples:
  paraes bench --quick
  paraes bench --openssl-speed --mode gcm,ctr
  paraes bench --mode ctr,gcm --size 1KiB,...,64MiB --json report.json
  paraes bench --mode ctr --size 1MiB --rivals openssl-evp,ipsec-mb,memcpy
  paraes bench --mode ctr --size 1GiB --threads 1,0 --in-place no,yes
  paraes bench --mode gcm --size 64KiB --message 64,1KiB --keys one,each
  paraes bench --device cpu,cuda:0 --scope memory,transfer --mode ctr
  paraes bench --scope file --format raw --mode ctr --rivals openssl-enc,cp
  paraes bench --scope file --device cpu,cuda:0 --size 64MiB,1GiB -T 0)";

void check_machine(const std::string& name) {
  constexpr std::size_t most = 64;
  if (!name.empty() && name.size() <= most && printable(name) == name) return;
  throw InvalidArgument("--machine: a name has 1 to 64 bytes of printable text");
}

int bench_verb(Flags flags, const CLI::App& verb, const BenchOverrides& overrides) {
  bench::Options& options = flags.options;
  // A bare --in-place means yes.
  if (verb.count("--in-place") > 0 && flags.axes.in_place.empty()) flags.axes.in_place = "yes";
  if (verb.count("--machine") > 0) check_machine(options.machine);
  options.overlap = !flags.no_overlap;
  options.program = system::executable_path();
  StatusLine line(STDERR_FILENO);
  if (isatty(STDERR_FILENO) != 0) {
    options.progress = [&line](const std::string& text) {
      if (text.empty()) {
        line.remove();
      } else if (line.is_due()) {
        line.draw(text);
      }
    };
  }
  return bench::run(std::move(flags.axes), std::move(options), {parse_size, parse_number},
                    overrides.run);
}

struct AxisFlag {
  const char* name;
  std::string bench::AxisTexts::*text;
  const char* type;  // null: the words that the axis takes
  const char* help;
  bool on_ranks = true;
  std::vector<std::string> bench::AxisTexts::*texts = nullptr;  // of a flag given several times
};

constexpr AxisFlag axis_flags[] = {
    {"--device", &bench::AxisTexts::device, "cpu,cuda:N,...",
     "Where to compute: cpu (default) and GPUs, named as for encrypt."},
    {"--kernel", &bench::AxisTexts::kernel, "auto,NAME,...",
     "Implementations of AES (default: auto)."},
    {"--mode", &bench::AxisTexts::mode, nullptr, "Modes (default: all that the scope has)."},
    {"--key-bits", &bench::AxisTexts::key_bits, nullptr, "Sizes of the AES key (default: 128)."},
    {"--direction", &bench::AxisTexts::direction, nullptr, "Directions (default: both)."},
    {"-T,--threads", &bench::AxisTexts::threads, "N,...",
     "Numbers of CPU threads; 0 is all cores (default: 1)."},
    {"--executor", &bench::AxisTexts::executor, nullptr,
     "memory scope: use threads of the library (default) or of OpenMP."},
    {"--size", &bench::AxisTexts::size, "SIZE,...",
     "Sizes of the message; 1KiB,...,1GiB is a series (default: 16KiB,1MiB; transfer: 1MiB,64MiB; "
     "file: 64MiB)."},
    // Ranks share one message.
    {"--message", &bench::AxisTexts::message, "SIZE,...",
     "memory scope, GCM on the CPU: cut the size into many messages of so many bytes, computed "
     "in one call (default: whole, which is one).",
     false},
    {"--keys", &bench::AxisTexts::keys, nullptr,
     "With --message: one key for all messages (default); each its own, expanded before; or once: "
     "each its own, expanded in the call.",
     false},
    {"--scope", &bench::AxisTexts::scope, nullptr,
     "What is timed: the kernel, with copies to and from a GPU, or from file to file (default: "
     "memory)."},
    {"--in-place", &bench::AxisTexts::in_place, nullptr,
     "Output over the input (default: no; bare: yes)."},
    {"--format", &bench::AxisTexts::format, nullptr,
     "Formats of the file scope (default: paraes)."},
    {"--key-expansion", &bench::AxisTexts::key_expansion, nullptr,
     "Where keys for GPUs are expanded (default: host)."},
    {"--group-threads", &bench::AxisTexts::group_threads, "N,...",
     "memory and transfer scope: threads of a group (block) of the GPU's kernels, multiples of 32 "
     "up to 1024 (default: the kernel's choice)."},
    {"--gpu-tuning", nullptr, "NAME=N,...",
     "memory and transfer scope: how a GPU works: streams=N, launch=SIZE, tables=N "
     "(ttable), groups=N (in a multiprocessor), ghash=tensor or ghash=scalar (without "
     "tensor cores). May be given several times (default: paraes's own choice).",
     true, &bench::AxisTexts::gpu_tunings},
    {"--transfer", &bench::AxisTexts::transfer, nullptr,
     "How data gets to a GPU; locked: staged, with texts in page-locked memory, which needs no "
     "staging (transfer scope; default: staged)."},
    {"--rivals", &bench::AxisTexts::rivals, "NAME,...",
     "openssl-evp (default), openssl-evp@FILE (another libcrypto), ipsec-mb, gcrypt, paraes-c (the "
     "C API), memcpy, stream-copy, ports-KERNEL and ports-gcm-KERNEL (KERNEL: aesni, vaes256, "
     "vaes512 or armv8); transfer: pinned-copy (default); files: openssl-enc (default), age, cp, "
     "copy-threads; none."},
    // Rivals do not run on ranks.
    {"--rival", nullptr, "NAME=FILE",
     "memory scope: AES of a shared library of yours as a rival NAME, on the CPU "
     "(rival_ecb) or on GPUs (rival_device_open and others). May be given several "
     "times. docs/benchmarking.md has examples.",
     false, &bench::AxisTexts::own_rivals},
};

void add_axes(CLI::App& verb, bench::AxisTexts& axes, bool on_ranks) {
  verb.option_defaults()->group(bench_axes_group);
  for (const AxisFlag& flag : axis_flags) {
    if (on_ranks && !flag.on_ranks) continue;
    CLI::Option* const option =
        flag.texts == nullptr
            ? verb.add_option(flag.name, axes.*flag.text, flag.help)
            : verb.add_option(flag.name, axes.*flag.texts, flag.help)->allow_extra_args(false);
    option->type_name(flag.type != nullptr
                          ? flag.type
                          : fmt::format("{}", fmt::join(bench::axis_words(flag.name), ",")));
  }
  verb.get_option("--in-place")->expected(0, 1);
}

}  // namespace

void add_bench(CLI::App& app, int& status, const BenchOverrides& overrides) {
  CLI::App* verb =
      app.add_subcommand("bench", "Measures kernels, and other implementations beside them.");
  auto flags = std::make_shared<Flags>();
  bench::Options& options = flags->options;
  const auto option = [&](const char* name, std::string& text, const char* type, const char* help) {
    verb->add_option(name, text, help)->type_name(type);
  };
  add_axes(*verb, flags->axes, static_cast<bool>(overrides.run));

  verb->option_defaults()->group("Sampling");
  add_number(*verb, "--samples", options.samples, {1, 100000},
             "Minimum number of samples per row (default: 31).");
  add_decimal(*verb, "--min-time", options.min_seconds, 0, 86400,
              "Minimum seconds of timed work per row; measuring a GPU's energy takes 2.")
      ->type_name("S");
  add_number(*verb, "--warmup", options.warmup, {0, 100000},
             "Untimed calls per row (default: 1; 0 where a call takes 0.1 s or more).");
  add_number(*verb, "--seed", options.seed, {},
             "Seed for the order of the samples (default: random).");
  option("--unit", flags->axes.unit, "SIZE",
         "Size of an XTS data unit; 0 is the whole message (default: 4KiB).");
  verb->add_flag("--no-overlap", flags->no_overlap,
                 "Run the phases (read, compute, write) one after another.");
  option("--dir", options.folder, "DIR",
         "Folder for the files (default: $TMPDIR, else /dev/shm, else /tmp).");

  verb->option_defaults()->group("Output");
  verb->add_flag("--quick", options.quick, "A short run: every kernel in CTR and GCM, with 1 MiB.");
  // Ranks are several processes.
  if (!overrides.run) {
    verb->add_flag("--openssl-speed", options.openssl_speed,
                   "Print the table in the form of openssl speed, to quote it: one thread of the "
                   "CPU, in place, messages of 16,64,256,1024,8192,16384 bytes, GCM encryption.");
  }
  verb->add_flag("--list", options.list, "Print the rows without running them.");
  option("--json", options.json, "FILE", "Write the report; - is standard output.");
  option("--machine", options.machine, "NAME",
         "Name of this machine in the report, up to 64 bytes.");

  if (overrides.add_options) overrides.add_options(*verb);
  verb->footer(description + (overrides.examples.empty() ? bench_examples : overrides.examples));
  verb->callback(
      [flags, verb, &status, overrides] { status = bench_verb(*flags, *verb, overrides); });
}

}  // namespace paraes::cli
