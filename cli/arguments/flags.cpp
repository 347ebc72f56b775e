#include "cli/arguments/flags.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <array>
#include <limits>
#include <string_view>
#include <type_traits>
#include <utility>

#include "cli/words/choices.hpp"
#include "cli/words/numbers.hpp"
#include "cli/words/sizes.hpp"
#include "paraes/error.hpp"
#include "paraes/streams.hpp"

namespace paraes::cli {
namespace {

// The verbs that have a flag, one bit each; and one for the flags of rekey that begin with --to-.
using Verbs = unsigned;
constexpr Verbs bit(Verb verb) { return 1U << static_cast<unsigned>(verb); }
constexpr Verbs encrypt = bit(Verb::encrypt);
constexpr Verbs decrypt = bit(Verb::decrypt);
constexpr Verbs verify = bit(Verb::verify);
constexpr Verbs rekey = bit(Verb::rekey);
constexpr Verbs info = bit(Verb::info);
constexpr Verbs rekey_to = info << 1;
constexpr Verbs pipes = encrypt | decrypt;
constexpr Verbs all_but_info = pipes | verify | rekey;

// What a flag is given, and where that goes in the options.
template <class Options>
struct Value {
  std::string (*type)() = nullptr;  // as --help shows it; null: a switch, which is given nothing
  void (*store)(Options& options, const std::string& flag, const std::string& text) = nullptr;
  bool (*given)(const Options& options) = nullptr;
  bool repeats = false;
};

template <class Options>
struct Use {
  Verbs verbs = 0;
  Value<Options> value;
  const char* help = nullptr;
};

// When a flag has no effect, or contradicts another. In `otherwise`, {flag} stands for it, {format}
// for the format's name, {mode} for the mode's, {descriptor} for FlagFacts::descriptor, and {to}
// for "to-" or nothing.
template <class Options>
struct Rule {
  bool (*fits)(const Options& options, const FlagFacts& facts) = nullptr;
  const char* otherwise = nullptr;
};

template <class Options>
struct Flag {
  const char* names = nullptr;  // as CLI11 takes them: the short one first
  const char* group = nullptr;
  std::array<Use<Options>, 4> uses;  // for different verbs
  std::array<Rule<Options>, 4> rules = {};
};

template <class T>
struct MemberOf;
template <class T, class Options>
struct MemberOf<T Options::*> {
  using Class = Options;
  using Type = T;
};
template <auto member>
using ClassOf = typename MemberOf<decltype(member)>::Class;

template <auto member>
bool is_given(const ClassOf<member>& options) {
  using Type = typename MemberOf<decltype(member)>::Type;
  const Type& value = options.*member;
  if constexpr (std::is_same_v<Type, bool>) {
    return value;
  } else if constexpr (std::is_same_v<Type, std::vector<std::string>>) {
    return !value.empty();
  } else if constexpr (std::is_arithmetic_v<Type>) {
    return value != Type{};
  } else {
    return value.has_value();
  }
}

// The kinds of values. `read` returns what the text means, or throws InvalidArgument.
template <auto member, auto read>
void store(ClassOf<member>& options, const std::string& flag, const std::string& text) {
  options.*member = read(flag, text);
}

template <auto member, auto type, auto read>
constexpr Value<ClassOf<member>> value_of() {
  return {type, store<member, read>, is_given<member>};
}

template <auto member>
constexpr Value<ClassOf<member>> on() {
  return {nullptr,
          [](ClassOf<member>& options, const std::string&, const std::string&) {
            options.*member = true;
          },
          is_given<member>};
}

// A word in --help, as the parameter of a template.
template <std::size_t n>
struct Name {
  constexpr Name(const char (&text)[n]) {  // NOLINT(google-explicit-constructor)
    std::copy_n(text, n, letters.begin());
  }
  std::array<char, n> letters{};
};
template <Name name>
std::string type_named() {
  return name.letters.data();
}

std::string as_it_is(const std::string&, const std::string& given) { return given; }

template <auto member, Name type>
constexpr Value<ClassOf<member>> text() {
  return value_of<member, type_named<type>, as_it_is>();
}

template <auto member, Name type>
constexpr Value<ClassOf<member>> list() {
  return {type_named<type>,
          [](ClassOf<member>& options, const std::string&, const std::string& given) {
            (options.*member).push_back(given);
          },
          is_given<member>, true};
}

std::vector<std::uint8_t> read_hex(const std::string& flag, const std::string& given) {
  return parse_hex(given, flag);
}

template <auto member>
constexpr Value<ClassOf<member>> hex() {
  return value_of<member, type_named<"HEX">, read_hex>();
}

template <auto member, std::uint64_t least, std::uint64_t most>
constexpr Value<ClassOf<member>> number() {
  return {type_named<"N">,
          [](ClassOf<member>& options, const std::string& flag, const std::string& given) {
            using Type = typename NumberInside<typename MemberOf<decltype(member)>::Type>::type;
            options.*member = static_cast<Type>(parse_number(given, flag, least, most));
          },
          is_given<member>};
}

template <auto& choices>
std::string type_of_numbers() {
  return fmt::format("{}", fmt::join(choices, "|"));
}

template <auto& choices>
unsigned read_number_of(const std::string& flag, const std::string& given) {
  return parse_number_of(given, flag, choices);
}

template <auto member, auto& choices>
constexpr Value<ClassOf<member>> number_of() {
  return value_of<member, type_of_numbers<choices>, read_number_of<choices>>();
}

std::uint64_t read_size(const std::string& flag, const std::string& given) {
  return parse_size(given, flag);
}

template <auto member>
constexpr Value<ClassOf<member>> size() {
  return value_of<member, type_named<"SIZE">, read_size>();
}

template <auto& choices>
std::string type_of_choices() {
  return type_of(choices);
}

template <auto& choices>
auto read_choice(const std::string& flag, const std::string& given) {
  return pick(flag, choices, given);
}

// `shown`: the words for --help. Others among `choices` are understood, and refused by a rule.
template <auto member, auto& choices, auto& shown = choices>
constexpr Value<ClassOf<member>> choice() {
  return value_of<member, type_of_choices<shown>, read_choice<choices>>();
}

// ---- What the rules ask

using O = CryptOptions;
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

using S = SecretSources;

constexpr Value<S> identities = list<&S::identities, "FILE">();

// The flags of keys. Those that say what rekey gives its files to begin with --to-.
constexpr Flag<S> key_flags[] = {
    {"-k,--key-file",
     nullptr,
     {{{pipes, text<&S::key_file, "FILE">(),
        "Key of 16 or 32 bytes (raw: also 24, XTS 64), or a Tink keyset; - is standard input."},
       {verify, text<&S::key_file, "FILE">(),
        "Key of 16 or 32 bytes, or a Tink keyset; - is standard input."},
       {rekey | rekey_to, text<&S::key_file, "FILE">(),
        "Key of 16 or 32 bytes; - is standard input."}}}},
    {"--key-encoding",
     nullptr,
     {{{all_but_info | rekey_to, choice<&S::key_encoding, key_encoding_choices>(),
        "How to read the key file, if its size is ambiguous."}}},
     {{{[](const S& keys, const Facts&) { return keys.key_file || keys.key_command; },
        "{flag} goes with --{to}key-file"}}}},
    {"--key-hex",
     nullptr,
     {{{all_but_info | rekey_to,
        {type_named<"HEX">,
         [](S& keys, const std::string&, const std::string&) { keys.key_hex = true; },
         is_given<&S::key_hex>},
        "Key in hex; only for tests: the process list shows it."}}}},
    {"--key-command",
     nullptr,
     {{{all_but_info | rekey_to, text<&S::key_command, "CMD">(),
        "Key that a shell command prints, like a file's."}}}},
    {"--passphrase",
     nullptr,
     {{{rekey_to, on<&S::ask>(), "Ask for a passphrase on the terminal."}}}},
    {"--passphrase-file",
     nullptr,
     {{{pipes, text<&S::passphrase_file, "FILE">(),
        "Passphrase from a file, without one final newline (openssl: its first line)."},
       {verify | rekey | rekey_to, text<&S::passphrase_file, "FILE">(),
        "Passphrase from a file, without one final newline."}}}},
    {"--passphrase-fd",
     nullptr,
     {{{all_but_info | rekey_to, number<&S::passphrase_fd, 0, std::numeric_limits<int>::max()>(),
        "Passphrase from an open file descriptor, like that of a file."}}}},
    {"--passphrase-env",
     nullptr,
     {{{all_but_info | rekey_to, text<&S::passphrase_env, "VAR">(),
        "Passphrase from an environment variable."}}}},
    {"--passphrase-command",
     nullptr,
     {{{all_but_info | rekey_to, text<&S::passphrase_command, "CMD">(),
        "Passphrase that a shell command prints, like a file's."}}}},
    {"--recipient",
     nullptr,
     {{{encrypt | rekey_to, list<&S::recipients, "KEY">(),
        "Public key that can decrypt: age1..., ssh-ed25519 AAAA...; repeatable. Needs age."}}}},
    {"--recipients-file",
     nullptr,
     {{{encrypt | rekey_to, list<&S::recipients_files, "FILE">(),
        "Recipients from a file, one a line; repeatable."}}}},
    {"-i,--identity",
     nullptr,
     {{{decrypt | verify | rekey, identities,
        "Identity (private key) of age or SSH, for what was encrypted to recipients; repeatable. "
        "Needs age."},
       {info, identities, "Say whether this identity opens the file; repeatable. Needs age."}}}},
};

constexpr Flag<O> flags[] = {
    {"--new-key",
     "New keys",
     {{{rekey, on<&O::new_key>(),
        "From recipients to recipients: encrypt the data again, with a new key."}}}},
    {"--verify",
     "New keys",
     {{{rekey, on<&O::verify_segments>(),
        "From recipients to recipients: authenticate the data, too."}}}},

    {"--format",
     "Format",
     {{{encrypt, choice<&O::format, format_choices>(),
        "Layout of the encrypted file (default: paraes)."},
       {decrypt, choice<&O::format, format_choices>(),
        "Layout of the encrypted file (default: paraes; others must be named)."},
       {verify | info, choice<&O::format, format_choices, authenticated_choices>(),
        "Layout of the encrypted file (default: paraes; others must be named)."}}},
     {{{[](const O& options, const Facts& facts) {
          return facts.format != Format::raw || (bit(options.verb) & pipes) == 0 ||
                 options.mode.has_value();
        },
        "{flag} raw needs --mode ecb, cbc, ctr or xts"},
       {[](const O& options, const Facts& facts) {
          return options.verb != Verb::verify || is_authenticated(facts.format);
        },
        "{flag} {format} is not authenticated: there is nothing to verify"},
       {[](const O& options, const Facts& facts) {
          return options.verb != Verb::info || is_authenticated(facts.format);
        },
        "{flag} {format} has no header to show"}}}},
    {"--key-bits",
     "Format",
     {{{pipes, number_of<&O::key_bits, all_key_bits>(),
        "Size of the AES key (default: the key's own; 256 with a passphrase or recipients)."},
       {verify, number_of<&O::key_bits, sealing_key_bits>(),
        "Size of the AES key (default: the key's own; 256 with a passphrase or recipients)."},
       {info, number_of<&O::key_bits, sealing_key_bits>(), "c2sp, tink: size of the AES key."},
       {rekey, number_of<&O::key_bits, sealing_key_bits>(),
        "Size of the new AES key (default: the key's own; 256 with a passphrase or recipients)."}}},
     {{{[](const O& options, const Facts& facts) {
          return options.key_bits != 192U || !is_authenticated(facts.format);
        },
        "--format {format} has keys of 128 and 256 bits, not 192"},
       {[](const O& options, const Facts& facts) {
          return options.key_bits != 192U || !is_xts(options, facts);
        },
        "there is no AES-192-XTS (SP 800-38E): use --key-bits 128 or 256, with a key of 32 or 64 "
        "bytes"},
       {[](const O& options, const Facts& facts) {
          return options.verb != Verb::info || facts.format != Format::paraes;
        },
        "{flag} goes with --format c2sp and tink; a paraes header holds the size"}}}},
    {"--context-hex",
     "Format",
     {{{pipes | verify, hex<&O::context>(),
        "Context (paraes, c2sp) or associated data (tink): decryption needs the same bytes."},
       {rekey, hex<&O::context>(), "Context that the files were encrypted with; it stays."}}},
     {{{authenticated, with_authenticated}}}},
    {"--segment-size",
     "Format",
     {{{pipes | verify | info, size<&O::segment_bytes>(),
        "tink with a raw key: size of a segment (default 1MiB)."}}},
     {{{is_tink, with_tink}}}},
    {"--tink-hash",
     "Format",
     {{{pipes | verify, choice<&O::tink_hash, tink_hash_choices>(),
        "tink with a raw key: hash of HKDF (default SHA256)."}}},
     {{{is_tink, with_tink}}}},
    {"--scrypt-log2n",
     "Format",
     {{{encrypt, number<&O::scrypt_log2n, 1, 40>(),
        "paraes with a passphrase: scrypt's cost is 2^N (default 17: 128 MiB)."},
       {rekey, number<&O::scrypt_log2n, 1, 40>(),
        "To a passphrase: scrypt's cost is 2^N (default 17: 128 MiB)."}}},
     {{{is_paraes, with_paraes},
       {[](const O&, const Facts& facts) { return facts.new_keys != SecretKind::key; },
        without_key},
       {[](const O&, const Facts& facts) { return facts.new_keys != SecretKind::recipients; },
        without_recipients}}}},
    {"--max-scrypt-log2n",
     "Format",
     {{{decrypt | verify, number<&O::max_scrypt_log2n, 1, 40>(),
        "paraes with a passphrase: the highest cost to accept (default 22: 4 GiB)."},
       {rekey, number<&O::max_scrypt_log2n, 1, 40>(),
        "From a passphrase: the highest cost to accept (default 22: 4 GiB)."}}},
     {{{is_paraes, with_paraes},
       {[](const O&, const Facts& facts) { return facts.keys != SecretKind::key; }, without_key},
       {[](const O&, const Facts& facts) { return facts.keys != SecretKind::recipients; },
        without_recipients}}}},
    {"--mode",
     "Format",
     {{{pipes, choice<&O::mode, mode_choices>(),
        "raw: mode of AES; openssl: cbc (default) or ctr."}}},
     {{{has_mode, with_raw},
       {[](const O& options, const Facts& facts) {
          return facts.format != Format::openssl || !options.mode ||
                 *options.mode == BlockMode::cbc || *options.mode == BlockMode::ctr;
        },
        "--format openssl has the modes cbc and ctr, not {mode}"},
       {[](const O& options, const Facts& facts) {
          const bool needs_iv = facts.mode == BlockMode::cbc || facts.mode == BlockMode::ctr;
          return facts.format != Format::raw || !needs_iv || options.iv.has_value();
        },
        "{flag} {mode} needs --iv-hex with 32 hex digits (16 bytes)"}}}},
    {"--iv-hex",
     "Format",
     {{{pipes, hex<&O::iv>(),
        "raw: IV (cbc), first counter block (ctr), number of the first unit (xts); 16 bytes."}}},
     {{{[](const O&, const Facts& facts) { return facts.format != Format::openssl; },
        "{flag} goes with --format raw; in openssl the IV comes from the passphrase"},
       {is_raw, with_raw},
       {[](const O&, const Facts& facts) { return facts.mode != BlockMode::ecb; },
        "--mode ecb takes no {flag}"}}}},
    {"--nopad",
     "Format",
     {{{pipes, on<&O::no_padding>(), "raw ecb and cbc: no padding; whole blocks only."}}},
     {{{is_raw, with_raw},
       {[](const O&, const Facts& facts) {
          return facts.mode == BlockMode::ecb || facts.mode == BlockMode::cbc;
        },
        "{flag} goes with --mode ecb and cbc; the others need no padding"}}}},
    {"--unit",
     "Format",
     {{{pipes, size<&O::unit>(), "raw xts: size of a data unit (default 4096)."}}},
     {{{is_raw, with_raw},
       {is_xts, "{flag} goes with --mode xts"},
       {[](const O& options, const Facts&) {
          return *options.unit >= block_bytes && *options.unit <= max_xts_unit_bytes;
        },
        "{flag}: a data unit has 16 bytes to 16 MiB"}}}},
    {"--iter",
     "Format",
     {{{pipes, number<&O::iterations, 1, 0x7fffffff>(),
        "openssl: iterations of PBKDF2 (default 10000)."}}},
     {{{is_openssl, with_openssl}}}},

    {"-r,--recursive",
     "Input",
     {{{encrypt, on<&O::recursive>(), "Process folders, with all files in them except *.paes."},
       {decrypt | verify | rekey, on<&O::recursive>(),
        "Process folders, with all *.paes files in them."}}}},
    {"--exclude",
     "Input",
     {{{all_but_info, list<&O::exclude, "GLOB">(),
        "Skip files and folders by name or, if GLOB has a /, by path; repeatable."}}}},
    {"--offset",
     "Input",
     {{{decrypt, size<&O::offset>(),
        "paraes, c2sp, tink: start at this byte of the plaintext; needs -o or -c."}}},
     {{{authenticated, with_authenticated},
       {has_output_for_part,
        "the output of --offset and --length has no default name: give -o FILE or -c"}}}},
    {"--length",
     "Input",
     {{{decrypt, size<&O::length>(),
        "paraes, c2sp, tink: decrypt this many bytes; needs -o or -c."}}},
     {{{authenticated, with_authenticated},
       {has_output_for_part,
        "the output of --offset and --length has no default name: give -o FILE or -c"}}}},

    {"-o,--output",
     "Output",
     {{{encrypt, text<&O::output, "FILE|FOLDER">(),
        "Output file, or the folder to put it in; - is standard output (default: FILE.paes)."},
       {decrypt, text<&O::output, "FILE|FOLDER">(),
        "Output file, or the folder to put it in; - is standard output (default: FILE without "
        ".paes)."}}},
     {{{[](const O& options, const Facts&) { return !options.output->empty(); },
        "-o has an empty name"}}}},
    {"-c,--stdout", "Output", {{{pipes, on<&O::standard_output>(), "Write to standard output."}}}},
    {"-f,--force", "Output", {{{pipes, on<&O::force>(), "Overwrite an existing output file."}}}},
    {"--update",
     "Output",
     {{{pipes, on<&O::update>(),
        "Leave out inputs whose output exists and is not older; replace older outputs."}}},
     {{{has_files, "{flag} compares files: it goes with no standard input or output"},
       {names_no_descriptor,
        "{flag} compares files, and {descriptor} is a file descriptor: leave {flag} out"},
       {decrypts_all,
        "{flag} would leave out files whose output is a part or damaged: leave {flag} out"}}}},
    {"--rm",
     "Output",
     {{{pipes, on<&O::remove>(), "Remove each FILE once its output is safely on the disk."}}},
     {{{has_files, "{flag} needs files as input and output, not standard input or output"},
       {names_no_descriptor,
        "{flag} needs files as input and output, and {descriptor} is a file descriptor: leave "
        "{flag} out"},
       {decrypts_all, "{flag} would remove data that was not decrypted: leave {flag} out"}}}},
    {"--salvage",
     "Output",
     {{{decrypt, on<&O::salvage>(),
        "Write zeros for damaged segments, list these, and exit with 3 if there are any."}}},
     {{{authenticated, with_authenticated},
       {[](const O& options, const Facts&) { return !wants_part(options); },
        "{flag} saves a whole message: leave --offset and --length out"}}}},

    {"-q,--quiet", "Reports", {{{all_but_info, on<&O::quiet>(), "Print errors only."}}}},
    {"-v,--verbose", "Reports", {{{all_but_info, on<&O::verbose>(), "Say what ran and why."}}}},
    {"--json",
     "Reports",
     {{{all_but_info, on<&O::json>(),
        "Print a JSON object a line: one for each input, and a summary of several."},
       {info, on<&O::json>(), "Print one JSON object."}}}},
    {"--progress",
     "Reports",
     {{{all_but_info, on<&O::progress>(),
        "Show the progress bar even if standard error is no terminal."}}},
     {{{[](const O& options, const Facts&) { return !options.no_progress; },
        "{flag} and --no-progress contradict each other; give one of them"}}}},
    {"--no-progress",
     "Reports",
     {{{all_but_info, on<&O::no_progress>(), "Show no progress bar."}}}},

    {"--device",
     "Execution",
     {{{all_but_info, text<&O::device, "auto|cpu|cuda|hip|opencl">(),
        "Where to compute (default: auto, the CPU unless a profile of `paraes tune` says that a "
        "GPU is faster). cuda:0 is one GPU, cuda:0+1 joins two, and cpu+cuda:0 has the CPU help; "
        "see `paraes devices`."}}},
     {{{[](const O& options, const Facts&) { return !options.device->empty(); },
        "{flag} needs a name, as in {flag} cpu"}}}},
    {"--kernel",
     "Execution",
     {{{all_but_info, text<&O::kernel, "auto|NAME">(),
        "Implementation of AES, by a name from `paraes devices` (default: auto)."}}}},
    {"--allow-leaky",
     "Execution",
     {{{all_but_info, on<&O::allow_leaky>(),
        "Let --kernel auto choose table kernels on a GPU: they leak the key to its other "
        "users."}}},
     {{{may_use_gpu, with_gpu}}}},
    {"--transfer",
     "Execution",
     {{{all_but_info, choice<&O::transfer, transfer_choices>(),
        "Copy data to the GPU and back (default), or let the GPU access host memory."}}},
     {{{may_use_gpu, with_gpu}}}},
    {"--key-expansion",
     "Execution",
     {{{all_but_info, choice<&O::key_expansion, key_expansion_choices>(),
        "Where keys for a GPU are expanded (default: host)."}}},
     {{{may_use_gpu, with_gpu}}}},
    {"-T,--threads",
     "Execution",
     {{{all_but_info, number<&O::threads, 0, 4096>(),
        "Threads that compute; 0, the default, is one for each core. A few more may wait for input "
        "and output."}}}},
    {"--no-overlap",
     "Execution",
     {{{all_but_info, on<&O::no_overlap>(),
        "Read, compute and write one after another, for measurements."}}}},
};

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
