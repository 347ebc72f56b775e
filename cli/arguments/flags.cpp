#include "cli/arguments/crypt_options.hpp"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <utility>

#include "cli/arguments/arguments.hpp"
#include "cli/words/choices.hpp"
#include "cli/words/numbers.hpp"
#include "src/core/system/descriptors.hpp"

namespace paraes::cli {
namespace {

// Adds options to one group of the help.
class Group {
 public:
  Group(CLI::App& app, const char* name) : app_(app), name_(name) {}

  template <class T>
  CLI::Option* option(const char* flag, T& value, std::string type, const char* text) {
    return app_.add_option(flag, value, text)->type_name(std::move(type))->group(name_);
  }
  template <class T>
  void number(const char* flag, T& value, Range range, const char* text) {
    add_number(app_, flag, value, range, text)->group(name_);
  }
  void number_of(const char* flag, unsigned& value, std::vector<unsigned> choices,
                 const char* text) {
    add_number_of(app_, flag, value, std::move(choices), text)->group(name_);
  }
  CLI::Option* flag(const char* flag, bool& value, const char* text) {
    return app_.add_flag(flag, value, text)->group(name_);
  }

 private:
  CLI::App& app_;
  const char* name_;
};

void add_format_options(CLI::App& app, CryptOptions& o, Verb verb) {
  Group group(app, "Format");
  const bool encrypt = verb == Verb::encrypt;
  const bool pipes = encrypt || verb == Verb::decrypt;
  const bool rekey = verb == Verb::rekey;
  if (rekey) {
    group.number_of("--key-bits", o.key_bits, {128, 256},
                    "Size of the new AES key (default: the key's own; 256 with a passphrase or "
                    "recipients).");
    group.option("--context-hex", o.context_hex, "HEX",
                 "Context that the files were encrypted with; it stays.");
    group.number("--scrypt-log2n", o.scrypt_log2n, {1, 40},
                 "To a passphrase: scrypt's cost is 2^N (default 17: 128 MiB).");
    group.number("--max-scrypt-log2n", o.max_scrypt_log2n, {1, 40},
                 "From a passphrase: the highest cost to accept (default 22: 4 GiB).");
    return;
  }
  group.option("--format", o.format,
               pipes ? type_of(format_choices) : type_of(authenticated_choices),
               encrypt ? "Layout of the encrypted file (default: paraes)."
                       : "Layout of the encrypted file (default: paraes; others must be named).");
  if (verb != Verb::info) {
    group.number_of("--key-bits", o.key_bits,
                    pipes ? std::vector<unsigned>{128, 192, 256} : std::vector<unsigned>{128, 256},
                    "Size of the AES key (default: the key's own; 256 with a passphrase or "
                    "recipients).");
    group.option(
        "--context-hex", o.context_hex, "HEX",
        "Context (paraes, c2sp) or associated data (tink): decryption needs the same bytes.");
  } else {
    group.number_of("--key-bits", o.key_bits, {128, 256}, "c2sp, tink: size of the AES key.");
  }
  group.option("--segment-size", o.segment_size, "SIZE",
               "tink with a raw key: size of a segment (default 1MiB).");
  if (verb == Verb::info) return;
  group.option("--tink-hash", o.tink_hash, type_of(tink_hash_choices),
               "tink with a raw key: hash of HKDF (default SHA256).");
  if (encrypt) {
    group.number("--scrypt-log2n", o.scrypt_log2n, {1, 40},
                 "paraes with a passphrase: scrypt's cost is 2^N (default 17: 128 MiB).");
  } else {
    group.number("--max-scrypt-log2n", o.max_scrypt_log2n, {1, 40},
                 "paraes with a passphrase: the highest cost to accept (default 22: 4 GiB).");
  }
  if (!pipes) return;
  group.option("--mode", o.mode, type_of(mode_choices),
               "raw: mode of AES; openssl: cbc (default) or ctr.");
  group.option(
      "--iv-hex", o.iv_hex, "HEX",
      "raw: IV (cbc), first counter block (ctr), number of the first unit (xts); 16 bytes.");
  group.flag("--nopad", o.no_padding, "raw ecb and cbc: no padding; whole blocks only.");
  group.option("--unit", o.unit, "SIZE", "raw xts: size of a data unit (default 4096).");
  group.number("--iter", o.iterations, {1, 0x7fffffff},
               "openssl: iterations of PBKDF2 (default 10000).");
}

void add_output_options(CLI::App& app, CryptOptions& o, Verb verb) {
  Group group(app, "Output");
  const bool encrypt = verb == Verb::encrypt;
  if (encrypt || verb == Verb::decrypt) {
    group.option(
        "-o,--output", o.output.path, "FILE|FOLDER",
        encrypt
            ? "Output file, or the folder to put it in; - is standard output (default: FILE.paes)."
            : "Output file, or the folder to put it in; - is standard output (default: FILE "
              "without "
              ".paes).");
    group.flag("-c,--stdout", o.output.standard_output, "Write to standard output.");
    group.flag("-f,--force", o.output.force, "Overwrite an existing output file.");
    group.flag("--update", o.output.update,
               "Leave out inputs whose output exists and is not older; replace older outputs.");
    group.flag("--rm", o.remove, "Remove each FILE once its output is safely on the disk.");
  }
  if (verb == Verb::decrypt) {
    group.option("--offset", o.offset, "SIZE",
                 "paraes, c2sp, tink: start at this byte of the plaintext; needs -o or -c.");
    group.option("--length", o.length, "SIZE",
                 "paraes, c2sp, tink: decrypt this many bytes; needs -o or -c.");
    group.flag("--salvage", o.salvage,
               "Write zeros for damaged segments, list these, and exit with 3 if there are any.");
  }
  if (verb != Verb::info) {
    group.flag("-r,--recursive", o.recursive,
               encrypt ? "Process folders, with all files in them except *.paes."
                       : "Process folders, with all *.paes files in them.");
    group
        .option("--exclude", o.exclude, "GLOB",
                "Skip files and folders by name or, if GLOB has a /, by path; repeatable.")
        ->allow_extra_args(false);
    group.flag("-q,--quiet", o.quiet, "Print errors only.");
    group.flag("-v,--verbose", o.verbose, "Say what ran and why.");
  }
  group.flag("--json", o.json,
             verb == Verb::info
                 ? "Print one JSON object."
                 : "Print a JSON object a line: one for each input, and a summary of several.");
  if (verb == Verb::info) return;
  group.flag("--progress", o.progress,
             "Show the progress bar even if standard error is no terminal.");
  group.flag("--no-progress", o.no_progress, "Show no progress bar.");
}

void add_execution_options(CLI::App& app, CryptOptions& o) {
  Group group(app, "Execution");
  group.option(
      "--device", o.device, "auto|cpu|cuda|hip|opencl",
      "Where to compute (default: auto, the CPU unless a profile of `paraes tune` says "
      "that a GPU is "
      "faster). cuda:0 is one GPU, cuda:0+1 joins two, and cpu+cuda:0 has the CPU help; see "
      "`paraes devices`.");
  group.option("--kernel", o.kernel, "auto|NAME",
               "Implementation of AES, by a name from `paraes devices` (default: auto).");
  group.flag(
      "--allow-leaky", o.allow_leaky,
      "Let --kernel auto choose table kernels on a GPU: they leak the key to its other users.");
  group.option("--transfer", o.transfer, type_of(transfer_choices),
               "Copy data to the GPU and back (default), or let the GPU access host memory.");
  group.option("--key-expansion", o.key_expansion, type_of(key_expansion_choices),
               "Where keys for a GPU are expanded (default: host).");
  group.number("-T,--threads", o.threads, {0, 4096},
               "Threads that compute; 0, the default, is one for each core. "
               "A few more may wait for input and output.");
  group.flag("--no-overlap", o.no_overlap,
             "Read, compute and write one after another, for measurements.");
}

void add_rekey_options(CLI::App& app, CryptOptions& o) {
  add_key_options(app, o.to, KeyRole::rekey_to);
  Group group(app, "New keys");
  group.flag("--new-key", o.new_key,
             "From recipients to recipients: encrypt the data again, with a new key.");
  group.flag("--verify", o.verify_segments,
             "From recipients to recipients: authenticate the data, too.");
}

}  // namespace

const char* verb_name(Verb verb) {
  switch (verb) {
    case Verb::encrypt:
      return "encrypt";
    case Verb::decrypt:
      return "decrypt";
    case Verb::verify:
      return "verify";
    case Verb::rekey:
      return "rekey";
    case Verb::info:
      break;
  }
  return "info";
}

bool CryptOptions::reads_standard_input(bool links) const {
  if (data_on_stdin()) return true;
  return std::any_of(inputs.begin(), inputs.end(), [&](const std::string& input) {
    const auto number = links ? system::descriptor_named(input) : system::descriptor_in(input);
    if (!number || *number == STDIN_FILENO) return number.has_value();
    struct stat status = {};
    struct stat own = {};
    return fstat(*number, &status) == 0 && fstat(STDIN_FILENO, &own) == 0 &&
           FileId(status) == FileId(own);
  });
}

bool CryptOptions::given(const char* flag) const { return is_given(*verb_app, flag); }

void default_to_standard_input(CryptOptions& options, bool is_terminal) {
  const bool needs_file =
      options.recursive || options.remove || !secret_on_stdin(options.keys).empty();
  if (options.inputs.empty() && !needs_file && !is_terminal) options.inputs = {"-"};
}

std::string why_no_input(const CryptOptions& options, Verb verb) {
  const std::string name = verb_name(verb);
  if (verb == Verb::rekey) return "rekey replaces files, so it needs a FILE, or a folder with -r";
  if (options.recursive) {
    return fmt::format("-r needs a folder or FILE: without one, {} reads standard input", name);
  }
  if (options.remove) {
    return fmt::format("--rm needs a FILE to remove: without one, {} reads standard input", name);
  }
  if (const std::string flag = secret_on_stdin(options.keys); !flag.empty()) {
    return fmt::format("{} needs an input FILE: {} reads standard input", name, flag);
  }
  return fmt::format("{} needs an input FILE, or - for standard input", name);
}

void add_crypt_options(CLI::App& app, CryptOptions& options, Verb verb) {
  options.verb_app = &app;
  const bool one = verb == Verb::info;
  CLI::Option* const files =
      app.add_option(
             "FILE",
             [&app, &options](const CLI::results_t&) {
               // As they were given: CLI11 converts names such as {} on their way to a vector.
               options.inputs = app.get_option("FILE")->results();
               return true;
             },
             one                   ? "The encrypted file; -, or no FILE, is standard input."
             : verb == Verb::rekey ? "The encrypted files, which are replaced."
                                   : "The inputs; -, or no FILE, is standard input.")
          ->type_name("")
          ->expected(1, one ? 1 : CLI::detail::expected_max_vector_size);
  // Not required(): the error for a missing FILE is why_no_input's.
  if (verb == Verb::rekey) files->option_text("FILE...");
  add_key_options(app, options.keys,
                  one                     ? KeyRole::look
                  : verb == Verb::encrypt ? KeyRole::seal
                                          : KeyRole::open);
  if (verb == Verb::rekey) add_rekey_options(app, options);
  add_format_options(app, options, verb);
  add_output_options(app, options, verb);
  if (verb != Verb::info) add_execution_options(app, options);
}

}  // namespace paraes::cli
