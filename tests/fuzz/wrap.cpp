// Fuzzes wraps: the slot of a message with recipients gives the input key to the run key that made
// it, also if OpenSSL made it, and to no other. Headers for other recipients open the same message.

#include "paraes/recipients.hpp"
#include "tests/fuzz/formats.hpp"
#include "tests/support/memory_io.hpp"

namespace paraes::fuzz {
namespace {

constexpr std::size_t slot_key_bytes = 32;  // slots are sealed with AES-256, whatever they hold

// An age file that paraes accepts.
Buffer age_file(Input& input) {
  std::string file = "age-encryption.org/v1\n";
  for (std::size_t stanzas = number(input, 1, 3); stanzas != 0; --stanzas) {
    file += "-> X25519 " + std::string(number(input, 1, 60), 'x') + "\n";
    const std::size_t body = number(input, 0, 150);
    for (std::size_t at = 0; at + 64 <= body; at += 64) file += std::string(64, 'B') + "\n";
    file += std::string(body % 64, 'b') + "\n";
  }
  file += "--- " + std::string(43, 'M') + "\n";
  Buffer bytes(file.begin(), file.end());
  const Buffer payload = take(input, 64);
  bytes.insert(bytes.end(), payload.begin(), payload.end());
  return bytes;
}

struct Wrapped {
  Preface preface;
  Buffer age_file;
  Buffer run_key;
  Buffer input_key;
};

Wrapped make_wrapped(Input& input) {
  const unsigned key_bits = one_of(input, {128U, 256U});
  Wrapped made;
  made.age_file = age_file(input);
  made.preface = Preface::for_recipients(key_bits, made.age_file.size());
  made.run_key = take(input, slot_key_bytes);
  made.input_key = take(input, key_bits / 8);
  return made;
}

// The wrap by OpenSSL.
Buffer wrap_by_evp(const Wrapped& given, Bytes salt) {
  const Derived slot = derive_c2sp(given.run_key, salt, given.preface.context());
  return joined(given.age_file, joined(slot.header, seal_by_evp(slot, given.input_key)));
}

// Whether `given` has the slot of `header`, with the same preface but for the size of the wrap. The
// age file before the slot may be another one, of any size.
bool has_same_slot(const Preface& preface, const Buffer& header, const Buffer& given) {
  const std::size_t slot = slot_bytes(preface.key_bits);
  if (given.size() < Preface::bytes + slot) return false;
  std::size_t wrap = 0;
  for (std::size_t i = 12; i < 16; ++i) wrap = wrap << 8 | given[i];
  if (wrap <= slot || wrap > max_wrap_bytes || given.size() < Preface::bytes + wrap) return false;
  Preface other = preface;
  other.wrap_bytes = wrap;
  return equal(Bytes(given).first(Preface::bytes), other.encode()) &&
         equal(Bytes(given).subspan(Preface::bytes + wrap - slot, slot), Bytes(header).last(slot));
}

// Whether OpenSSL makes the slot of `header` of this run key and input key.
bool has_slot_of(const Buffer& header, const Buffer& run_key, Bytes input_key) {
  const Preface preface = Preface::parse(header);
  const std::size_t bytes = slot_bytes(preface.key_bits);
  const Bytes slot = Bytes(header).subspan(Preface::bytes + preface.wrap_bytes - bytes, bytes);
  const Derived made = derive_c2sp(run_key, slot.first(24), preface.context());
  return equal(slot, joined(made.header, seal_by_evp(made, input_key)));
}

void check_slot(Input& input, const Wrapped& given, const Buffer& wrap) {
  const Buffer header = joined(given.preface.encode(), wrap);
  require(equal(open_slot(header, given.run_key).span(), given.input_key));
  require(equal(age_file_of(header), given.age_file));
  Buffer changed = header;
  damage(input, changed);
  Buffer other_key = given.run_key;
  if (input.ConsumeBool()) other_key[number(input, 0, 31)] ^= input.ConsumeIntegral<std::uint8_t>();
  const bool fits = other_key == given.run_key && has_same_slot(given.preface, header, changed);
  bool opened = false;
  try {
    const SecretBytes key = open_slot(changed, other_key);
    opened = true;
    // libFuzzer finds the slots of other input keys in other inputs.
    require(has_slot_of(changed, other_key, key.span()));
    require(!fits || equal(key.span(), given.input_key));
  } catch (const WrongKey&) {
  } catch (const IntegrityError&) {
  } catch (const InvalidArgument&) {
    // The change took the recipients away.
    require(changed.size() >= Preface::bytes && changed[9] != header[9]);
  }
  require(opened || !fits);
}

void check_other_recipients(Input& input, const Wrapped& given, const Buffer& wrap) {
  const Buffer context = take(input, number(input, 0, 20));
  const Message::Parts message = new_paraes_message(given.preface, given.input_key, context, wrap);
  Wrapped other = given;
  other.age_file = age_file(input);
  other.run_key = take(input, slot_key_bytes);
  other.preface = Preface::for_recipients(given.preface.key_bits, other.age_file.size());
  const Buffer other_wrap =
      make_wrap(other.preface, other.age_file, other.run_key, other.input_key);
  const Buffer header = header_with_wrap(message.header, other.preface, other_wrap);
  const SecretBytes key = open_slot(header, other.run_key);
  const Message::Parts opened = open_paraes_message(header, key.span(), context);
  require(equal(opened.secret.key.span(), message.secret.key.span()));
  require(opened.secret.base_nonce == message.secret.base_nonce);
  support::RandomSource source(header);
  require(equal(read_paraes_header(source), header));
}

}  // namespace

void fuzz(Input& input) {
  const Wrapped given = make_wrapped(input);
  const Buffer own = make_wrap(given.preface, given.age_file, given.run_key, given.input_key);
  if (input.ConsumeBool()) {
    check_slot(input, given, wrap_by_evp(given, take(input, 24)));
  } else {
    // Its salt is random, so that what fails here may need several runs.
    check_slot(input, given, own);
  }
  check_other_recipients(input, given, own);
}

}  // namespace paraes::fuzz
