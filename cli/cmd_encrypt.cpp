// encrypt and decrypt: the same options, one run in either direction.

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "commands.hpp"
#include "input.hpp"
#include "keys.hpp"
#include "output.hpp"
#include "paraes/error.hpp"
#include "paraes/formats.hpp"
#include "paraes/kernels.hpp"
#include "progress.hpp"
#include "report.hpp"
#include "sizes.hpp"

namespace paraes::cli {
namespace {

struct Options {
  std::vector<std::string> inputs;
  std::string format;
  std::string mode;
  std::string iv_hex;
  bool no_padding = false;
  std::string unit;
  std::string iterations;
  unsigned key_bits = 0;  // 0: not given
  KeyOptions keys;
  OutputOptions output;
  std::string device = "auto";
  std::string kernel;
  int threads = 0;
  bool quiet = false;
  bool verbose = false;
  bool json = false;
  bool progress = false;
  bool no_progress = false;

  CLI::Option* mode_option = nullptr;
  CLI::Option* iv_option = nullptr;
  CLI::Option* unit_option = nullptr;
  CLI::Option* iterations_option = nullptr;
  CLI::Option* key_bits_option = nullptr;
  CLI::Option* kernel_option = nullptr;
  CLI::Option* threads_option = nullptr;
  CLI::Option* output_option = nullptr;
  CLI::Option* format_option = nullptr;
};

enum class Format { raw, openssl };

// What is fixed before any file is opened.
struct Plan {
  Format format = Format::raw;
  BlockMode mode = BlockMode::ctr;
  std::vector<std::uint8_t> iv;
  std::size_t unit_bytes = 4096;
  std::uint64_t iterations = 10000;
  KernelInfo kernel;
  Execution execution;
};

const char* verb_name(Direction direction) {
  return direction == Direction::encrypt ? "encrypt" : "decrypt";
}

const char* mode_name(BlockMode mode) {
  switch (mode) {
    case BlockMode::ecb:
      return "ECB";
    case BlockMode::cbc:
      return "CBC";
    case BlockMode::ctr:
      return "CTR";
    case BlockMode::xts:
      return "XTS";
  }
  return "?";
}

BlockMode parse_mode(const Options& options, Format format) {
  const bool given = options.mode_option->count() != 0;
  if (format == Format::openssl) {
    if (!given || options.mode == "cbc") return BlockMode::cbc;
    if (options.mode == "ctr") return BlockMode::ctr;
    throw InvalidArgument(
        fmt::format("--format openssl has the modes cbc and ctr, not '{}'", options.mode));
  }
  if (!given) throw InvalidArgument("--format raw needs --mode ecb, cbc, ctr or xts");
  if (options.mode == "ecb") return BlockMode::ecb;
  if (options.mode == "cbc") return BlockMode::cbc;
  if (options.mode == "ctr") return BlockMode::ctr;
  if (options.mode == "xts") return BlockMode::xts;
  throw InvalidArgument(fmt::format(
      "--mode {}: there is no such mode; --format raw has ecb, cbc, ctr and xts", options.mode));
}

std::vector<std::uint8_t> parse_iv(const Options& options, BlockMode mode) {
  const bool given = options.iv_option->count() != 0;
  if (mode == BlockMode::ecb) {
    if (given) throw InvalidArgument("--mode ecb takes no --iv-hex");
    return {};
  }
  if (!given) {
    if (mode == BlockMode::xts) return {};
    throw InvalidArgument(
        fmt::format("--mode {} needs --iv-hex with 32 hex digits (16 bytes)", options.mode));
  }
  const std::string& text = options.iv_hex;
  if (text.find_first_not_of("0123456789abcdefABCDEF") != std::string::npos) {
    throw InvalidArgument("--iv-hex has a character that is not a hex digit");
  }
  if (text.size() != 2 * block_bytes) {
    throw InvalidArgument(
        fmt::format("--iv-hex has {} hex digits; it must have exactly 32 (16 bytes)", text.size()));
  }
  std::vector<std::uint8_t> iv;
  for (std::size_t i = 0; i < text.size(); i += 2) {
    iv.push_back(static_cast<std::uint8_t>(std::stoul(text.substr(i, 2), nullptr, 16)));
  }
  return iv;
}

std::uint64_t parse_iterations(const std::string& text) {
  constexpr std::uint64_t most = 0x7fffffff;
  const bool digits = !text.empty() && text.size() <= 10 &&
                      text.find_first_not_of("0123456789") == std::string::npos;
  const std::uint64_t value = digits ? std::stoull(text) : 0;
  if (value >= 1 && value <= most) return value;
  throw InvalidArgument(fmt::format("--iter: '{}' is not a whole number from 1 to {}", text, most));
}

void check_key_bits(const Options& options) {
  if (options.key_bits_option->count() == 0) return;
  if (options.key_bits == 128 || options.key_bits == 192 || options.key_bits == 256) return;
  throw InvalidArgument(fmt::format("--key-bits is 128, 192 or 256, not {}", options.key_bits));
}

void check_device(const std::string& device) {
  if (device == "auto" || device == "cpu") return;
  const std::string_view kind = std::string_view(device).substr(0, device.find(':'));
  if (kind == "cuda" || kind == "hip" || kind == "opencl") {
    throw Unavailable(fmt::format(
        "--device {}: this build has no such device; use cpu (`paraes devices` lists all)",
        device));
  }
  throw InvalidArgument(
      fmt::format("--device {}: there is no such device; use auto or cpu", device));
}

// Flags that mean nothing here are refused: whoever gave one expects something else to happen.
void refuse_flag(bool given, std::string_view flag, std::string_view where) {
  if (given) throw InvalidArgument(fmt::format("{} goes with {}", flag, where));
}

void make_raw_plan(const Options& options, Plan& plan) {
  plan.mode = parse_mode(options, Format::raw);
  plan.iv = parse_iv(options, plan.mode);
  const bool pads = plan.mode == BlockMode::ecb || plan.mode == BlockMode::cbc;
  refuse_flag(options.no_padding && !pads, "--nopad", "--mode ecb and cbc; others never pad");
  const bool unit_given = options.unit_option->count() != 0;
  refuse_flag(unit_given && plan.mode != BlockMode::xts, "--unit", "--mode xts");
  refuse_flag(options.iterations_option->count() != 0, "--iter", "--format openssl");
  if (unit_given) {
    constexpr std::uint64_t most = std::uint64_t{16} << 20;
    const std::uint64_t unit = parse_size(options.unit, "--unit");
    if (unit < block_bytes || unit > most) {
      throw InvalidArgument(
          fmt::format("--unit {}: a data unit has 16 bytes to 16 MiB", options.unit));
    }
    plan.unit_bytes = static_cast<std::size_t>(unit);
  }
  if (plan.mode == BlockMode::xts && options.key_bits == 192) {
    throw InvalidArgument(
        "there is no AES-192-XTS (SP 800-38E): use --key-bits 128 or 256, with a key of 32 or 64 "
        "bytes");
  }
}

void make_openssl_plan(const Options& options, Plan& plan) {
  constexpr const char* raw = "--format raw";
  plan.mode = parse_mode(options, Format::openssl);
  refuse_flag(options.iv_option->count() != 0, "--iv-hex",
              "--format raw; in openssl the IV comes from the passphrase");
  refuse_flag(options.no_padding, "--nopad", raw);
  refuse_flag(options.unit_option->count() != 0, "--unit", raw);
  if (options.iterations_option->count() != 0) {
    plan.iterations = parse_iterations(options.iterations);
  }
}

[[noreturn]] void refuse_no_format(const Options& options, Direction direction) {
  if (direction == Direction::decrypt && isatty(STDIN_FILENO) == 0) {
    // To name the format that the file seems to have, never to use it: whoever can replace a file
    // must not be able to choose an unauthenticated format.
    std::array<std::uint8_t, 8> start{};
    const Input input = open_input(options.inputs[0], options.inputs[0]);
    const std::size_t n = input.source->read(start);
    if (looks_salted(Bytes(start).first(n))) {
      throw InvalidArgument(
          "the input begins with \"Salted__\", as `openssl enc` writes it; that format is not "
          "authenticated, so it must be named: --format openssl");
    }
  }
  throw InvalidArgument(fmt::format("{} needs --format raw or --format openssl in this version",
                                    verb_name(direction)));
}

Plan make_plan(const Options& options, Direction direction) {
  if (options.inputs.empty()) {
    throw InvalidArgument(
        fmt::format("{} needs an input FILE, or - for standard input", verb_name(direction)));
  }
  if (options.inputs.size() > 1) {
    throw InvalidArgument(
        fmt::format("{} takes one input FILE in this version, not {}; run it once for each",
                    verb_name(direction), options.inputs.size()));
  }
  if (options.format_option->count() == 0) refuse_no_format(options, direction);
  refuse_flag(options.progress && options.no_progress, "--progress",
              "no --no-progress; give one of them");
  check_key_bits(options);
  Plan plan;
  const bool data_on_stdin = options.inputs[0] == "-";
  if (options.format == "raw") {
    plan.format = Format::raw;
    make_raw_plan(options, plan);
    check_key_source(options.keys, options.format, data_on_stdin);
  } else if (options.format == "openssl") {
    plan.format = Format::openssl;
    make_openssl_plan(options, plan);
    check_passphrase_source(options.keys, options.format, data_on_stdin);
  } else {
    throw InvalidArgument(fmt::format(
        "--format {}: this version has no such format; it has raw and openssl", options.format));
  }
  check_device(options.device);
  plan.execution = {.kernel = options.kernel, .threads = options.threads};
  // Here, so that a wrong name shows before a passphrase is asked for.
  plan.kernel = select_kernel(options.kernel);
  if (options.threads < 0 || options.threads > 4096) {
    throw InvalidArgument(fmt::format("--threads {}: a number from 0 (all cores) to 4096 is needed",
                                      options.threads));
  }
  return plan;
}

std::string why_kernel(const Options& options, const Plan& plan) {
  if (options.kernel == "auto") return "the fastest constant-time one here";
  if (options.kernel_option->count() != 0) return "named by --kernel";
  const char* environment = std::getenv("PARAES_KERNEL");
  if (environment == nullptr || *environment == '\0' ||
      std::string_view(environment) != plan.kernel.name) {
    return "the fastest constant-time one here";
  }
  return "named by PARAES_KERNEL";
}

// The notes that a run begins with.
void say_what_runs(const Options& options, const Plan& plan, Direction direction,
                   const Cipher& cipher, unsigned key_bits) {
  if (options.quiet) return;
  if (plan.kernel.timing == Timing::leaky && isatty(STDERR_FILENO) != 0) {
    say(
        fmt::format("warning: kernel {} leaks the key through the caches to whoever shares this "
                    "machine; it is for measurements",
                    plan.kernel.name));
  }
  if (plan.format == Format::openssl) {
    say("note: --format openssl is not authenticated: nothing notices a change to the data");
  }
  if (!options.verbose) return;
  const std::string variant =
      plan.kernel.variant.empty() ? "" : fmt::format(" ({})", plan.kernel.variant);
  say(fmt::format("{} AES-{} on cpu, kernel {}{}: {}; threads: {}", mode_name(plan.mode), key_bits,
                  cipher.kernel(), variant, why_kernel(options, plan), cipher.threads()));
  if (plan.mode == BlockMode::cbc && direction == Direction::encrypt &&
      options.threads_option->count() != 0 && cipher.threads() > 1) {
    say("CBC encryption is serial (each block needs the one before it): one thread works");
  }
}

std::unique_ptr<Stream> make_raw(const Options& options, const Plan& plan, Direction direction,
                                 unsigned& key_bits) {
  const bool xts = plan.mode == BlockMode::xts;
  const SecretBytes key = load_key(options.keys, xts, options.quiet);
  key_bits = static_cast<unsigned>(8 * key.size() / (xts ? 2 : 1));
  if (options.key_bits_option->count() != 0 && options.key_bits != key_bits) {
    throw InvalidArgument(fmt::format("--key-bits {} was asked for, but the key is for AES-{}",
                                      options.key_bits, key_bits));
  }
  RawOptions raw;
  raw.mode = plan.mode;
  raw.key = key.span();
  raw.iv = plan.iv;
  raw.padding = !options.no_padding;
  raw.unit_bytes = plan.unit_bytes;
  raw.execution = plan.execution;
  return raw_stream(direction, raw);
}

std::unique_ptr<Stream> make_salted(const Options& options, const Plan& plan, Direction direction,
                                    const SaltedHeader& header, unsigned& key_bits) {
  SaltedOptions salted;
  salted.mode = plan.mode;
  if (options.key_bits != 0) salted.key_bits = options.key_bits;
  key_bits = salted.key_bits;
  salted.iterations = plan.iterations;
  salted.execution = plan.execution;
  const bool data_on_stdin = options.inputs[0] == "-";
  const SecretBytes passphrase =
      load_passphrase(options.keys, direction == Direction::encrypt, data_on_stdin);
  return salted_stream(direction, header, passphrase.span(), salted);
}

SaltedHeader read_header(Source& source) {
  std::array<std::uint8_t, SaltedHeader::bytes> start{};
  const std::size_t n = source.read(start);
  return SaltedHeader::parse(Bytes(start).first(n));
}

Progress::Bar choose_bar(const Options& options) {
  if (options.progress) return Progress::Bar::always;
  const bool wanted = !options.no_progress && !options.quiet && isatty(STDERR_FILENO) != 0;
  return wanted ? Progress::Bar::when_slow : Progress::Bar::none;
}

void run(const Options& options, Direction direction, RunReport& report) {
  report.input = options.inputs.empty() ? "" : options.inputs[0];
  if (options.format_option->count() != 0) report.format = options.format;
  const Plan plan = make_plan(options, direction);
  report.device = "cpu";
  report.kernel = std::string(plan.kernel.name);

  const std::string& path = options.inputs[0];
  const Input input = open_input(path, path == "-" ? "standard input" : path);
  const Destination destination = choose_destination(direction, path, input, options.output);
  report.output = destination.path;

  // All that can be refused is refused before the output exists.
  const std::optional<std::uint64_t> total = input.source->remaining();
  unsigned key_bits = 0;
  std::unique_ptr<Stream> stream;
  std::optional<SaltedHeader> new_header;
  if (plan.format == Format::raw) {
    stream = make_raw(options, plan, direction, key_bits);
  } else if (direction == Direction::encrypt) {
    new_header = SaltedHeader::random();
    stream = make_salted(options, plan, direction, *new_header, key_bits);
  } else {
    stream = make_salted(options, plan, direction, read_header(*input.source), key_bits);
  }
  if (const auto left = input.source->remaining()) stream->check_length(*left);
  say_what_runs(options, plan, direction, stream->cipher(), key_bits);

  const auto sink = open_sink(destination, input);
  PumpResult result;
  double seconds = 0;
  {
    Progress progress(choose_bar(options), total);
    if (new_header) sink->write(new_header->encode());
    result = pump(*input.source, *stream, *sink,
                  [&progress](std::uint64_t bytes) { progress.update(bytes); });
    sink->commit();
    seconds = progress.seconds();
  }
  report.bytes = direction == Direction::encrypt ? result.bytes_in : result.bytes_out;
  report.seconds = seconds;
  if (options.verbose && !options.quiet) {
    say(fmt::format("{} -> {}: {} bytes in {:.3f} s, {}", path, destination.path, report.bytes,
                    seconds,
                    format_rate(static_cast<double>(report.bytes) / std::max(seconds, 1e-9))));
  }
}

int run_and_report(const Options& options, Direction direction) {
  Progress::listen();
  RunReport report;
  try {
    run(options, direction, report);
  } catch (const std::exception& error) {
    report.status = error.what();
    report.exit = say_error(error);
  }
  if (options.json && report.exit != exit_closed_pipe) {
    const bool data_there =
        report.output == "-" || (!report.output && options.output.standard_output);
    print_line(data_there ? stderr : stdout, to_json(report));
  }
  return report.exit;
}

void add_format_options(CLI::App& verb, Options& o) {
  const char* group = "Format";
  o.format_option = verb.add_option("--format", o.format, "Layout of the encrypted file; needed.")
                        ->type_name("raw|openssl")
                        ->group(group);
  o.mode_option = verb.add_option("--mode", o.mode, "Mode of AES; openssl has cbc (default), ctr.")
                      ->type_name("ecb|cbc|ctr|xts")
                      ->group(group);
  o.iv_option =
      verb.add_option("--iv-hex", o.iv_hex,
                      "raw: IV (cbc), counter block (ctr), first unit's number (xts); 16 bytes.")
          ->type_name("HEX")
          ->group(group);
  verb.add_flag("--nopad", o.no_padding, "raw ecb and cbc: no padding; whole blocks only.")
      ->group(group);
  o.unit_option = verb.add_option("--unit", o.unit, "raw xts: size of a data unit (default 4096).")
                      ->type_name("SIZE")
                      ->group(group);
  o.iterations_option =
      verb.add_option("--iter", o.iterations, "openssl: rounds of PBKDF2 (default 10000).")
          ->type_name("N")
          ->group(group);
  o.key_bits_option =
      verb.add_option("--key-bits", o.key_bits,
                      "Size of the AES key; openssl: default 256, raw: the key's own.")
          ->type_name("128|192|256")
          ->group(group);
}

void add_output_options(CLI::App& verb, Options& o, Direction direction) {
  const char* group = "Output";
  o.output_option =
      verb.add_option("-o,--output", o.output.path,
                      direction == Direction::encrypt
                          ? "Output file, - for standard output (default: FILE.paes)."
                          : "Output file, - for standard output (default: FILE less .paes).")
          ->type_name("FILE")
          ->group(group);
  verb.add_flag("-c,--stdout", o.output.standard_output, "Write to standard output.")->group(group);
  verb.add_flag("-f,--force", o.output.force, "Overwrite an existing output file.")->group(group);
  verb.add_flag("-q,--quiet", o.quiet, "Print errors only.")->group(group);
  verb.add_flag("-v,--verbose", o.verbose, "Say what ran and why.")->group(group);
  verb.add_flag("--json", o.json, "Print one JSON object for the file.")->group(group);
  verb.add_flag("--progress", o.progress, "Show the progress bar, even if not on a terminal.")
      ->group(group);
  verb.add_flag("--no-progress", o.no_progress, "Show no progress bar.")->group(group);
}

void add_execution_options(CLI::App& verb, Options& o) {
  const char* group = "Execution";
  verb.add_option("--device", o.device, "Where to compute (default: auto, which is the CPU).")
      ->type_name("auto|cpu")
      ->group(group);
  o.kernel_option =
      verb.add_option("--kernel", o.kernel,
                      "Implementation of AES, by a name from `paraes devices` (default: auto).")
          ->type_name("auto|NAME")
          ->group(group);
  o.threads_option =
      verb.add_option("-T,--threads", o.threads, "Number of threads; 0, the default, is all cores.")
          ->type_name("N")
          ->group(group);
}

constexpr const char* encrypt_footer = R"(
Sizes take K M G (binary), KiB MiB GiB, and decimal kB MB GB. Neither format notices changes to
the data. SIGUSR1 prints how far a run has come.

Examples:
  paraes encrypt --format openssl notes.txt         asks twice, writes notes.txt.paes
  tar c dir | paraes encrypt --format openssl --passphrase-file pw - > dir.tar.enc
  paraes encrypt --format raw --mode ctr --key-file my.key --iv-hex $IV big.bin)";

constexpr const char* decrypt_footer = R"(
Sizes take K M G (binary), KiB MiB GiB, and decimal kB MB GB. Neither format notices changes to
the data; a wrong key mostly shows as bad padding (exit 4). SIGUSR1 prints how far a run has come.

Examples:
  paraes decrypt --format openssl notes.txt.paes    asks, writes notes.txt
  paraes decrypt --format openssl --passphrase-file pw - < dir.tar.enc | tar x
  paraes decrypt --format raw --mode ctr --key-file my.key --iv-hex $IV big.bin.paes)";

void add_verb(CLI::App& app, int& status, Direction direction) {
  const bool encrypt = direction == Direction::encrypt;
  CLI::App* verb = app.add_subcommand(
      verb_name(direction), encrypt ? "Encrypts a file or a pipe." : "Decrypts a file or a pipe.");
  // Shared with the callback, which runs while the parser still lives.
  const auto options = std::make_shared<Options>();
  verb->add_option("FILE", options->inputs, "The input; - is standard input.")->type_name("");
  add_key_options(*verb, options->keys);
  add_format_options(*verb, *options);
  add_output_options(*verb, *options, direction);
  add_execution_options(*verb, *options);
  verb->footer(encrypt ? encrypt_footer : decrypt_footer);
  verb->callback([options, direction, &status] {
    options->output.path_given = options->output_option->count() != 0;
    status = run_and_report(*options, direction);
  });
}

}  // namespace

void add_encrypt(CLI::App& app, int& status) { add_verb(app, status, Direction::encrypt); }
void add_decrypt(CLI::App& app, int& status) { add_verb(app, status, Direction::decrypt); }

}  // namespace paraes::cli
