#include "cli/arguments/flags.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <array>
#include <limits>
#include <string_view>
#include <utility>

#include "cli/arguments/flag_table.hpp"
#include "cli/words/choices.hpp"
#include "paraes/error.hpp"
#include "paraes/streams.hpp"

namespace paraes::cli {
namespace {

using namespace flag_table;

// The verbs that have a flag, one bit each; and one for the flags of rekey that begin with --to-.
constexpr Verbs bit(Verb verb) { return 1U << static_cast<unsigned>(verb); }
constexpr Verbs encrypt = bit(Verb::encrypt);
constexpr Verbs decrypt = bit(Verb::decrypt);
constexpr Verbs verify = bit(Verb::verify);
constexpr Verbs rekey = bit(Verb::rekey);
constexpr Verbs info = bit(Verb::info);
constexpr Verbs rekey_to = info << 1;
constexpr Verbs pipes = encrypt | decrypt;
constexpr Verbs all_but_info = pipes | verify | rekey;

// ---- What the rules ask

using O = CryptOptions;
using S = SecretSources;
using Facts = FlagFacts;

bool is_raw(const O&, const Facts& facts) { return facts.format == Format::raw; }
bool is_openssl(const O&, const Facts& facts) { return facts.format == Format::openssl; }
bool is_paraes(const O&, const Facts& facts) { return facts.format == Format::paraes; }
bool is_tink(const O&, const Facts& facts) { return facts.format == Format::tink; }
bool has_mode(const O& options, const Facts& facts) {
  return !is_authenticated(facts.format) || !options.mode;
}
bool authenticated(const O&, const Facts& facts) { return is_authenticated(facts.format); }
bool is_xts(const O& options, const Facts& facts) {
  return is_raw(options, facts) && facts.mode == BlockMode::xts;
}
bool may_use_gpu(const O& options, const Facts&) {
  return options.device && *options.device != "cpu";
}
bool wants_part(const O& options) { return options.offset || options.length; }
bool has_output_for_part(const O& options, const Facts& facts) {
  return options.output || options.standard_output || facts.data_on_stdin;
}
bool names_no_descriptor(const O&, const Facts& facts) { return facts.descriptor.empty(); }
bool has_files(const O&, const Facts& facts) {
  return !facts.data_on_stdin && !facts.data_on_stdout;
}
bool decrypts_all(const O& options, const Facts&) {
  return options.verb != Verb::decrypt || !(options.salvage || wants_part(options));
}

bool has_key_of_file(const S& keys, const Facts&) { return keys.key_file || keys.key_command; }
bool names_mode_of_raw(const O& options, const Facts& facts) {
  return facts.format != Format::raw || (bit(options.verb) & pipes) == 0 ||
         options.mode.has_value();
}
bool can_be_verified(const O& options, const Facts& facts) {
  return options.verb != Verb::verify || is_authenticated(facts.format);
}
bool has_header(const O& options, const Facts& facts) {
  return options.verb != Verb::info || is_authenticated(facts.format);
}
bool has_keys_of_size(const O& options, const Facts& facts) {
  return options.key_bits != 192U || !is_authenticated(facts.format);
}
bool is_not_xts_192(const O& options, const Facts& facts) {
  return options.key_bits != 192U || !is_xts(options, facts);
}
bool header_lacks_key_bits(const O& options, const Facts& facts) {
  return options.verb != Verb::info || facts.format != Format::paraes;
}
bool to_no_key(const O&, const Facts& facts) { return facts.new_keys != SecretKind::key; }
bool to_no_recipients(const O&, const Facts& facts) {
  return facts.new_keys != SecretKind::recipients;
}
bool from_no_key(const O&, const Facts& facts) { return facts.keys != SecretKind::key; }
bool from_no_recipients(const O&, const Facts& facts) {
  return facts.keys != SecretKind::recipients;
}
bool openssl_has_mode(const O& options, const Facts& facts) {
  return facts.format != Format::openssl || !options.mode || *options.mode == BlockMode::cbc ||
         *options.mode == BlockMode::ctr;
}
bool has_iv(const O& options, const Facts& facts) {
  const bool needs_iv = facts.mode == BlockMode::cbc || facts.mode == BlockMode::ctr;
  return facts.format != Format::raw || !needs_iv || options.iv.has_value();
}
bool is_not_openssl(const O&, const Facts& facts) { return facts.format != Format::openssl; }
bool is_not_ecb(const O&, const Facts& facts) { return facts.mode != BlockMode::ecb; }
bool pads(const O&, const Facts& facts) {
  return facts.mode == BlockMode::ecb || facts.mode == BlockMode::cbc;
}
bool has_unit_in_range(const O& options, const Facts&) {
  return *options.unit >= block_bytes && *options.unit <= max_xts_unit_bytes;
}
bool names_output(const O& options, const Facts&) { return !options.output->empty(); }
bool wants_all(const O& options, const Facts&) { return !wants_part(options); }
bool may_show_progress(const O& options, const Facts&) { return !options.no_progress; }
bool names_device(const O& options, const Facts&) { return !options.device->empty(); }

constexpr const char* with_raw = "{flag} goes with --format raw";
constexpr const char* with_tink = "{flag} goes with --format tink";
constexpr const char* with_paraes = "{flag} goes with --format paraes";
constexpr const char* with_openssl = "{flag} goes with --format openssl";
constexpr const char* with_authenticated =
    "{flag} goes with the authenticated formats paraes, c2sp and tink";
constexpr const char* with_gpu = "{flag} goes with --device cuda, hip or opencl";
constexpr const char* without_key = "{flag} goes with passphrases, not with a key";
constexpr const char* without_recipients = "{flag} goes with passphrases, not with recipients";

constexpr std::array all_key_bits = {128U, 192U, 256U};
constexpr std::array sealing_key_bits = {128U, 256U};

// ---- The tables

constexpr Value<S> identities = list<&S::identities, "FILE">();

// The flags of keys. Those that say what rekey gives its files to begin with --to-.
constexpr Flag<S> key_flags[] = {
    row<S>(
        "-k,--key-file", nullptr,
        use(pipes, text<&S::key_file, "FILE">(),
            "Key of 16 or 32 bytes (raw: also 24, XTS 64), or a Tink keyset; - is standard input."),
        use(verify, text<&S::key_file, "FILE">(),
            "Key of 16 or 32 bytes, or a Tink keyset; - is standard input."),
        use(rekey | rekey_to, text<&S::key_file, "FILE">(),
            "Key of 16 or 32 bytes; - is standard input.")),
    row<S>("--key-encoding", nullptr,
           use(all_but_info | rekey_to, choice<&S::key_encoding, key_encoding_choices>(),
               "How to read the key file, if its size is ambiguous."),
           rule<S>(has_key_of_file, "{flag} goes with --{to}key-file")),
    row<S>(
        "--key-hex", nullptr,
        use(all_but_info | rekey_to,
            Value<S>{type_named<"HEX">,
                     [](S& keys, const std::string&, const std::string&) { keys.key_hex = true; },
                     is_given<&S::key_hex>},
            "Key in hex; only for tests: the process list shows it.")),
    row<S>("--key-command", nullptr,
           use(all_but_info | rekey_to, text<&S::key_command, "CMD">(),
               "Key that a shell command prints, like a file's.")),
    row<S>("--passphrase", nullptr,
           use(rekey_to, on<&S::ask>(), "Ask for a passphrase on the terminal.")),
    row<S>("--passphrase-file", nullptr,
           use(pipes, text<&S::passphrase_file, "FILE">(),
               "Passphrase from a file, without one final newline (openssl: its first line)."),
           use(verify | rekey | rekey_to, text<&S::passphrase_file, "FILE">(),
               "Passphrase from a file, without one final newline.")),
    row<S>("--passphrase-fd", nullptr,
           use(all_but_info | rekey_to,
               number<&S::passphrase_fd, 0, std::numeric_limits<int>::max()>(),
               "Passphrase from an open file descriptor, like that of a file.")),
    row<S>("--passphrase-env", nullptr,
           use(all_but_info | rekey_to, text<&S::passphrase_env, "VAR">(),
               "Passphrase from an environment variable.")),
    row<S>("--passphrase-command", nullptr,
           use(all_but_info | rekey_to, text<&S::passphrase_command, "CMD">(),
               "Passphrase that a shell command prints, like a file's.")),
    row<S>(
        "--recipient", nullptr,
        use(encrypt | rekey_to, list<&S::recipients, "KEY">(),
            "Public key that can decrypt: age1..., ssh-ed25519 AAAA...; repeatable. Needs age.")),
    row<S>("--recipients-file", nullptr,
           use(encrypt | rekey_to, list<&S::recipients_files, "FILE">(),
               "Recipients from a file, one a line; repeatable.")),
    row<S>(
        "-i,--identity", nullptr,
        use(decrypt | verify | rekey, identities,
            "Identity (private key) of age or SSH, for what was encrypted to recipients; "
            "repeatable. "
            "Needs age."),
        use(info, identities, "Say whether this identity opens the file; repeatable. Needs age."))};

constexpr Flag<O> flags[] = {
    row<O>("--new-key", "New keys",
           use(rekey, on<&O::new_key>(),
               "From recipients to recipients: encrypt the data again, with a new key.")),
    row<O>("--verify", "New keys",
           use(rekey, on<&O::verify_segments>(),
               "From recipients to recipients: authenticate the data, too.")),
    row<O>("--format", "Format",
           use(encrypt, choice<&O::format, format_choices>(),
               "Layout of the encrypted file (default: paraes)."),
           use(decrypt, choice<&O::format, format_choices>(),
               "Layout of the encrypted file (default: paraes; others must be named)."),
           use(verify | info, choice<&O::format, format_choices, authenticated_choices>(),
               "Layout of the encrypted file (default: paraes; others must be named)."),
           rule<O>(names_mode_of_raw, "{flag} raw needs --mode ecb, cbc, ctr or xts"),
           rule<O>(can_be_verified,
                   "{flag} {format} is not authenticated: there is nothing to verify"),
           rule<O>(has_header, "{flag} {format} has no header to show")),
    row<O>(
        "--key-bits", "Format",
        use(pipes, number_of<&O::key_bits, all_key_bits>(),
            "Size of the AES key (default: the key's own; 256 with a passphrase or recipients)."),
        use(verify, number_of<&O::key_bits, sealing_key_bits>(),
            "Size of the AES key (default: the key's own; 256 with a passphrase or recipients)."),
        use(info, number_of<&O::key_bits, sealing_key_bits>(), "c2sp, tink: size of the AES key."),
        use(rekey, number_of<&O::key_bits, sealing_key_bits>(),
            "Size of the new AES key (default: the key's own; 256 with a passphrase or "
            "recipients)."),
        rule<O>(has_keys_of_size, "--format {format} has keys of 128 and 256 bits, not 192"),
        rule<O>(
            is_not_xts_192,
            "there is no AES-192-XTS (SP 800-38E): use --key-bits 128 or 256, with a key of 32 or "
            "64 "
            "bytes"),
        rule<O>(header_lacks_key_bits,
                "{flag} goes with --format c2sp and tink; a paraes header holds the size")),
    row<O>(
        "--context-hex", "Format",
        use(pipes | verify, hex<&O::context>(),
            "Context (paraes, c2sp) or associated data (tink): decryption needs the same bytes."),
        use(rekey, hex<&O::context>(), "Context that the files were encrypted with; it stays."),
        rule<O>(authenticated, with_authenticated)),
    row<O>("--segment-size", "Format",
           use(pipes | verify | info, size<&O::segment_bytes>(),
               "tink with a raw key: size of a segment (default 1MiB)."),
           rule<O>(is_tink, with_tink)),
    row<O>("--tink-hash", "Format",
           use(pipes | verify, choice<&O::tink_hash, tink_hash_choices>(),
               "tink with a raw key: hash of HKDF (default SHA256)."),
           rule<O>(is_tink, with_tink)),
    row<O>("--scrypt-log2n", "Format",
           use(encrypt, number<&O::scrypt_log2n, 1, 40>(),
               "paraes with a passphrase: scrypt's cost is 2^N (default 17: 128 MiB)."),
           use(rekey, number<&O::scrypt_log2n, 1, 40>(),
               "To a passphrase: scrypt's cost is 2^N (default 17: 128 MiB)."),
           rule<O>(is_paraes, with_paraes), rule<O>(to_no_key, without_key),
           rule<O>(to_no_recipients, without_recipients)),
    row<O>("--max-scrypt-log2n", "Format",
           use(decrypt | verify, number<&O::max_scrypt_log2n, 1, 40>(),
               "paraes with a passphrase: the highest cost to accept (default 22: 4 GiB)."),
           use(rekey, number<&O::max_scrypt_log2n, 1, 40>(),
               "From a passphrase: the highest cost to accept (default 22: 4 GiB)."),
           rule<O>(is_paraes, with_paraes), rule<O>(from_no_key, without_key),
           rule<O>(from_no_recipients, without_recipients)),
    row<O>("--mode", "Format",
           use(pipes, choice<&O::mode, mode_choices>(),
               "raw: mode of AES; openssl: cbc (default) or ctr."),
           rule<O>(has_mode, with_raw),
           rule<O>(openssl_has_mode, "--format openssl has the modes cbc and ctr, not {mode}"),
           rule<O>(has_iv, "{flag} {mode} needs --iv-hex with 32 hex digits (16 bytes)")),
    row<O>(
        "--iv-hex", "Format",
        use(pipes, hex<&O::iv>(),
            "raw: IV (cbc), first counter block (ctr), number of the first unit (xts); 16 bytes."),
        rule<O>(is_not_openssl,
                "{flag} goes with --format raw; in openssl the IV comes from the passphrase"),
        rule<O>(is_raw, with_raw), rule<O>(is_not_ecb, "--mode ecb takes no {flag}")),
    row<O>("--nopad", "Format",
           use(pipes, on<&O::no_padding>(), "raw ecb and cbc: no padding; whole blocks only."),
           rule<O>(is_raw, with_raw),
           rule<O>(pads, "{flag} goes with --mode ecb and cbc; the others need no padding")),
    row<O>("--unit", "Format",
           use(pipes, size<&O::unit>(), "raw xts: size of a data unit (default 4096)."),
           rule<O>(is_raw, with_raw), rule<O>(is_xts, "{flag} goes with --mode xts"),
           rule<O>(has_unit_in_range, "{flag}: a data unit has 16 bytes to 16 MiB")),
    row<O>("--iter", "Format",
           use(pipes, number<&O::iterations, 1, 0x7fffffff>(),
               "openssl: iterations of PBKDF2 (default 10000)."),
           rule<O>(is_openssl, with_openssl)),
    row<O>(
        "-r,--recursive", "Input",
        use(encrypt, on<&O::recursive>(), "Process folders, with all files in them except *.paes."),
        use(decrypt | verify | rekey, on<&O::recursive>(),
            "Process folders, with all *.paes files in them.")),
    row<O>("--exclude", "Input",
           use(all_but_info, list<&O::exclude, "GLOB">(),
               "Skip files and folders by name or, if GLOB has a /, by path; repeatable.")),
    row<O>("--offset", "Input",
           use(decrypt, size<&O::offset>(),
               "paraes, c2sp, tink: start at this byte of the plaintext; needs -o or -c."),
           rule<O>(authenticated, with_authenticated),
           rule<O>(has_output_for_part,
                   "the output of --offset and --length has no default name: give -o FILE or -c")),
    row<O>("--length", "Input",
           use(decrypt, size<&O::length>(),
               "paraes, c2sp, tink: decrypt this many bytes; needs -o or -c."),
           rule<O>(authenticated, with_authenticated),
           rule<O>(has_output_for_part,
                   "the output of --offset and --length has no default name: give -o FILE or -c")),
    row<O>(
        "-o,--output", "Output",
        use(encrypt, text<&O::output, "FILE|FOLDER">(),
            "Output file, or the folder to put it in; - is standard output (default: FILE.paes)."),
        use(decrypt, text<&O::output, "FILE|FOLDER">(),
            "Output file, or the folder to put it in; - is standard output (default: FILE without "
            ".paes)."),
        rule<O>(names_output, "-o has an empty name")),
    row<O>("-c,--stdout", "Output",
           use(pipes, on<&O::standard_output>(), "Write to standard output.")),
    row<O>("-f,--force", "Output",
           use(pipes, on<&O::force>(), "Overwrite an existing output file.")),
    row<O>(
        "--update", "Output",
        use(pipes, on<&O::update>(),
            "Leave out inputs whose output exists and is not older; replace older outputs."),
        rule<O>(has_files, "{flag} compares files: it goes with no standard input or output"),
        rule<O>(names_no_descriptor,
                "{flag} compares files, and {descriptor} is a file descriptor: leave {flag} out"),
        rule<O>(
            decrypts_all,
            "{flag} would leave out files whose output is a part or damaged: leave {flag} out")),
    row<O>(
        "--rm", "Output",
        use(pipes, on<&O::remove>(), "Remove each FILE once its output is safely on the disk."),
        rule<O>(has_files, "{flag} needs files as input and output, not standard input or output"),
        rule<O>(
            names_no_descriptor,
            "{flag} needs files as input and output, and {descriptor} is a file descriptor: leave "
            "{flag} out"),
        rule<O>(decrypts_all, "{flag} would remove data that was not decrypted: leave {flag} out")),
    row<O>("--salvage", "Output",
           use(decrypt, on<&O::salvage>(),
               "Write zeros for damaged segments, list these, and exit with 3 if there are any."),
           rule<O>(authenticated, with_authenticated),
           rule<O>(wants_all, "{flag} saves a whole message: leave --offset and --length out")),
    row<O>("-q,--quiet", "Reports", use(all_but_info, on<&O::quiet>(), "Print errors only.")),
    row<O>("-v,--verbose", "Reports",
           use(all_but_info, on<&O::verbose>(), "Say what ran and why.")),
    row<O>("--json", "Reports",
           use(all_but_info, on<&O::json>(),
               "Print a JSON object a line: one for each input, and a summary of several."),
           use(info, on<&O::json>(), "Print one JSON object.")),
    row<O>("--progress", "Reports",
           use(all_but_info, on<&O::progress>(),
               "Show the progress bar even if standard error is no terminal."),
           rule<O>(may_show_progress,
                   "{flag} and --no-progress contradict each other; give one of them")),
    row<O>("--no-progress", "Reports",
           use(all_but_info, on<&O::no_progress>(), "Show no progress bar.")),
    row<O>("--device", "Execution",
           use(all_but_info, text<&O::device, "auto|cpu|cuda|hip|opencl">(),
               "Where to compute (default: auto, the CPU unless a profile of `paraes tune` says "
               "that a "
               "GPU is faster). cuda:0 is one GPU, cuda:0+1 joins two, and cpu+cuda:0 has the CPU "
               "help; "
               "see `paraes devices`."),
           rule<O>(names_device, "{flag} needs a name, as in {flag} cpu")),
    row<O>("--kernel", "Execution",
           use(all_but_info, text<&O::kernel, "auto|NAME">(),
               "Implementation of AES, by a name from `paraes devices` (default: auto).")),
    row<O>("--allow-leaky", "Execution",
           use(all_but_info, on<&O::allow_leaky>(),
               "Let --kernel auto choose table kernels on a GPU: they leak the key to its other "
               "users."),
           rule<O>(may_use_gpu, with_gpu)),
    row<O>("--transfer", "Execution",
           use(all_but_info, choice<&O::transfer, transfer_choices>(),
               "Copy data to the GPU and back (default), or let the GPU access host memory."),
           rule<O>(may_use_gpu, with_gpu)),
    row<O>("--key-expansion", "Execution",
           use(all_but_info, choice<&O::key_expansion, key_expansion_choices>(),
               "Where keys for a GPU are expanded (default: host)."),
           rule<O>(may_use_gpu, with_gpu)),
    row<O>("-T,--threads", "Execution",
           use(all_but_info, number<&O::threads, 0, 4096>(),
               "Threads that compute; 0, the default, is one for each core. A few more may wait "
               "for input "
               "and output.")),
    row<O>("--no-overlap", "Execution",
           use(all_but_info, on<&O::no_overlap>(),
               "Read, compute and write one after another, for measurements."))};

// ---- What is made from them

// The longest of the names, without its dashes.
std::string_view long_name(std::string_view names) { return names.substr(names.find("--") + 2); }

template <class Options>
void add(CLI::App& app, Options& options, const Use<Options>& use, const std::string& names,
         const char* group) {
  const std::string shown = names.substr(names.find("--"));
  const auto store = use.value.store;
  CLI::Option* added = nullptr;
  if (use.value.type == nullptr) {
    added = app.add_flag_function(
        names, [&options, store, shown](std::int64_t) { store(options, shown, ""); }, use.help);
  } else {
    // The results as they were given: CLI11 would convert words such as {} on their way to a
    // vector.
    const CLI::callback_t take = [&options, store, shown](const CLI::results_t& given) {
      for (const std::string& text : given) store(options, shown, text);
      return true;
    };
    added = app.add_option(names, take, use.help)->type_name(use.value.type());
    if (use.value.repeats) {
      added->expected(1, CLI::detail::expected_max_vector_size)->allow_extra_args(false);
    }
  }
  added->group(group);
}

template <class Options, std::size_t n>
void add_all(CLI::App& app, Options& options, const Flag<Options> (&table)[n], Verbs verb,
             const char* group) {
  for (const Flag<Options>& flag : table) {
    for (const Use<Options>& use : flag.uses) {
      if ((use.verbs & verb) == 0) continue;
      const std::string names =
          verb == rekey_to ? fmt::format("--to-{}", long_name(flag.names)) : flag.names;
      add(app, options, use, names, flag.group == nullptr ? group : flag.group);
    }
  }
}

template <class Options, std::size_t n>
void check(const Options& options, const Flag<Options> (&table)[n], Verbs verb,
           const FlagFacts& facts) {
  const std::string_view to = verb == rekey_to ? "to-" : "";
  for (const Flag<Options>& flag : table) {
    for (const Use<Options>& use : flag.uses) {
      if ((use.verbs & verb) == 0 || !use.value.given(options)) continue;
      for (const Rule<Options>& rule : flag.rules) {
        if (rule.fits == nullptr || rule.fits(options, facts)) continue;
        throw InvalidArgument(fmt::format(
            fmt::runtime(rule.otherwise),
            fmt::arg("flag", fmt::format("--{}{}", to, long_name(flag.names))),
            fmt::arg("format", format_name(facts.format)),
            fmt::arg("mode", mode_choices.at(static_cast<std::size_t>(facts.mode)).word),
            fmt::arg("descriptor", facts.descriptor), fmt::arg("to", to)));
      }
    }
  }
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

void add_crypt_flags(CLI::App& app, CryptOptions& options) {
  const bool one = options.verb == Verb::info;
  CLI::Option* const files =
      app.add_option(
             "FILE",
             [&options](const CLI::results_t& given) {
               options.inputs = given;
               return true;
             },
             one                           ? "The encrypted file; -, or no FILE, is standard input."
             : options.verb == Verb::rekey ? "The encrypted files, which are replaced."
                                           : "The inputs; -, or no FILE, is standard input.")
          ->type_name("")
          ->expected(1, one ? 1 : CLI::detail::expected_max_vector_size);
  // Not required(): the error for a missing FILE is that of cli/plan.
  if (options.verb == Verb::rekey) files->option_text("FILE...");
  add_all(app, options.keys, key_flags, bit(options.verb), "Keys");
  if (options.verb == Verb::rekey) add_all(app, options.to, key_flags, rekey_to, "New keys");
  add_all(app, options, flags, bit(options.verb), nullptr);
}

void check_flags(const CryptOptions& options, const FlagFacts& facts) {
  check(options.keys, key_flags, bit(options.verb), facts);
  if (options.verb == Verb::rekey) check(options.to, key_flags, rekey_to, facts);
  check(options, flags, bit(options.verb), facts);
}

}  // namespace paraes::cli
