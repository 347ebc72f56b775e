#include "cli/arguments/flags.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <array>
#include <limits>
#include <string_view>

#include "cli/arguments/flag_table.hpp"
#include "cli/arguments/number_flags.hpp"
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
constexpr Verbs every = all_but_info | info;

// ---- What the rules ask

using O = CryptOptions;
using S = SecretSources;
using Facts = FlagFacts;

bool is_raw(const O&, const Facts& facts) { return facts.format == Format::raw; }
bool is_openssl(const O&, const Facts& facts) { return facts.format == Format::openssl; }
bool is_pbkdf2(const O& options, const Facts&) { return options.salted_kdf == SaltedKdf::pbkdf2; }
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
  return facts.format != Format::raw || options.mode.has_value();
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
  return options.unit_bytes >= block_bytes && options.unit_bytes <= max_xts_unit_bytes;
}
bool names_output(const O& options, const Facts&) { return !options.output->empty(); }
bool wants_all(const O& options, const Facts&) { return !wants_part(options); }
bool has_list(const O& options, const Facts&) { return options.files_from.has_value(); }
bool is_recursive(const O& options, const Facts&) { return options.recursive; }
bool may_show_progress(const O& options, const Facts&) { return !options.no_progress; }
bool names_device(const O& options, const Facts&) { return !options.device->empty(); }

constexpr const char* with_raw = "{flag} goes with --format raw";
constexpr const char* with_tink = "{flag} goes with --format tink";
constexpr const char* with_paraes = "{flag} goes with --format paraes";
constexpr const char* with_openssl = "{flag} goes with --format openssl";
constexpr const char* with_authenticated =
    "{flag} goes with the authenticated formats paraes, c2sp and tink";
constexpr const char* with_output =
    "the output of --offset and --length has no default name: give -o FILE or -c";
constexpr const char* with_gpu = "{flag} goes with --device cuda, hip or opencl";
constexpr const char* without_key = "{flag} goes with passphrases, not with a key";
constexpr const char* without_recipients = "{flag} goes with passphrases, not with recipients";

constexpr std::array all_key_bits = {128U, 192U, 256U};
constexpr std::array sealing_key_bits = {128U, 256U};

// ---- The tables

// The flags of keys. Those that say what rekey gives its files to begin with --to-.
constexpr Flag<S> key_flags[] = {
    row<S>(
        "-k,--key-file", nullptr, text(&S::key_file, "FILE"),
        use(pipes,
            "Key of 16 or 32 bytes (raw: also 24, XTS 64), or a Tink keyset; - is standard input."),
        use(verify, "Key of 16 or 32 bytes, or a Tink keyset; - is standard input."),
        use(rekey | rekey_to | info, "Key of 16 or 32 bytes; - is standard input.")),
    row<S>("--key-encoding", nullptr, choice(&S::key_encoding),
           use(every | rekey_to, "How to read the key file, if its size is ambiguous."),
           rule(has_key_of_file, "{flag} goes with --{to}key-file")),
    row<S>("--key-hex", nullptr, text(&S::key_hex, "HEX"),
           use(every | rekey_to, "Key in hex; only for tests: the process list shows it.")),
    row<S>("--key-command", nullptr, text(&S::key_command, "CMD"),
           use(every | rekey_to, "Key that a shell command prints, like a file's.")),
    row<S>("--passphrase", nullptr, on(&S::ask),
           use(rekey_to, "Ask for a passphrase on the terminal.")),
    row<S>(
        "--passphrase-file", nullptr, text(&S::passphrase_file, "FILE"),
        use(pipes, "Passphrase from a file, without one final newline (openssl: its first line)."),
        use(verify | rekey | rekey_to | info,
            "Passphrase from a file, without one final newline.")),
    row<S>("--passphrase-fd", nullptr,
           number(&S::passphrase_fd, 0, std::numeric_limits<int>::max()),
           use(every | rekey_to, "Passphrase from an open file descriptor, like that of a file.")),
    row<S>("--passphrase-env", nullptr, text(&S::passphrase_env, "VAR"),
           use(every | rekey_to, "Passphrase from an environment variable.")),
    row<S>("--passphrase-command", nullptr, text(&S::passphrase_command, "CMD"),
           use(every | rekey_to, "Passphrase that a shell command prints, like a file's.")),
    row<S>(
        "--recipient", nullptr, text(&S::recipients, "KEY"),
        use(encrypt | rekey_to,
            "Public key that can decrypt: age1..., ssh-ed25519 AAAA...; repeatable. Needs age.")),
    row<S>("--recipients-file", nullptr, text(&S::recipients_files, "FILE"),
           use(encrypt | rekey_to, "Recipients from a file, one a line; repeatable.")),
    row<S>("-i,--identity", nullptr, text(&S::identities, "FILE"),
           use(decrypt | verify | rekey,
               "Identity (private key) of age or SSH, for what was encrypted to recipients; "
               "repeatable. Needs age."),
           use(info, "Say whether this identity opens the file; repeatable. Needs age."))};

