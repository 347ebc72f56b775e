// The wrap of a message with recipients: an age file, and a slot.

#include "paraes/recipients.hpp"

#include <algorithm>
#include <array>
#include <exception>
#include <optional>
#include <utility>

#include "paraes/error.hpp"
#include "paraes/segments.hpp"
#include "src/messages/headers.hpp"
#include "src/messages/preface_fields.hpp"

namespace paraes {
namespace {

constexpr std::string_view age_version = "age-encryption.org/v1";
constexpr std::string_view armor_start = "-----BEGIN AGE ENCRYPTED FILE-----";

[[noreturn]] void refuse(const std::string& why) {
  throw IntegrityError("the header is damaged: its age file " + why);
}

// Takes the next line, without its newline. Empty if there is none.
std::optional<std::string_view> take_line(std::string_view& text) {
  const std::size_t end = text.find('\n');
  if (end == std::string_view::npos) return std::nullopt;
  const std::string_view line = text.substr(0, end);
  text.remove_prefix(end + 1);
  return line;
}

bool is_base64(std::string_view text) {
  return std::ranges::all_of(text, [](char c) {
    return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '+' ||
           c == '/';
  });
}

// "-> TYPE ARGUMENT…", each of printable characters.
AgeStanza parse_stanza_line(std::string_view line) {
  line.remove_prefix(2);
  AgeStanza stanza;
  while (!line.empty()) {
    line.remove_prefix(1);  // the space
    const std::string_view word = line.substr(0, line.find(' '));
    line.remove_prefix(word.size());
    const bool printable = std::ranges::all_of(word, [](char c) { return c > ' ' && c < '\x7f'; });
    if (word.empty() || !printable) refuse("has a malformed stanza");
    if (stanza.type.empty()) {
      stanza.type = word;
    } else {
      stanza.arguments.emplace_back(word);
    }
  }
  if (stanza.type.empty()) refuse("has a stanza without a type");
  return stanza;
}

// Lines of 64 characters, and a shorter one at the end, which may be empty.
void skip_body(std::string_view& text) {
  constexpr std::size_t full = 64;
  for (;;) {
    const auto line = take_line(text);
    if (!line || line->size() > full || !is_base64(*line)) refuse("has a malformed stanza");
    if (line->size() < full) return;
  }
}

// The message in a slot, which is too small for anything but the CPU.
Message slot_message(Message::Parts parts) {
  Execution execution;
  execution.kernel = "auto";
  return {std::move(parts), execution};
}

// Takes the header from the start of `text`.
std::vector<AgeStanza> take_age_header(std::string_view& text) {
  if (text.starts_with(armor_start)) refuse("is armored (PEM), not binary");
  if (take_line(text) != age_version) {
    refuse("does not begin with " + std::string(age_version));
  }
  std::vector<AgeStanza> stanzas;
  for (;;) {
    const auto line = take_line(text);
    if (!line) refuse("has an incomplete header");
    if (line->starts_with("-> ")) {
      AgeStanza stanza = parse_stanza_line(*line);
      if (stanza.type == "scrypt") {
        refuse("needs a passphrase (a stanza of the type scrypt), which paraes never writes");
      }
      stanzas.push_back(std::move(stanza));
      skip_body(text);
      continue;
    }
    // "--- MAC", of 32 bytes.
    constexpr std::size_t mac_characters = 43;
    if (!line->starts_with("--- ") || line->size() != 4 + mac_characters ||
        !is_base64(line->substr(4))) {
      refuse("has a malformed header");
    }
    if (stanzas.empty()) refuse("has no recipients");
    return stanzas;
  }
}

std::string_view text_of(Bytes bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// The parts of a header that begins with a preface and a wrap.
struct WrapParts {
  Preface preface;
  Bytes age_file;
  Bytes slot;
};

WrapParts split_wrap(Bytes header) {
  WrapParts parts;
  parts.preface = Preface::parse(header.first(std::min(header.size(), Preface::bytes)));
  if (parts.preface.kdf != Kdf::recipients) {
    throw InvalidArgument("the message has no recipients, and so no wrap");
  }
  const std::size_t bytes = parts.preface.wrap_bytes;
  if (header.size() - Preface::bytes < bytes) {
    throw IntegrityError("the input is truncated: it ends within its header");
  }
  const Bytes wrap = header.subspan(Preface::bytes, bytes);
  const std::size_t slot = slot_bytes(parts.preface.key_bits);
  parts.age_file = wrap.first(bytes - slot);
  parts.slot = wrap.last(slot);
  return parts;
}

void check_run_key(Bytes run_key) {
  if (run_key.size() == run_key_bytes) return;
  throw InvalidArgument("a run key has " + std::to_string(run_key_bytes) + " bytes, not " +
                        std::to_string(run_key.size()));
}

}  // namespace

// preface_fields.hpp includes no header of the library.
static_assert(detail::slot_overhead_bytes == c2sp_header_bytes + segment_tag_bytes);

std::size_t slot_bytes(unsigned key_bits) noexcept { return detail::slot_bytes_of(key_bits); }

std::vector<AgeStanza> parse_age_header(Bytes age_file) {
  std::string_view text = text_of(age_file);
  return take_age_header(text);
}

void check_run_key_file(Bytes age_file) {
  std::string_view text = text_of(age_file);
  static_cast<void>(take_age_header(text));
  // A nonce, and one chunk with a tag.
  constexpr std::size_t payload_bytes = 16 + run_key_bytes + 16;
  if (text.size() != payload_bytes) refuse("does not hold a key of 32 bytes");
}

Bytes age_file_of(Bytes header) {
  const Bytes age_file = split_wrap(header).age_file;
  check_run_key_file(age_file);
  return age_file;
}

std::vector<std::uint8_t> make_wrap(const Preface& preface, Bytes age_file, Bytes run_key,
                                    Bytes input_key) {
  check_run_key(run_key);
  if (preface.kdf != Kdf::recipients || 8 * input_key.size() != preface.key_bits ||
      age_file.size() + slot_bytes(preface.key_bits) != preface.wrap_bytes) {
    throw InvalidArgument("the preface is not that of a message with this age file and input key");
  }
  check_preface(preface);
  const std::array<std::uint8_t, Preface::bytes> context = preface.context();
  const Message message = slot_message(new_c2sp_message(run_key, context));
  std::vector<std::uint8_t> wrap(age_file.begin(), age_file.end());
  wrap.resize(preface.wrap_bytes);
  WholeMessage slot;
  slot.message = &message;
  slot.in = input_key;
  slot.out = MutableBytes(wrap).subspan(age_file.size());
  seal_messages({&slot, 1});
  if (slot.error) std::rethrow_exception(slot.error);
  return wrap;
}

SecretBytes open_slot(Bytes header, Bytes run_key) {
  check_run_key(run_key);
  const WrapParts parts = split_wrap(header);
  const std::array<std::uint8_t, Preface::bytes> context = parts.preface.context();
  std::optional<Message> message;
  try {
    message.emplace(
        slot_message(open_c2sp_message(parts.slot.first(c2sp_header_bytes), run_key, context)));
  } catch (const WrongKey&) {
    throw WrongKey(WrongKey::Secret::identity,
                   "the header is damaged, or holds the slot of another file: its slot does not "
                   "open");
  }
  SecretBytes input_key(parts.preface.key_bits / 8);
  WholeMessage slot;
  slot.message = &*message;
  slot.in = parts.slot;
  slot.out = input_key.span();
  open_messages({&slot, 1});
  if (slot.error) throw IntegrityError("the header is damaged: its slot is not intact");
  return input_key;
}

std::vector<std::uint8_t> header_with_wrap(Bytes header, const Preface& preface, Bytes wrap) {
  const Preface old = Preface::parse(header.first(std::min(header.size(), Preface::bytes)));
  if (header.size() != paraes_header_bytes + old.wrap_bytes || preface.context() != old.context() ||
      wrap.size() != preface.wrap_bytes) {
    throw InvalidArgument("this header, preface or wrap is not of a message with recipients");
  }
  check_preface(preface);
  return join({preface.encode(), wrap, header.last(c2sp_header_bytes)});
}

}  // namespace paraes
