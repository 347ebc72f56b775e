// info: shows what the header of an encrypted file says, without its key; and with the key, which
// tensors the file has.

#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/arguments/flags.hpp"
#include "cli/arguments/options.hpp"
#include "cli/plan/plan.hpp"
#include "cli/plan/secrets.hpp"
#include "cli/secrets/age_keys.hpp"
#include "cli/secrets/foreign.hpp"
#include "cli/secrets/keys.hpp"
#include "cli/secrets/message_factory.hpp"
#include "cli/streams/input.hpp"
#include "cli/terminal/messages.hpp"
#include "cli/verbs/verbs.hpp"
#include "cli/words/choices.hpp"
#include "cli/words/errors.hpp"
#include "cli/words/sizes.hpp"
#include "paraes/error.hpp"
#include "paraes/memory.hpp"
#include "paraes/recipients.hpp"

namespace paraes::cli {
namespace {

// A tensor of a safetensors file.
struct Tensor {
  std::string name;
  std::string dtype;
  std::vector<std::uint64_t> shape;
  std::uint64_t begin = 0;
  std::uint64_t bytes = 0;
};

struct Info {
  Format format = Format::paraes;
  unsigned key_bits = 0;
  std::optional<Preface> preface;
  SegmentLayout layout;
  std::optional<std::uint64_t> sealed_bytes;  // unknown for a pipe
  std::optional<SegmentLayout::Extent> extent;
  bool is_device = false;  // which may be larger than the message
  // The rest is for a message with recipients.
  std::vector<AgeStanza> stanzas;
  std::size_t age_file_bytes = 0;
  std::optional<bool> opens;  // whether the secret opens it, if one was given
  std::string why_not;
  std::optional<std::vector<Tensor>> tensors;  // nothing unless it is opened, and has them
  std::string damage;                          // of the segments that might have them
  bool needs_context = false;  // --identity opens the slot, but the message needs another context
};

// ---- Tensors

// Bytes [offset, offset + length) of the plaintext, authenticated.
std::vector<std::uint8_t> read_part(PositionalSource& source, const Message& message,
                                    std::uint64_t offset, std::uint64_t length) {
  class Bytes final : public Sink {
   public:
    void write(paraes::Bytes data) override { all.insert(all.end(), data.begin(), data.end()); }
    void commit() override {}
    std::vector<std::uint8_t> all;
  };
  Bytes sink;
  OpenOptions part;
  part.offset = offset;
  part.length = length;
  open_message(source, message, sink, part);
  return std::move(sink.all);
}

// Nothing if it is no description of a tensor.
std::optional<Tensor> tensor_of(const std::string& name, const nlohmann::json& value) {
  const auto is_size = [](const nlohmann::json& number) { return number.is_number_unsigned(); };
  if (!value.is_object()) return {};
  const nlohmann::json dtype = value.value("dtype", nlohmann::json());
  const nlohmann::json shape = value.value("shape", nlohmann::json());
  const nlohmann::json offsets = value.value("data_offsets", nlohmann::json());
  if (!dtype.is_string() || !shape.is_array() || !std::ranges::all_of(shape, is_size) ||
      !offsets.is_array() || offsets.size() != 2 || !std::ranges::all_of(offsets, is_size) ||
      offsets[1] < offsets[0]) {
    return {};
  }
  const auto begin = offsets[0].get<std::uint64_t>();
  return Tensor{.name = name,
                .dtype = dtype.get<std::string>(),
                .shape = shape.get<std::vector<std::uint64_t>>(),
                .begin = begin,
                .bytes = offsets[1].get<std::uint64_t>() - begin};
}

// The tensors of a safetensors file, in the order of their places; nothing if it is none.
std::optional<std::vector<Tensor>> tensors_in(PositionalSource& source, const Message& message,
                                              std::uint64_t plain_bytes) {
  constexpr std::uint64_t length_bytes = 8;
  constexpr std::uint64_t most_bytes = 100'000'000;  // as in safetensors
  if (plain_bytes <= length_bytes) return {};
  std::uint64_t length = 0;
  const std::vector<std::uint8_t> start = read_part(source, message, 0, length_bytes);
  for (std::size_t i = length_bytes; i-- > 0;) length = length << 8 | start[i];
  if (length < 2 || length > std::min(most_bytes, plain_bytes - length_bytes)) return {};
  const std::vector<std::uint8_t> text = read_part(source, message, length_bytes, length);
  const auto header = nlohmann::json::parse(text.begin(), text.end(), nullptr, false);
  if (!header.is_object()) return {};
  std::vector<Tensor> tensors;
  for (const auto& [name, value] : header.items()) {
    if (name == "__metadata__") continue;
    std::optional<Tensor> tensor = tensor_of(name, value);
    if (!tensor) return {};
    tensors.push_back(std::move(*tensor));
  }
  std::ranges::stable_sort(tensors, {}, &Tensor::begin);
  return tensors;
}

void look_for_tensors(Source& source, Message::Parts parts, Info& info) {
  auto* const file = dynamic_cast<PositionalSource*>(&source);
  if (file == nullptr) return;
  const Message message(std::move(parts));
  const std::uint64_t bytes = message.layout().extent_of(file->size()).plain_bytes;
  try {
    info.tensors = tensors_in(*file, message, bytes);
  } catch (const IntegrityError& error) {
    info.damage = error.what();
  }
}

// ---- Secrets

void open_with_secret(const Plan& plan, Bytes header, Source& source, Info& info) {
  KnownSecrets none;  // nothing is replaced or removed
  MessageFactory messages(plan, plan.keys, none);
  MemorySource head(header);
  try {
    Message::Parts parts = messages.open_header(head).parts;
    info.opens = true;
    look_for_tensors(source, std::move(parts), info);
  } catch (const WrongKey& error) {
    info.opens = false;
    info.why_not = error.what();
  }
}

void look_for_recipients(const Plan& plan, Bytes header, Source& source, Info& info) {
  if (info.preface->kdf != Kdf::recipients) {
    if (plan.keys.kind() != SecretKind::recipients) return;
    throw InvalidArgument(
        "the input has no recipients, so no identity opens it: leave --identity out");
  }
  const Bytes age_file = age_file_of(header);
  info.stanzas = parse_age_header(age_file);
  info.age_file_bytes = age_file.size();
  if (plan.keys.kind() != SecretKind::recipients) return;
  SecretBytes input_key;
  try {
    KnownSecrets none;  // nothing is replaced or removed
    AgeKeys keys(plan.keys, plan.secret_variables(), none);
    input_key = open_slot(header, keys.of_header(header).span());
    info.opens = true;
  } catch (const WrongKey& error) {
    info.opens = false;
    info.why_not = error.what();
    return;
  }
  try {
    look_for_tensors(source, open_paraes_message(header, input_key.span(), plan.context), info);
  } catch (const WrongKey&) {
    info.needs_context = true;
  }
}

void look_at_paraes(const Plan& plan, Source& source, Info& info) {
  const std::vector<std::uint8_t> header = read_paraes_header(source);
  if (!plan.format_named && !looks_like_paraes(header)) {
    if (const std::string foreign = foreign_file(header); !foreign.empty()) {
      throw refusal("the input looks like {}", foreign);
    }
    throw InvalidArgument(
        "the input does not begin like a paraes message; name c2sp or tink with --format (raw and "
        "openssl have no header to show)");
  }
  info.preface = Preface::parse(Bytes(header).first(std::min(header.size(), Preface::bytes)));
  info.key_bits = info.preface->key_bits;
  info.layout = c2sp_layout(paraes_header_bytes + info.preface->wrap_bytes);
  if (plan.keys.kind() != SecretKind::recipients && !plan.keys.given().empty()) {
    open_with_secret(plan, header, source, info);
  }
  look_for_recipients(plan, header, source, info);
}

Info look(const Plan& plan, const std::string& name) {
  const Input input = open_input(plan.inputs[0], name);
  Info info;
  info.format = plan.format;
  info.sealed_bytes = input.source->remaining();
  info.is_device = S_ISBLK(input.status.st_mode);
  if (plan.format == Format::paraes) {
    look_at_paraes(plan, *input.source, info);
  } else if (plan.format == Format::c2sp) {
    info.key_bits = plan.key_bits;
    info.layout = c2sp_layout();
  } else {
    std::array<std::uint8_t, 1> start{};
    const bool empty = input.source->read(start) == 0;
    TinkParameters parameters = plan.tink_parameters();
    const unsigned length = empty ? 0 : start[0];
    if (length != 24 && length != 40) {
      throw IntegrityError(
          fmt::format("the input is not a Tink stream: its first byte says that the header has {} "
                      "bytes",
                      length));
    }
    parameters.derived_key_bytes = length - 8;
    info.key_bits = 8 * (length - 8);
    if (plan.key_bits != 0 && plan.key_bits != info.key_bits) {
      throw refusal("--key-bits {} contradicts the header, which is for AES-{}", plan.key_bits,
                    info.key_bits);
    }
    info.layout = tink_layout(parameters);
  }
  if (info.sealed_bytes) info.extent = info.layout.extent_of(*info.sealed_bytes);
  return info;
}

const char* kdf_name(Kdf kdf) {
  switch (kdf) {
    case Kdf::none:
      return "none";
    case Kdf::scrypt:
      return "scrypt";
    case Kdf::recipients:
      break;
  }
  return "recipients";
}

// The first argument of an SSH stanza is the tag of its key: four bytes of a hash.
bool has_tag(const AgeStanza& stanza) {
  return stanza.type.starts_with("ssh-") && !stanza.arguments.empty();
}

// A field that is unknown, or that the format does not have, is null.
nlohmann::ordered_json or_null(bool known, const auto& value) {
  return known ? nlohmann::ordered_json(value) : nlohmann::ordered_json();
}

void add_tensors(const Info& info, nlohmann::ordered_json& object) {
  object["tensors"] = nullptr;
  if (info.tensors) {
    object["tensors"] = nlohmann::ordered_json::array();
    for (const Tensor& tensor : *info.tensors) {
      object["tensors"].push_back({{"name", tensor.name},
                                   {"dtype", tensor.dtype},
                                   {"shape", tensor.shape},
                                   {"bytes", tensor.bytes}});
    }
  }
  object["damage"] = or_null(!info.damage.empty(), info.damage);
}

std::string as_json(const Plan& plan, const Info& info) {
  const bool has_preface = info.preface.has_value();
  const Preface preface = info.preface.value_or(Preface());
  const auto extent = info.extent.value_or(SegmentLayout::Extent());
  nlohmann::ordered_json object;
  object["input"] = plan.inputs[0];
  object["format"] = format_name(info.format);
  object["version"] = or_null(has_preface, 1);
  object["cipher"] =
      info.key_bits == 0 ? std::string("AES-GCM") : fmt::format("AES-{}-GCM", info.key_bits);
  object["kdf"] = or_null(has_preface, kdf_name(preface.kdf));
  object["scrypt_log2n"] = or_null(preface.kdf == Kdf::scrypt, preface.scrypt_log2n);
  object["header_bytes"] = info.layout.header_bytes;
  object["segment_bytes"] = info.layout.segment_bytes;
  object["bytes"] = or_null(info.sealed_bytes.has_value(), info.sealed_bytes.value_or(0));
  object["plain_bytes"] = or_null(info.extent.has_value(), extent.plain_bytes);
  object["segments"] = or_null(info.extent.has_value(), extent.segments);
  if (info.opens) add_tensors(info, object);
  const auto why_not = or_null(!info.why_not.empty(), info.why_not);
  if (info.opens && preface.kdf != Kdf::recipients) {
    object["key_opens"] = *info.opens;
    object["why_not"] = why_not;
  }
  if (preface.kdf == Kdf::recipients) {
    object["wrap_bytes"] = preface.wrap_bytes;
    object["age_file_bytes"] = info.age_file_bytes;
    object["recipients"] = nlohmann::ordered_json::array();
    for (const AgeStanza& stanza : info.stanzas) {
      nlohmann::ordered_json one = {{"type", stanza.type}, {"tag", nullptr}};
      if (has_tag(stanza)) one["tag"] = stanza.arguments[0];
      object["recipients"].push_back(std::move(one));
    }
    const bool opens = info.opens.value_or(false);
    object["identity_opens"] = or_null(info.opens.has_value(), opens);
    object["needs_context"] = or_null(opens, info.needs_context);
    object["why_not"] = why_not;
  }
  return object.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

std::string recipients_text(const Info& info) {
  std::string list;
  for (const AgeStanza& stanza : info.stanzas) {
    list += list.empty() ? "" : ", ";
    list += stanza.type;
    if (has_tag(stanza)) list += fmt::format(" (tag {})", stanza.arguments[0]);
    // rage adds such a stanza, so that readers do not fail on types that they do not know.
    if (stanza.type.ends_with("-grease")) list += " (filler)";
  }
  std::string text = fmt::format("recipients {}\n", list);
  text += fmt::format("wrap       {} bytes: an age file of {} and a slot of {}\n",
                      info.preface->wrap_bytes, info.age_file_bytes,
                      info.preface->wrap_bytes - info.age_file_bytes);
  if (!info.opens) return text;
  if (!*info.opens) return text + fmt::format("identity   does not open it: {}\n", info.why_not);
  text += "identity   opens it";
  text += info.needs_context ? ", with a context (--context-hex), unless the header is damaged\n"
                             : "\n";
  return text;
}

// Names are shown as JSON has them: they may have any characters.
std::string tensors_text(const Info& info) {
  if (!info.damage.empty()) return fmt::format("damage     {}\n", info.damage);
  if (!info.tensors) return "";
  std::uint64_t bytes = 0;
  for (const Tensor& tensor : *info.tensors) bytes += tensor.bytes;
  std::string text = fmt::format("tensors    {}, of {} bytes\n", info.tensors->size(), bytes);
  for (const Tensor& tensor : *info.tensors) {
    const nlohmann::json name = tensor.name;
    const nlohmann::json dtype = tensor.dtype;
    const nlohmann::json shape = tensor.shape;
    text += fmt::format("  {} {} {}\n", name.dump(-1, ' ', true), dtype.dump(-1, ' ', true),
                        shape.dump());
  }
  return text;
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
  } else if (info.preface && info.preface->kdf == Kdf::recipients) {
    text += "key        a random one, encrypted to recipients\n" + recipients_text(info);
  } else {
    text += "key        a key file\n";
  }
  if (info.opens && info.preface->kdf != Kdf::recipients) {
    text += fmt::format("given      {}\n", *info.opens ? "a secret that opens it"
                                                       : "a secret that does not: " + info.why_not);
  }
  text += fmt::format("header     {} bytes\n", info.layout.header_bytes);
  text += fmt::format("segments   {}{} of plaintext each\n",
                      info.extent ? fmt::format("{}, ", info.extent->segments) : "",
                      format_size(info.layout.segment_bytes));
  if (info.extent) {
    text += fmt::format("size       {} bytes{}, of which {}{} are plaintext\n", *info.sealed_bytes,
                        info.is_device ? " of a device" : "", info.is_device ? "at most " : "",
                        info.extent->plain_bytes);
  } else {
    text += "size       unknown: the input is a pipe\n";
  }
  const bool is_open = info.opens.value_or(false) && !info.needs_context;
  if (!is_open) {
    return text + "None of this is authenticated: `paraes verify` does that, with the key.";
  }
  text += tensors_text(info);
  return text + "The header is authentic" +
         (info.tensors ? ", and so are the tensors' names" : "") +
         ". `paraes verify` authenticates everything.";
}

constexpr const char* info_footer = R"(
Without a key it cannot authenticate the header: anybody could have changed it. Without FILE,
standard input is read, unless it is a terminal.

With the key, the passphrase or an identity it says whether that opens the file, and authenticates
the header. It then also lists the tensors of a safetensors file: their names, dtypes and shapes.
The exit status is 5 if the file is not opened.

For a file with recipients it lists how age wrapped the key for each (X25519 is an age1... key), and
the tags of SSH keys.

Examples:
  paraes info big.tar.paes
  paraes info --json < big.tar.paes
  paraes info -i ~/.ssh/id_ed25519 big.tar.paes
  paraes info -k my.key model.safetensors.paes
  paraes info --format tink --segment-size 4KiB stream.bin)";

int run_info(const CryptOptions& options) {
  Reporting reporting;
  const Plan plan = make_plan(options, {.stdin_is_terminal = isatty(STDIN_FILENO) != 0}, reporting);
  if (plan.starts_programs()) hide_descriptors(plan.keys);
  warn_of_open_files(protected_files(plan));
  const std::string name = input_name(plan.inputs[0]);
  Info info;
  try {
    info = look(plan, name);
  } catch (const Error& error) {
    say(with_name(error_text(error), {name}));
    return exit_status(error);
  }
  print_line(stdout, reporting.json ? as_json(plan, info) : as_text(info));
  if (!info.opens.value_or(true)) return exit_wrong_key;
  return info.damage.empty() ? exit_done : exit_not_intact;
}

}  // namespace

void add_info(CLI::App& app, int& status, const NamedFlags& named) {
  CLI::App* verb = app.add_subcommand("info", "Shows what the header of an encrypted file says.");
  const auto options = std::make_shared<CryptOptions>(Verb::info);
  add_crypt_flags(*verb, *options, named);
  verb->footer(info_footer);
  verb->callback([options, &status] { status = run_info(*options); });
}

}  // namespace paraes::cli