constexpr Flag<O> crypt_flags[] = {
    row<O>("--new-key", "New keys", on(&O::new_key),
           use(rekey, "From recipients to recipients: encrypt the data again, with a new key.")),
    row<O>("--verify", "New keys", on(&O::verify_segments),
           use(rekey, "From recipients to recipients: authenticate the data, too.")),
    row<O>("--format", "Format", choice(&O::format),
           use(encrypt, "Layout of the encrypted file (default: paraes)."),
           use(decrypt, "Layout of the encrypted file (default: paraes; others must be named)."),
           rule(names_mode_of_raw, "{flag} raw needs --mode ecb, cbc, ctr or xts")),
    row<O>("--format", "Format", text(&O::format, "paraes|c2sp|tink"),
           use(verify, "Layout of the encrypted file (default: paraes; others must be named)."),
           rule(authenticated, "{flag} {format} is not authenticated: there is nothing to verify")),
    row<O>("--format", "Format", text(&O::format, "paraes|c2sp|tink"),
           use(info, "Layout of the encrypted file (default: paraes; others must be named)."),
           rule(authenticated, "{flag} {format} has no header to show")),
    row<O>(
        "--key-bits", "Format", number_of(&O::key_bits, all_key_bits),
        use(pipes,
            "Size of the AES key (default: the key's own; 256 with a passphrase or recipients)."),
        rule(has_keys_of_size, "--format {format} has keys of 128 and 256 bits, not 192"),
        rule(is_not_xts_192,
             "there is no AES-192-XTS (SP 800-38E): use --key-bits 128 or 256, with a key of 32 or "
             "64 bytes")),
    row<O>(
        "--key-bits", "Format", number_of(&O::key_bits, sealing_key_bits),
        use(verify,
            "Size of the AES key (default: the key's own; 256 with a passphrase or recipients)."),
        use(info, "c2sp, tink: size of the AES key."),
        use(rekey,
            "Size of the new AES key (default: the key's own; 256 with a passphrase or "
            "recipients)."),
        rule(header_lacks_key_bits,
             "{flag} goes with --format c2sp and tink; a paraes header holds the size")),
    row<O>(
        "--context-hex", "Format", text(&O::context, "HEX"),
        use(pipes | verify,
            "Context (paraes, c2sp) or associated data (tink): decryption needs the same bytes."),
        use(rekey, "Context that the files were encrypted with; it stays."),
        use(info, "Context that the file was encrypted with."),
        rule(authenticated, with_authenticated)),
    row<O>("--segment-size", "Format", size(&O::segment_bytes),
           use(pipes | verify | info, "tink with a raw key: size of a segment (default 1MiB)."),
           rule(is_tink, with_tink)),
    row<O>("--tink-hash", "Format", choice(&O::tink_hash),
           use(pipes | verify, "tink with a raw key: hash of HKDF (default SHA256)."),
           rule(is_tink, with_tink)),
    row<O>("--scrypt-log2n", "Format", number(&O::scrypt_log2n, 1, 40),
           use(encrypt, "paraes with a passphrase: scrypt's cost is 2^N (default 17: 128 MiB)."),
           use(rekey, "To a passphrase: scrypt's cost is 2^N (default 17: 128 MiB)."),
           rule(is_paraes, with_paraes), rule(to_no_key, without_key),
           rule(to_no_recipients, without_recipients)),
    row<O>("--max-scrypt-log2n", "Format", number(&O::max_scrypt_log2n, 1, 40),
           use(decrypt | verify,
               "paraes with a passphrase: the highest cost to accept (default 22: 4 GiB)."),
           use(rekey, "From a passphrase: the highest cost to accept (default 22: 4 GiB)."),
           rule(is_paraes, with_paraes), rule(from_no_key, without_key),
           rule(from_no_recipients, without_recipients)),
    row<O>("--mode", "Format", choice(&O::mode),
           use(pipes, "raw: mode of AES; openssl: cbc (default) or ctr."), rule(has_mode, with_raw),
           rule(openssl_has_mode, "--format openssl has the modes cbc and ctr, not {mode}"),
           rule(has_iv, "{flag} {mode} needs --iv-hex with 32 hex digits (16 bytes)")),
    row<O>(
        "--iv-hex", "Format", text(&O::iv, "HEX"),
        use(pipes,
            "raw: IV (cbc), first counter block (ctr), number of the first unit (xts); 16 bytes."),
        rule(is_not_openssl,
             "{flag} goes with --format raw; in openssl the IV comes from the passphrase"),
        rule(is_raw, with_raw), rule(is_not_ecb, "--mode ecb takes no {flag}")),
    row<O>("--nopad", "Format", on(&O::no_padding),
           use(pipes, "raw ecb and cbc: no padding; whole blocks only."), rule(is_raw, with_raw),
           rule(pads, "{flag} goes with --mode ecb and cbc; the others need no padding")),
    row<O>("--unit", "Format", size(&O::unit_bytes),
           use(pipes, "raw xts: size of a data unit (default 4096)."), rule(is_raw, with_raw),
           rule(is_xts, "{flag} goes with --mode xts"),
           rule(has_unit_in_range, "{flag}: a data unit has 16 bytes to 16 MiB")),
    row<O>("--iter", "Format", number(&O::iterations, 1, 0x7fffffff),
           use(pipes, "openssl: iterations of PBKDF2 (default 10000)."),
           rule(is_openssl, with_openssl), rule(is_pbkdf2, "{flag} goes with --kdf pbkdf2")),
    row<O>("--kdf", "Format", choice(&O::salted_kdf),
           use(pipes,
               "openssl: how the passphrase becomes a key; evp, which is weak, for files that were "
               "made without -pbkdf2 (default pbkdf2)."),
           rule(is_openssl, with_openssl)),
    row<O>("--digest", "Format", choice(&O::digest),
           use(pipes, "openssl: hash of the key derivation, -md of openssl (default sha256)."),
           rule(is_openssl, with_openssl)),
    row<O>("-r,--recursive", "Input", on(&O::recursive),
           use(encrypt, "Process folders, with all files in them except *.paes."),
           use(decrypt | verify | rekey, "Process folders, with all *.paes files in them.")),
    row<O>("--exclude", "Input", text(&O::exclude, "GLOB"),
           use(all_but_info,
               "Skip files and folders by name or, if GLOB has a /, by path; repeatable.")),
    row<O>("--exclude-from", "Input", text(&O::exclude_from, "FILE"),
           use(all_but_info, "Patterns for --exclude from a file, one a line; repeatable.")),
    row<O>(
        "--files-from", "Input", text(&O::files_from, "FILE"),
        use(all_but_info,
            "Names of inputs from a file, one a line; - is standard input. Below -o, outputs keep "
            "the paths in it.")),
    row<O>("-0,--null", "Input", on(&O::null_list),
           use(all_but_info,
               "Names in the list of --files-from end with NUL bytes, as of find -print0."),
           rule(has_list, "{flag} goes with --files-from")),
    row<O>("--one-file-system", "Input", on(&O::one_file_system),
           use(all_but_info, "Leave out folders on which another file system is mounted."),
           rule(is_recursive, "{flag} goes with -r")),
    row<O>("--offset", "Input", size(&O::offset),
           use(decrypt, "paraes, c2sp, tink: start at this byte of the plaintext; needs -o or -c."),
           rule(authenticated, with_authenticated), rule(has_output_for_part, with_output)),
    row<O>("--length", "Input", size(&O::length),
           use(decrypt, "paraes, c2sp, tink: decrypt this many bytes; needs -o or -c."),
           rule(authenticated, with_authenticated), rule(has_output_for_part, with_output)),
    row<O>(
        "-o,--output", "Output", text(&O::output, "FILE|FOLDER"),
        use(encrypt,
            "Output file, or the folder to put it in; - is standard output (default: FILE.paes)."),
        use(decrypt,
            "Output file, or the folder to put it in; - is standard output (default: FILE without "
            ".paes)."),
        rule(names_output, "-o has an empty name")),
    row<O>("-c,--stdout", "Output", on(&O::standard_output),
           use(pipes, "Write to standard output.")),
    row<O>("-f,--force", "Output", on(&O::force), use(pipes, "Overwrite an existing output file.")),
    row<O>(
        "--update", "Output", on(&O::update),
        use(encrypt,
            "Leave out inputs whose output exists, with their time and size; replace others."),
        use(decrypt,
            "Leave out inputs whose output exists and is not older; replace older outputs."),
        rule(has_files, "{flag} compares files: it goes with no standard input or output"),
        rule(names_no_descriptor,
             "{flag} compares files, and {descriptor} is a file descriptor: leave {flag} out"),
        rule(decrypts_all,
             "{flag} would leave out files whose output is a part or damaged: leave {flag} out")),
    row<O>(
        "--rm", "Output", on(&O::removes),
        use(pipes, "Remove each FILE once its output is safely on the disk."),
        rule(has_files, "{flag} needs files as input and output, not standard input or output"),
        rule(names_no_descriptor,
             "{flag} needs files as input and output, and {descriptor} is a file descriptor: leave "
             "{flag} out"),
        rule(decrypts_all, "{flag} would remove data that was not decrypted: leave {flag} out")),
    row<O>(
        "--sparse", "Output", choice(&O::sparse),
        use(decrypt, "Blocks of zeros become holes, which take no space on the disk, or never.")),
    row<O>("--xattrs", "Output", on(&O::keeps_attributes),
           use(pipes | rekey,
               "Keep extended attributes of users and access control lists, on Linux.")),
    row<O>("--salvage", "Output", on(&O::salvage),
           use(decrypt,
               "Write zeros for damaged segments, list these, and exit with 3 if there are any."),
           rule(authenticated, with_authenticated),
           rule(wants_all, "{flag} saves a whole message: leave --offset and --length out")),
    row<O>("--dry-run", "Reports", on(&O::dry_run),
           use(all_but_info,
               "Print what would be read, written, replaced and removed, and do nothing else; asks "
               "for no key.")),
    row<O>("-q,--quiet", "Reports", on(&O::quiet), use(all_but_info, "Print errors only.")),
    row<O>("-v,--verbose", "Reports", on(&O::verbose), use(all_but_info, "Say what ran and why.")),
    row<O>("--json", "Reports", on(&O::json),
           use(all_but_info,
               "Print a JSON object a line: one for each input, and a summary of several."),
           use(info, "Print one JSON object.")),
    row<O>("--progress", "Reports", on(&O::progress),
           use(all_but_info, "Show the progress bar even if standard error is no terminal."),
           rule(may_show_progress,
                "{flag} and --no-progress contradict each other; give one of them")),
    row<O>("--no-progress", "Reports", on(&O::no_progress),
           use(all_but_info, "Show no progress bar.")),
    row<O>(
        "--device", "Execution", text(&O::device, "auto|cpu|cuda|hip|opencl"),
        use(all_but_info,
            "Where to compute (default: auto, the CPU unless a profile of `paraes tune` says that "
            "a GPU is faster). cuda:0 is one GPU, cuda:0+1 joins two, and cpu+cuda:0 has the CPU "
            "help; see `paraes devices`."),
        rule(names_device, "{flag} needs a name, as in {flag} cpu")),
    row<O>("--kernel", "Execution", text(&O::kernel, "auto|NAME"),
           use(all_but_info,
               "Implementation of AES, by a name from `paraes devices` (default: auto).")),
    row<O>("--allow-leaky", "Execution", on(&O::allow_leaky),
           use(all_but_info,
               "Let --kernel auto choose table kernels on a GPU: they leak the key to its other "
               "users."),
           rule(may_use_gpu, with_gpu)),
    row<O>("--transfer", "Execution", choice(&O::transfer),
           use(all_but_info,
               "Copy data to the GPU and back (default), or let the GPU access host memory."),
           rule(may_use_gpu, with_gpu)),
    row<O>("--key-expansion", "Execution", choice(&O::key_expansion),
           use(all_but_info, "Where keys for a GPU are expanded (default: host)."),
           rule(may_use_gpu, with_gpu)),
    row<O>(
        "-T,--threads", "Execution", number(&O::threads, 0, 4096),
        use(all_but_info,
            "Threads that compute; 0, the default, is one for each core. A few more may wait for "
            "input and output.")),
    row<O>("--no-overlap", "Execution", on(&O::no_overlap),
           use(all_but_info, "Read, compute and write one after another, for measurements."))};

