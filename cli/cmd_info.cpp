// info: shows what the header of an encrypted file says, without its key.

#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/input.hpp"
#include "cli/plan.hpp"
#include "cli/report.hpp"
#include "cli/sizes.hpp"
#include "cli/verbs.hpp"
#include "paraes/error.hpp"

namespace paraes::cli {
namespace {

struct Info {
  Format format = Format::paraes;
  unsigned key_bits = 0;
  std::optional<Preface> preface;
  SegmentLayout layout;
  std::optional<std::uint64_t> sealed_bytes;  // unknown for a pipe
  std::optional<SegmentLayout::Extent> extent;
};

Plan plan_of(const CryptOptions& options) {
  if (options.inputs.empty()) throw InvalidArgument(why_no_input(options, Verb::info));
  Plan plan;
  plan.format = parse_format(options);
  if (!is_authenticated(plan.format)) {
    throw InvalidArgument(fmt::format("--format {} has no header to show", options.format));
  }
  parse_tink(options, plan);
  if (options.given("--key-bits")) {
    if (plan.format == Format::paraes) {
      throw InvalidArgument(
          "--key-bits goes with --format c2sp and tink; a paraes header holds the size");
    }
  }
  return plan;
}

Info look(const CryptOptions& options, const Plan& plan, const std::string& name) {
  const Input input = open_input(options.inputs[0], name);
  Info info;
  info.format = plan.format;
  info.sealed_bytes = input.source->remaining();
  std::array<std::uint8_t, paraes_header_bytes> header{};
  const Bytes start = Bytes(header).first(input.source->read(header));
  if (plan.format == Format::paraes) {
    if (!options.given("--format") && !looks_like_paraes(start)) {
      throw InvalidArgument(
          "the input does not begin like a paraes message; name c2sp or tink with --format (raw "
          "and openssl have no header to show)");
    }
    info.preface = Preface::parse(start.first(std::min(start.size(), Preface::bytes)));
    info.key_bits = info.preface->key_bits;
    info.layout = c2sp_layout(paraes_header_bytes);
  } else if (plan.format == Format::c2sp) {
    info.key_bits = options.key_bits;
    info.layout = c2sp_layout();
  } else {
    TinkParameters parameters;
    parameters.segment_bytes = plan.segment_bytes;
    const unsigned length = start.empty() ? 0 : start[0];
    if (length != 24 && length != 40) {
      throw IntegrityError(
          fmt::format("the input is not a Tink stream: its first byte says that the header has {} "
                      "bytes",
                      length));
    }
    parameters.derived_key_bytes = length - 8;
    info.key_bits = 8 * (length - 8);
    if (options.given("--key-bits") && options.key_bits != info.key_bits) {
      throw InvalidArgument(fmt::format("--key-bits {} contradicts the header, which is for AES-{}",
                                        options.key_bits, info.key_bits));
    }
    info.layout = tink_layout(parameters);
  }
  if (info.sealed_bytes) info.extent = info.layout.extent_of(*info.sealed_bytes);
  return info;
}

std::string as_json(const CryptOptions& options, const Info& info) {
  const bool scrypt = info.preface && info.preface->kdf == Kdf::scrypt;
  // A field that is unknown, or that the format does not have, stays null.
  nlohmann::ordered_json object;
  object["input"] = options.inputs[0];
  object["format"] = format_name(info.format);
  object["version"] = nullptr;
  object["cipher"] =
      info.key_bits == 0 ? std::string("AES-GCM") : fmt::format("AES-{}-GCM", info.key_bits);
  object["kdf"] = nullptr;
  object["scrypt_log2n"] = nullptr;
  object["header_bytes"] = info.layout.header_bytes;
  object["segment_bytes"] = info.layout.segment_bytes;
  object["bytes"] = nullptr;
  object["plain_bytes"] = nullptr;
  object["segments"] = nullptr;
  if (info.preface) {
    object["version"] = 1;
    object["kdf"] = scrypt ? "scrypt" : "none";
  }
  if (scrypt) object["scrypt_log2n"] = info.preface->scrypt_log2n;
  if (info.sealed_bytes) object["bytes"] = *info.sealed_bytes;
  if (info.extent) {
    object["plain_bytes"] = info.extent->plain_bytes;
    object["segments"] = info.extent->segments;
  }
  return object.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

std::string as_text(const Info& info) {
  std::string text =
      fmt::format("format     {}{}\n", format_name(info.format), info.preface ? ", version 1" : "");
  text += info.key_bits == 0 ? "cipher     AES-128-GCM or AES-256-GCM, depending on the key\n"
                             : fmt::format("cipher     AES-{}-GCM\n", info.key_bits);
  if (info.preface && info.preface->kdf == Kdf::scrypt) {
    const unsigned n = info.preface->scrypt_log2n;
    text += fmt::format(
        "key        from a passphrase by scrypt, N = 2^{}, r = 8, p = 1 ({})\n", n,
        n < 50 ? format_size(std::uint64_t{1} << (n + 10)) : "more than any machine has");
  } else {
    text += "key        a key file\n";
  }
  text += fmt::format("header     {} bytes\n", info.layout.header_bytes);
  text += fmt::format("segments   {}{} of plaintext each\n",
                      info.extent ? fmt::format("{}, ", info.extent->segments) : "",
                      format_size(info.layout.segment_bytes));
  if (info.extent) {
    text += fmt::format("size       {} bytes, of which {} are plaintext\n", *info.sealed_bytes,
                        info.extent->plain_bytes);
  } else {
    text += "size       unknown: the input is a pipe\n";
  }
  return text + "None of this is authenticated: `paraes verify` does that, with the key.";
}

constexpr const char* info_footer = R"(
Needs no key, so it cannot authenticate the header: anybody could have changed it. Without FILE,
standard input is read, unless it is a terminal.

Examples:
  paraes info big.tar.paes
  paraes info --json < big.tar.paes
  paraes info --format tink --segment-size 4KiB stream.bin)";

}  // namespace

void add_info(CLI::App& app, int& status) {
  CLI::App* verb = app.add_subcommand("info", "Shows what the header of an encrypted file says.");
  const auto options = std::make_shared<CryptOptions>();
  add_crypt_options(*verb, *options, Verb::info);
  verb->footer(info_footer);
  verb->callback([options, &status] {
    default_to_standard_input(*options, isatty(STDIN_FILENO) != 0);
    const Plan plan = plan_of(*options);
    const std::string name = input_name(options->inputs[0]);
    Info info;
    try {
      info = look(*options, plan, name);
    } catch (const Error& error) {
      say(with_name(error_text(error), {name}));
      status = exit_status(error);
      return;
    }
    print_line(stdout, options->json ? as_json(*options, info) : as_text(info));
    status = exit_done;
  });
}

}  // namespace paraes::cli
