#include "cli/secrets/message_factory.hpp"

#include "cli/secrets/foreign.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <limits>

#include "cli/arguments/options.hpp"
#include "cli/secrets/tink_message.hpp"
#include "cli/terminal/progress.hpp"
#include "cli/words/choices.hpp"
#include "cli/words/errors.hpp"
#include "cli/words/sizes.hpp"
#include "paraes/error.hpp"
#include "paraes/kdf.hpp"

namespace paraes::cli {
namespace {

// A thread that waits for the mutex has no key yet.
class Lock {
 public:
  explicit Lock(std::recursive_mutex& mutex) : lock_(mutex, std::try_to_lock) {
    if (lock_) return;
    const Progress::KeyWait wait;
    lock_.lock();
  }

 private:
  std::unique_lock<std::recursive_mutex> lock_;
};

// The memory of this machine in bytes; unlimited if that is unknown.
std::uint64_t machine_memory() {
  const long pages = sysconf(_SC_PHYS_PAGES);
  const long page = sysconf(_SC_PAGESIZE);
  if (pages <= 0 || page <= 0) return std::numeric_limits<std::uint64_t>::max();
  return static_cast<std::uint64_t>(pages) * static_cast<std::uint64_t>(page);
}

// Throws InvalidArgument if a header asks for a higher cost of scrypt than is accepted. Offers to
// accept it only if this machine could do it.
void check_scrypt(unsigned asked, unsigned accepted) {
  if (asked <= accepted) return;
  std::string advice = "a damaged header, or an attack";
  if (asked <= highest_scrypt_log2n) {
    const std::uint64_t memory = std::uint64_t{1} << (asked + 10);
    advice = memory < machine_memory()
                 ? fmt::format(
                       "--max-scrypt-log2n {} accepts it, which takes {} of memory, if you "
                       "trust the source of the input",
                       asked, format_size(memory))
                 : format_size(memory) + " of memory are more than this machine has";
  }
  throw refusal("the input asks for scrypt with N = 2^{}, but at most 2^{} is accepted: {}", asked,
                accepted, advice);
}

}  // namespace

unsigned MessageFactory::key_bits() const {
  const bool is_old = plan_.verb == Verb::rekey && keys_.role != KeyRole::rekey_to;
  return is_old ? 0 : plan_.key_bits;
}

SecretReading MessageFactory::reading() const {
  return {.quiet = plan_.reporting.quiet,
          .stdin_is_taken = plan_.standard_input.is_taken,
          .hidden_variables = plan_.secret_variables()};
}

void MessageFactory::check_key_bits(std::size_t key_bytes) const {
  const unsigned wanted = key_bits();
  if (wanted == 0 || wanted == 8 * key_bytes) return;
  throw refusal("--key-bits {} contradicts the key, which is for AES-{}", wanted, 8 * key_bytes);
}

template <class Secret>
const Secret& MessageFactory::load_once(std::optional<Secret>& secret, const auto& load) {
  const Lock lock(mutex_);
  if (secret) return *secret;
  if (load_error_) std::rethrow_exception(load_error_);
  const Progress::KeyActivity activity(Progress::KeyStep::reading);
  try {
    return secret.emplace(load());
  } catch (const Error&) {
    load_error_ = std::current_exception();
    throw;
  }
}

void MessageFactory::load_secrets() {
  if (keys_.asks()) return;
  const Lock lock(mutex_);
  try {
    if (kind_ == SecretKind::passphrase) {
      static_cast<void>(passphrase());
    } else if (kind_ == SecretKind::recipients) {
      if (!keys_.identities.empty()) age_.load_identities();
    } else if (plan_.format == Format::tink) {
      static_cast<void>(tink_keys());
    } else {
      static_cast<void>(key());
    }
  } catch (const Error&) {  // NOLINT(bugprone-empty-catch): see the declaration
  }
}

const SecretBytes& MessageFactory::key() {
  return load_once(key_, [&] {
    const bool raw = plan_.format == Format::raw;
    const bool xts = raw && plan_.mode == BlockMode::xts;
    const KeyUse use = xts ? KeyUse::xts : raw ? KeyUse::block : KeyUse::segments;
    SecretBytes key = load_key(keys_, use, reading());
    known_.add_key(key.span(), keys_.source());
    // A Tink key may be longer than the keys derived from it.
    if (plan_.format != Format::tink) check_key_bits(key.size() / (xts ? 2 : 1));
    return key;
  });
}

const SecretBytes& MessageFactory::passphrase() {
  return load_once(passphrase_, [&] {
    const auto rule =
        plan_.format == Format::openssl ? PassphraseRule::openssl : PassphraseRule::whole;
    SecretBytes passphrase = load_passphrase(keys_, rule, reading());
    known_.add_passphrase(passphrase.span(), keys_.source());
    return passphrase;
  });
}

const std::vector<TinkKey>& MessageFactory::tink_keys() {
  return load_once(tink_keys_, [&] { return load_tink_keys(); });
}

std::vector<TinkKey> MessageFactory::load_tink_keys() const {
  const bool may_be_keyset = !keys_.key_hex;
  KeyFile contents;
  if (may_be_keyset) contents = read_key_or_keyset(keys_, reading());
  std::vector<TinkKey> keys;
  if (contents.is_keyset) {
    if (plan_.segment_bytes || plan_.tink_hash || plan_.key_bits != 0 || keys_.key_encoding) {
      throw InvalidArgument(
          "a Tink keyset holds its own parameters: --segment-size, --tink-hash, --key-bits and "
          "--key-encoding go with raw keys");
    }
    known_.add_text(contents.contents.span(), keys_.source());
    keys = parse_tink_keyset(std::move(contents.contents), contents.name);
  } else {
    TinkKey key;
    key.primary = true;
    key.value = may_be_keyset ? decode_key_file(std::move(contents.contents), contents.name,
                                                KeyUse::segments, keys_.key_encoding)
                              : load_key(keys_, KeyUse::segments, reading());
    key.parameters = plan_.tink_parameters();
    key.parameters.derived_key_bytes = plan_.key_bits == 0 ? key.value.size() : plan_.key_bits / 8;
    if (key.parameters.derived_key_bytes > key.value.size()) {
      throw refusal("--key-bits {} needs a longer key than {} bytes", plan_.key_bits,
                    key.value.size());
    }
    keys.push_back(std::move(key));
  }
  for (const TinkKey& key : keys) known_.add_key(key.value.span(), keys_.source());
  return keys;
}

const SecretBytes& MessageFactory::input_key(const Preface& preface) {
  const Lock lock(mutex_);
  const std::pair<unsigned, ScryptInputs> id = {preface.key_bits,
                                                {preface.scrypt_log2n, preface.kdf_salt}};
  auto found = derived_.find(id);
  if (found == derived_.end()) {
    const SecretBytes& secret = passphrase();
    const Progress::KeyActivity activity(Progress::KeyStep::deriving);
    found = derived_.emplace(id, scrypt_input_key(preface, secret.span())).first;
  }
  return found->second;
}

Message MessageFactory::new_message() { return {new_parts(), plan_.execution}; }

Message MessageFactory::open_message(std::unique_ptr<Source>& source) {
  return {open_parts(source), plan_.execution};
}

Message::Parts MessageFactory::new_parts() {
  if (plan_.format == Format::c2sp) return new_c2sp_message(key().span(), plan_.context);
  if (plan_.format != Format::tink) return new_paraes();
  const TinkKey& primary = tink_keys().front();
  return new_tink_message(primary.parameters, primary.value.span(), plan_.context);
}

Message::Parts MessageFactory::new_paraes() {
  const unsigned bits = key_bits() == 128 ? 128 : 256;
  if (kind_ == SecretKind::recipients) {
    // An input key for each file: whoever gets that of one file cannot open the others.
    SecretBytes own(bits / 8);
    random_bytes(own.span());
    const Wrapped wrapped = wrap_for_recipients(own.span());
    return new_paraes_message(wrapped.preface, own.span(), plan_.context, wrapped.wrap);
  }
  if (kind_ == SecretKind::key) {
    const SecretBytes& secret = key();
    return new_paraes_message(Preface::for_key(secret.size()), secret.span(), plan_.context);
  }
  {
    // One salt for all files of a run: scrypt runs once, and each message still has its own key,
    // since that comes from the message's own salt.
    const Lock lock(mutex_);
    if (!new_preface_) {
      static_cast<void>(passphrase());
      new_preface_ = Preface::for_passphrase(bits, plan_.scrypt_log2n);
    }
  }
  return new_paraes_message(*new_preface_, input_key(*new_preface_).span(), plan_.context);
}

MessageFactory::Wrapped MessageFactory::wrap_for_recipients(Bytes input_key) {
  const AgeKeys::RunKey* run_key = nullptr;
  {
    const Lock lock(mutex_);
    run_key = &age_.of_new_messages();
  }
  Wrapped wrapped;
  wrapped.preface = Preface::for_recipients(static_cast<unsigned>(8 * input_key.size()),
                                            run_key->age_file.size());
  wrapped.wrap = make_wrap(wrapped.preface, run_key->age_file, run_key->key.span(), input_key);
  return wrapped;
}

std::vector<std::uint8_t> MessageFactory::header_for_recipients(const OpenHeader& old) {
  const auto [preface, wrap] = wrap_for_recipients(old.input_key.span());
  return header_with_wrap(old.parts.header, preface, wrap);
}

Message::Parts MessageFactory::open_parts(std::unique_ptr<Source>& source) {
  if (plan_.format == Format::tink) return open_tink_message(tink_keys(), source, plan_.context);
  if (plan_.format != Format::c2sp) return open_header(*source).parts;
  const SecretBytes& secret = key();
  return open_c2sp_message(read_start(*source, c2sp_header_bytes), secret.span(), plan_.context);
}

std::vector<std::uint8_t> MessageFactory::read_header(Source& source) const {
  std::vector<std::uint8_t> header = read_paraes_header(source);
  if (plan_.format_named || looks_like_paraes(header)) return header;
  if (const std::string foreign = foreign_file(header); !foreign.empty()) {
    throw refusal("the input looks like {}", foreign);
  }
  if (plan_.verb == Verb::rekey) {
    throw InvalidArgument(
        "the input does not begin like a paraes message, and rekey takes no other format");
  }
  // Suggests the format that the file seems to have, but does not use it: an attacker who can
  // replace a file must not be able to choose an unauthenticated format.
  const bool verifies = plan_.verb == Verb::verify;
  if (looks_salted(header) || looks_salted_in_base64(header)) {
    throw refusal(
        "the input begins with \"Salted__\"{}, as `openssl enc` writes it; that format is not "
        "authenticated, so {}",
        looks_salted(header) ? "" : " in base64",
        verifies ? "there is nothing to verify" : "it must be named: --format openssl");
  }
  throw refusal(
      "the input does not begin like a paraes message; if it is in another format, name that: "
      "--format {}",
      verifies ? "c2sp or tink" : "c2sp, tink, raw or openssl");
}

// The header never chooses between secrets: whoever can replace a file could choose, too.
void MessageFactory::check_kind(const Preface& preface) const {
  switch (preface.kdf) {
    case Kdf::none:
      if (kind_ == SecretKind::key) return;
      throw refusal("the input was encrypted with a key, not {}: use --key-file instead",
                    kind_ == SecretKind::passphrase ? "with a passphrase" : "to recipients");
    case Kdf::scrypt:
      if (kind_ == SecretKind::passphrase) return;
      throw refusal(
          "the input was encrypted with a passphrase, not {}, use --passphrase-file, or nothing to "
          "be asked for the passphrase on a terminal",
          kind_ == SecretKind::key ? "with a key: instead of the key"
                                   : "to recipients: instead of the identity");
    case Kdf::recipients:
      if (kind_ == SecretKind::recipients) return;
      throw refusal("the input was encrypted to recipients, not with a {}: use --identity instead",
                    kind_ == SecretKind::key ? "key" : "passphrase");
  }
}

MessageFactory::OpenHeader MessageFactory::open_header(Source& source) {
  const std::vector<std::uint8_t> header = read_header(source);
  OpenHeader opened;
  Preface& preface = opened.preface;
  preface = Preface::parse(Bytes(header).first(std::min(header.size(), Preface::bytes)));
  check_kind(preface);
  const SecretBytes* secret = nullptr;
  if (preface.kdf == Kdf::none) {
    secret = &key();
  } else if (key_bits() != 0 && key_bits() != preface.key_bits) {
    throw refusal("--key-bits {} contradicts the header, which is for AES-{}", key_bits(),
                  preface.key_bits);
  } else if (preface.kdf == Kdf::scrypt) {
    check_scrypt(preface.scrypt_log2n, plan_.max_scrypt_log2n);
    secret = &input_key(preface);
  } else {
    // Before age runs, and perhaps asks: an impossible size needs no key.
    const auto* const file = dynamic_cast<const PositionalSource*>(&source);
    if (file != nullptr && !plan_.salvage) {
      static_cast<void>(c2sp_layout(header.size()).extent_of(file->size()));
    }
    const Lock lock(mutex_);
    secret = &age_.of_header(header);
  }
  if (preface.kdf == Kdf::recipients) {
    opened.input_key = open_slot(header, secret->span());
    secret = &opened.input_key;
  }
  opened.parts = open_paraes_message(header, secret->span(), plan_.context);
  return opened;
}

std::unique_ptr<StreamTransform> MessageFactory::raw(unsigned& key_bits) {
  const Lock lock(mutex_);
  const SecretBytes& secret = key();
  key_bits = static_cast<unsigned>(8 * secret.size() / (plan_.mode == BlockMode::xts ? 2 : 1));
  RawOptions raw;
  raw.mode = plan_.mode;
  raw.key = secret.span();
  raw.iv = plan_.iv;
  raw.padding = !plan_.no_padding;
  raw.unit_bytes = plan_.unit_bytes;
  raw.execution = plan_.execution;
  return raw_stream(plan_.direction(), raw);
}

std::unique_ptr<StreamTransform> MessageFactory::salted(const SaltedHeader& header) {
  const Lock lock(mutex_);
  SaltedOptions salted;
  salted.mode = plan_.mode;
  if (plan_.key_bits != 0) salted.key_bits = plan_.key_bits;
  salted.iterations = plan_.iterations;
  salted.kdf = plan_.salted_kdf;
  salted.digest = plan_.digest;
  salted.execution = plan_.execution;
  const SecretBytes& secret = passphrase();
  const Progress::KeyActivity activity(Progress::KeyStep::deriving);
  return salted_stream(plan_.direction(), header, secret.span(), salted);
}

}  // namespace paraes::cli