// ---- What is made from them

// The longest of the names, without its dashes.
std::string_view long_name(std::string_view names) { return names.substr(names.find("--") + 2); }

void add_all(CLI::App& app, auto& options, const auto& table, Verbs verb, const char* group,
             const NamedFlags& named) {
  for (const auto& flag : table) {
    const Use* const use = flag.use_of(verb);
    if (use == nullptr) continue;
    const std::string names =
        verb == rekey_to ? fmt::format("--to-{}", long_name(flag.names)) : flag.names;
    if (!named.include(names)) continue;
    const auto take = [&options, &flag](const std::string& shown, const std::string& text) {
      store(flag.value, options, shown, text);
      options.flags_given.insert(flag.names);
    };
    const std::string type = shown_type(flag.value);
    CLI::Option* const added = type.empty()
                                   ? app.add_flag_function(
                                         names, [take](std::int64_t) { take("", ""); }, use->help)
                                   : add_value(app, names, type, use->help, take);
    if (repeats(flag.value)) {
      added->expected(1, CLI::detail::expected_max_vector_size)->allow_extra_args(false);
    }
    added->group(flag.group == nullptr ? group : flag.group);
  }
}

void check(const auto& options, const auto& table, Verbs verb, const FlagFacts& facts) {
  const std::string_view to = verb == rekey_to ? "to-" : "";
  for (const auto& flag : table) {
    if (flag.use_of(verb) == nullptr || !options.flags_given.contains(flag.names)) continue;
    for (const auto& rule : flag.rules) {
      if (rule.fits == nullptr || rule.fits(options, facts)) continue;
      throw InvalidArgument(
          fmt::format(fmt::runtime(rule.otherwise),
                      fmt::arg("flag", fmt::format("--{}{}", to, long_name(flag.names))),
                      fmt::arg("format", format_name(facts.format)),
                      fmt::arg("mode", block_mode_names.at(static_cast<std::size_t>(facts.mode))),
                      fmt::arg("descriptor", facts.descriptor), fmt::arg("to", to)));
    }
  }
}

}  // namespace

const char* verb_name(Verb verb) {
  constexpr std::array names = {"encrypt", "decrypt", "verify", "rekey", "info"};
  return names.at(static_cast<std::size_t>(verb));
}

void add_crypt_flags(CLI::App& app, CryptOptions& options, const NamedFlags& named) {
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
  add_all(app, options.keys, key_flags, bit(options.verb), "Keys", named);
  if (options.verb == Verb::rekey) {
    add_all(app, options.new_keys, key_flags, rekey_to, "New keys", named);
  }
  add_all(app, options, crypt_flags, bit(options.verb), nullptr, named);
}

void check_flags(const CryptOptions& options, const FlagFacts& facts) {
  check(options.keys, key_flags, bit(options.verb), facts);
  if (options.verb == Verb::rekey) check(options.new_keys, key_flags, rekey_to, facts);
  check(options, crypt_flags, bit(options.verb), facts);
}

}  // namespace paraes::cli
