// Makes the messages of one run. Reads its keys once, when the first file needs them.
#pragma once

#include <array>
#include <exception>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "cli/plan/plan.hpp"
#include "cli/secrets/age_keys.hpp"
#include "cli/secrets/keys.hpp"
#include "cli/secrets/tink_keyset.hpp"
#include "paraes/known_secrets.hpp"
#include "paraes/streams.hpp"

namespace paraes::cli {

// Thread-safe: one thread reads a secret, or asks for it on the terminal, for all.
class MessageFactory {
 public:
  // `keys`: those of the plan's sources that the secrets come from. `known`: gets each that is
  // read. Keeps references to its arguments.
  MessageFactory(const Plan& plan, const SecretSources& keys, KnownSecrets& known)
      : plan_(plan),
        keys_(keys),
        known_(known),
        kind_(keys.kind()),
        age_(keys, plan.secret_variables(), known) {}

  // The kind of secret that the flags give.
  [[nodiscard]] SecretKind kind() const noexcept { return kind_; }

  // Reads the secrets now, so that they are known, unless the user is to be asked for one. Leaves
  // the report of an error to the first file.
  void load_secrets();

  // A new message in the plan's format.
  [[nodiscard]] Message new_message();

  // Reads the header of a message in the plan's format from the start of `source`. Afterwards
  // `source` continues after the header; it may be another object. Throws InvalidArgument if the
  // input has another format than the plan, or needs a passphrase where a key was given, or a key
  // where a passphrase was given.
  [[nodiscard]] Message open_message(std::unique_ptr<Source>& source);

  // For rekey. What the header of a message in the paraes format holds.
  struct OpenHeader {
    Preface preface;
    SecretBytes input_key;  // of a message with recipients
    Message::Parts parts;
  };
  [[nodiscard]] OpenHeader open_header(Source& source);
  // The header of the message `old`, which has recipients, for the recipients of this run.
  [[nodiscard]] std::vector<std::uint8_t> header_for_recipients(const OpenHeader& old);

  // For raw and openssl. raw() sets `key_bits` to the size of its AES key.
  [[nodiscard]] std::unique_ptr<StreamTransform> raw(unsigned& key_bits);
  [[nodiscard]] std::unique_ptr<StreamTransform> salted(const SaltedHeader& header);

 private:
  using ScryptInputs = std::pair<unsigned, std::array<std::uint8_t, 16>>;

  // Returns a secret, which the first call gets from load(). If a secret could not be loaded
  // before, no command runs, and nobody is asked, for each file again.
  template <class Secret>
  const Secret& load_once(std::optional<Secret>& secret, const auto& load);
  [[nodiscard]] const SecretBytes& key();
  [[nodiscard]] const SecretBytes& passphrase();
  [[nodiscard]] const std::vector<TinkKey>& tink_keys();
  [[nodiscard]] std::vector<TinkKey> load_tink_keys() const;
  [[nodiscard]] const SecretBytes& input_key(const Preface& preface);
  // Everything in a message except its cipher.
  [[nodiscard]] Message::Parts new_parts();
  [[nodiscard]] Message::Parts open_parts(std::unique_ptr<Source>& source);
  [[nodiscard]] Message::Parts new_paraes();
  // The preface and the wrap of a message that has this input key, for the recipients of this run.
  struct Wrapped {
    Preface preface;
    std::vector<std::uint8_t> wrap;
  };
  [[nodiscard]] Wrapped wrap_for_recipients(Bytes input_key);
  [[nodiscard]] std::vector<std::uint8_t> read_header(Source& source) const;
  void check_kind(const Preface& preface) const;
  void check_key_bits(std::size_t key_bytes) const;
  // The size of the AES key that the user asked for, where that applies to these keys; else 0.
  [[nodiscard]] unsigned key_bits() const;
  [[nodiscard]] SecretReading reading() const;

  const Plan& plan_;
  const SecretSources& keys_;
  KnownSecrets& known_;
  const SecretKind kind_;
  // Held while a secret is read, asked for or derived, which may need another secret. References to
  // secrets stay valid after that.
  std::recursive_mutex mutex_;
  std::exception_ptr load_error_;
  std::optional<SecretBytes> key_;
  std::optional<SecretBytes> passphrase_;
  std::optional<std::vector<TinkKey>> tink_keys_;
  AgeKeys age_;
  std::optional<Preface> new_preface_;
  std::map<std::pair<unsigned, ScryptInputs>, SecretBytes> derived_;
};

}  // namespace paraes::cli
