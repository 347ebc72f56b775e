#include "cli/plan/plan.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <string_view>

#include "cli/files/output.hpp"
#include "cli/plan/descriptors.hpp"
#include "cli/plan/exclude.hpp"
#include "cli/words/sizes.hpp"
#include "cli/words/spelling.hpp"
#include "paraes/error.hpp"
#include "src/core/system/descriptors.hpp"
#include "src/core/system/process.hpp"

namespace paraes::cli {
namespace {

// Refuses flags that would have no effect: the user expects one.
void refuse(const CryptOptions& options, std::initializer_list<const char*> flags,
            std::string_view goes_with) {
  for (const char* flag : flags) {
    if (options.given(flag)) throw InvalidArgument(fmt::format("{} goes with {}", flag, goes_with));
  }
}

BlockMode parse_mode(const CryptOptions& options, Format format) {
  const bool given = options.given("--mode");
  if (format == Format::openssl) {
    if (!given) return BlockMode::cbc;
    if (const auto mode = find_choice(openssl_mode_choices, options.mode)) return *mode;
    throw InvalidArgument(fmt::format("--format openssl has the modes {}, not '{}'",
                                      listed(words_of(openssl_mode_choices), "and"), options.mode));
  }
  const std::vector<std::string> modes = words_of(mode_choices);
  if (!given) {
    throw InvalidArgument(fmt::format("--format raw needs --mode {}", listed(modes, "or")));
  }
  if (const auto mode = find_choice(mode_choices, options.mode)) return *mode;
  throw InvalidArgument(fmt::format("--mode {}: there is no such mode; --format raw has {}",
                                    options.mode, listed(modes, "and")));
}

std::vector<std::uint8_t> parse_iv(const CryptOptions& options, BlockMode mode) {
  const bool given = options.given("--iv-hex");
  if (mode == BlockMode::ecb) {
    if (given) throw InvalidArgument("--mode ecb takes no --iv-hex");
    return {};
  }
  if (!given) {
    if (mode == BlockMode::xts) return {};
    throw InvalidArgument(
        fmt::format("--mode {} needs --iv-hex with 32 hex digits (16 bytes)", options.mode));
  }
  std::vector<std::uint8_t> iv = parse_hex(options.iv_hex, "--iv-hex");
  if (iv.size() != block_bytes) {
    throw InvalidArgument(fmt::format(
        "--iv-hex has {} hex digits; it must have exactly 32 (16 bytes)", options.iv_hex.size()));
  }
  return iv;
}

void check_key_bits(const CryptOptions& options, Format format) {
  if (!options.given("--key-bits")) return;
  const unsigned bits = options.key_bits;
  if (bits == 192 && is_authenticated(format)) {
    throw InvalidArgument(
        fmt::format("--format {} has keys of 128 and 256 bits, not 192", format_name(format)));
  }
}

// --device, --kernel and the flags that depend on them.
void plan_execution(const CryptOptions& options, Plan& plan) {
  plan.execution = {.kernel = options.kernel,
                    .threads = options.threads,
                    .device = options.device,
                    .allow_leaky = options.allow_leaky};
  if (options.device.empty()) throw InvalidArgument("--device needs a name, as in --device cpu");
  if (options.device.rfind("cpu+", 0) == 0 && !is_authenticated(plan.format)) {
    throw InvalidArgument(fmt::format(
        "--device {} shares out segments, which --format {} does not have: name only one of them",
        options.device, options.format));
  }
  // Check the name before a passphrase is asked for.
  require_device(options.device);
  plan.kernel = select_kernel(options.kernel, options.device, options.allow_leaky);
  plan.on_gpu = options.device != "auto" && options.device != "cpu";
  // With an explicit --device auto, the flags apply to a GPU that a profile chooses.
  if (!plan.on_gpu && !(options.device == "auto" && options.given("--device"))) {
    refuse(options, {"--allow-leaky", "--transfer", "--key-expansion"},
           "--device cuda, hip or opencl");
  }
  plan.execution.transfer = pick("--transfer", transfer_choices, options.transfer);
  plan.execution.key_expansion =
      pick("--key-expansion", key_expansion_choices, options.key_expansion);
  plan.overlap = !options.no_overlap;
  plan.execution.overlap = plan.overlap;
}

void plan_raw(const CryptOptions& options, Plan& plan) {
  plan.mode = parse_mode(options, Format::raw);
  plan.iv = parse_iv(options, plan.mode);
  plan.padding = !options.no_padding;
  refuse(options, {"--iter"}, "--format openssl");
  if (options.no_padding && plan.mode != BlockMode::ecb && plan.mode != BlockMode::cbc) {
    throw InvalidArgument("--nopad goes with --mode ecb and cbc; the others need no padding");
  }
  if (plan.mode != BlockMode::xts) refuse(options, {"--unit"}, "--mode xts");
  if (options.given("--unit")) {
    const std::uint64_t unit = parse_size(options.unit, "--unit");
    if (unit < block_bytes || unit > max_xts_unit_bytes) {
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

void plan_openssl(const CryptOptions& options, Plan& plan) {
  plan.mode = parse_mode(options, Format::openssl);
  refuse(options, {"--iv-hex"}, "--format raw; in openssl the IV comes from the passphrase");
  refuse(options, {"--nopad", "--unit"}, "--format raw");
  if (options.given("--iter")) plan.iterations = options.iterations;
}

void plan_authenticated(const CryptOptions& options, Plan& plan) {
  refuse(options, {"--mode", "--iv-hex", "--nopad", "--unit"}, "--format raw");
  refuse(options, {"--iter"}, "--format openssl");
  if (plan.format != Format::paraes) {
    refuse(options, {"--scrypt-log2n", "--max-scrypt-log2n"}, "--format paraes");
  }
  plan.context = parse_hex(options.context_hex, "--context-hex");
  const std::size_t most = plan.format == Format::c2sp ? max_c2sp_context_bytes : max_context_bytes;
  if (plan.context.size() > most) {
    throw InvalidArgument(fmt::format("--context-hex has {} bytes; at most {} are allowed",
                                      plan.context.size(), most));
  }
  parse_tink(options, plan);
  if (options.given("--scrypt-log2n")) plan.scrypt_log2n = options.scrypt_log2n;
  if (options.given("--max-scrypt-log2n")) plan.max_scrypt_log2n = options.max_scrypt_log2n;
  plan.salvage = options.salvage;
  if (options.given("--offset")) plan.offset = parse_size(options.offset, "--offset");
  if (options.given("--length")) plan.length = parse_size(options.length, "--length");
  if (options.wants_part()) {
    if (!options.output.path_given && !options.output.standard_output && !options.data_on_stdin()) {
      throw InvalidArgument(
          "the output of --offset and --length has no default name: give -o FILE or -c");
    }
    if (options.salvage) {
      throw InvalidArgument("--salvage saves a whole message: leave --offset and --length out");
    }
  }
}

// The name of an input or output that means a descriptor; empty if none does, as far as the text of
// the inputs tells.
std::string name_of_descriptor(const CryptOptions& options) {
  if (options.output.descriptor) return options.output.path;
  for (const std::string& input : options.inputs) {
    if (system::descriptor_in(input)) return input;
  }
  return "";
}

void refuse_rm(const CryptOptions& options, Verb verb) {
  if (!options.remove) return;
  if (options.data_on_stdin() || options.data_on_stdout()) {
    throw InvalidArgument("--rm needs files as input and output, not standard input or output");
  }
  if (const std::string name = name_of_descriptor(options); !name.empty()) {
    throw InvalidArgument(fmt::format(
        "--rm needs files as input and output, and {} is a file descriptor: leave --rm out", name));
  }
  if (verb == Verb::decrypt && (options.salvage || options.wants_part())) {
    throw InvalidArgument("--rm would remove data that was not decrypted: leave --rm out");
  }
}

void refuse_update(const CryptOptions& options, Verb verb) {
  if (!options.output.update) return;
  if (options.data_on_stdin() || options.data_on_stdout()) {
    throw InvalidArgument("--update compares files: it goes with no standard input or output");
  }
  if (const std::string name = name_of_descriptor(options); !name.empty()) {
    throw InvalidArgument(fmt::format(
        "--update compares files, and {} is a file descriptor: leave --update out", name));
  }
  if (verb == Verb::decrypt && (options.salvage || options.wants_part())) {
    throw InvalidArgument(
        "--update would leave out files whose output is a part or damaged: leave --update out");
  }
}

// Refuses two outputs, an empty name, and a folder as the output of what has no default name in it.
void refuse_output(const CryptOptions& options) {
  const OutputOptions& output = options.output;
  const bool is_standard_output = output.path == "-" || output.descriptor == STDOUT_FILENO;
  if (output.path_given && output.standard_output && !is_standard_output) {
    throw InvalidArgument("-c and -o name two outputs; give one");
  }
  if (output.path_given && output.path.empty()) throw InvalidArgument("-o has an empty name");
  if (options.has_several_inputs() && output.descriptor) {
    throw InvalidArgument(fmt::format(
        "{}: it is a file descriptor, which takes one output: name a folder with -o", output.path));
  }
  if (options.has_several_inputs() || !output.folder) return;
  const bool part = options.wants_part();
  if (!part && !options.data_on_stdin()) return;
  throw InvalidArgument(
      fmt::format("{}: it is a folder, in which {} has no default name; name the "
                  "output file",
                  options.output.path, part ? "a part of a message" : "standard input"));
}

// Refuses an --exclude that matches the only input.
void refuse_exclude(const CryptOptions& options) {
  const std::string& input = options.inputs[0];
  if (Exclusions(options.exclude).match(file_name_of(input), input, false)) {
    throw InvalidArgument(fmt::format("--exclude matches {}, the only input", input));
  }
}

void refuse_scrypt(const CryptOptions& options, const KeyOptions& keys, const char* flag) {
  if (keys.kind() == SecretKind::passphrase) return;
  refuse(options, {flag},
         keys.kind() == SecretKind::key ? "passphrases, not with a key"
                                        : "passphrases, not with recipients");
}

void plan_rekey(const CryptOptions& options) {
  for (const std::string& input : options.inputs) {
    if (input == "-") throw InvalidArgument(why_no_input(options, Verb::rekey));
  }
  if (options.to.sources().empty()) {
    throw InvalidArgument(
        "rekey needs new keys: --to-recipient KEY, --to-recipients-file FILE, --to-key-file FILE, "
        "--to-passphrase (asks) or --to-passphrase-file FILE");
  }
  check_secret_source(options.to, options.format,
                      {.key = true, .passphrase = true, .recipients = true}, false);
  const std::string old_flag = secret_on_stdin(options.keys);
  const std::string new_flag = secret_on_stdin(options.to);
  if (!old_flag.empty() && !new_flag.empty()) {
    throw InvalidArgument(fmt::format(
        "{} and {} both need standard input; use a file for one of them", old_flag, new_flag));
  }
}

// Checks the descriptors that names mean, before this process opens any of its own.
void check_descriptors(const CryptOptions& options) {
  const auto check = [&](const std::string& name, Access access, std::optional<int> number) {
    if (number && !options.output.launched) check_descriptor(*number, name, access);
    // What MPI has open would be taken for it; and other ranks have other standard descriptors.
    if (number && options.output.launched && *number > STDERR_FILENO) {
      throw InvalidArgument(fmt::format(
          "{}: paraes-mpi reads and writes no other descriptors than standard input and output: "
          "name a file",
          name));
    }
  };
  check(options.output.path, Access::write, options.output.descriptor);
  for (const std::string& input : options.inputs) {
    check(input, Access::read, system::descriptor_in(input));
  }
  if (options.output.launched) return;
  for (const KeyOptions* keys : {&options.keys, &options.to}) {
    std::vector<std::string> names = keys->identities;
    names.insert(names.end(), keys->recipients_files.begin(), keys->recipients_files.end());
    names.insert(names.end(), {keys->key_file, keys->passphrase_file});
    for (const std::string& name : names) {
      check(name, Access::read, system::descriptor_in(name));
    }
  }
}

void plan_secrets(const CryptOptions& options, const Plan& plan) {
  const bool paraes = plan.format == Format::paraes;
  const SecretKinds kinds = {.key = plan.format != Format::openssl,
                             .passphrase = paraes || plan.format == Format::openssl,
                             .recipients = paraes};
  check_secret_source(options.keys, options.format, kinds, options.reads_standard_input(false));
  const bool rekey = plan.verb == Verb::rekey;
  if (rekey) plan_rekey(options);
  if (!paraes) return;
  refuse_scrypt(options, rekey ? options.to : options.keys, "--scrypt-log2n");
  refuse_scrypt(options, options.keys, "--max-scrypt-log2n");
}

}  // namespace

const char* format_name(Format format) {
  return format_choices.at(static_cast<std::size_t>(format)).word;
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
      break;
  }
  return "XTS";
}

std::vector<std::uint8_t> parse_hex(const std::string& text, const char* flag) {
  if (text.find_first_not_of("0123456789abcdefABCDEF") != std::string::npos) {
    throw InvalidArgument(fmt::format("{} has a character that is not a hex digit", flag));
  }
  if (text.size() % 2 != 0) {
    throw InvalidArgument(fmt::format("{} has {} hex digits, an odd number; a byte is two digits",
                                      flag, text.size()));
  }
  std::vector<std::uint8_t> bytes;
  bytes.reserve(text.size() / 2);
  for (std::size_t i = 0; i < text.size(); i += 2) {
    bytes.push_back(static_cast<std::uint8_t>(std::stoul(text.substr(i, 2), nullptr, 16)));
  }
  return bytes;
}

Format parse_format(const CryptOptions& options) {
  if (const auto format = find_choice(format_choices, options.format)) return *format;
  throw InvalidArgument(fmt::format("--format {}: there is no such format; the formats are {}",
                                    options.format, listed(words_of(format_choices), "and")));
}

void parse_tink(const CryptOptions& options, Plan& plan) {
  if (plan.format != Format::tink) {
    refuse(options, {"--segment-size", "--tink-hash"}, "--format tink");
    return;
  }
  plan.tink_flags = options.given("--segment-size") || options.given("--tink-hash");
  if (options.given("--segment-size")) {
    plan.segment_bytes = parse_size(options.segment_size, "--segment-size");
  }
  if (options.given("--tink-hash")) {
    plan.tink_hash = pick("--tink-hash", tink_hash_choices, options.tink_hash);
  }
}

void check_passphrase_fd(const CryptOptions& options, const KeyOptions& keys, Verb verb) {
  if (!keys.passphrase_fd) return;
  const int number = *keys.passphrase_fd;
  const auto refuse_it = [&](const char* why) {
    throw InvalidArgument(
        fmt::format("{0} {1}: {2}; open one to read the passphrase, as in `{0} 3 3< FILE`",
                    keys.flag("passphrase-fd"), number, why));
  };
  if (number == STDOUT_FILENO) refuse_it("this descriptor is standard output");
  if (number == STDERR_FILENO) refuse_it("this descriptor is standard error");
  const int flags = fcntl(number, F_GETFL);
  struct stat status = {};
  if (flags < 0 || fstat(number, &status) != 0) refuse_it("there is no such open file descriptor");
  const int access = flags & O_ACCMODE;
  if (access == O_WRONLY || system::only_names_a_file(flags))
    refuse_it("this descriptor is not open to read");
  if (S_ISDIR(status.st_mode)) refuse_it("this descriptor is a folder");
  // Other programs that the run starts must not get it.
  fcntl(number, F_SETFD, FD_CLOEXEC);
  // A pipe or socket must not be the output, too: the run would read back what it writes. Files
  // that hold a secret are never overwritten, and a terminal has two directions.
  const bool writes_there = verb == Verb::encrypt || verb == Verb::decrypt;
  if (!writes_there || !(S_ISFIFO(status.st_mode) || S_ISSOCK(status.st_mode))) return;
  const OutputOptions& output = options.output;
  struct stat target = {};
  const bool found = options.data_on_stdout() ? fstat(STDOUT_FILENO, &target) == 0
                     : output.descriptor
                         ? fstat(*output.descriptor, &target) == 0
                         : output.path_given && stat(output.path.c_str(), &target) == 0;
  if (found && FileId(status) == FileId(target)) refuse_it("this descriptor is the output");
}

std::uint64_t Plan::plain_bytes(std::uint64_t bytes) const {
  if (verb == Verb::encrypt || !is_authenticated(format)) return bytes;
  try {
    const SegmentLayout layout =
        format == Format::tink
            ? tink_layout({.segment_bytes = segment_bytes})
            : c2sp_layout(format == Format::paraes ? paraes_header_bytes : c2sp_header_bytes);
    return layout.extent_of(bytes).plain_bytes;
  } catch (const Error&) {
    return bytes;  // no message has this size
  }
}

Plan make_plan(const CryptOptions& options, Verb verb) {
  if (options.inputs.empty()) throw InvalidArgument(why_no_input(options, verb));
  check_descriptors(options);
  if (options.progress && options.no_progress) {
    throw InvalidArgument("--progress and --no-progress contradict each other; give one of them");
  }
  Plan plan;
  plan.verb = verb;
  plan.format = parse_format(options);
  plan.format_named = options.given("--format");
  check_key_bits(options, plan.format);
  plan.key_bits = options.key_bits;
  if (is_authenticated(plan.format)) {
    plan_authenticated(options, plan);
  } else {
    if (verb == Verb::verify) {
      throw InvalidArgument(fmt::format(
          "--format {} is not authenticated: there is nothing to verify", options.format));
    }
    refuse(options, {"--context-hex", "--salvage", "--offset", "--length"},
           "the authenticated formats paraes, c2sp and tink");
    refuse(options, {"--segment-size", "--tink-hash"}, "--format tink");
    refuse(options, {"--scrypt-log2n", "--max-scrypt-log2n"}, "--format paraes");
    if (plan.format == Format::raw) {
      plan_raw(options, plan);
    } else {
      plan_openssl(options, plan);
    }
  }
  plan_secrets(options, plan);
  plan_execution(options, plan);
  refuse_rm(options, verb);
  refuse_update(options, verb);
  refuse_output(options);
  if (!options.has_several_inputs()) refuse_exclude(options);
  return plan;
}

}  // namespace paraes::cli
