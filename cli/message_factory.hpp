// Makes the messages of one run. Its keys are read once, when the first file needs them.
#pragma once

#include <array>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "cli/plan.hpp"
#include "cli/tink_keyset.hpp"
#include "paraes/streams.hpp"

namespace paraes::cli {

// Any number of threads may ask at once; one of them reads, or asks on the terminal.
class MessageFactory {
 public:
  MessageFactory(const CryptOptions& options, const Plan& plan) : options_(options), plan_(plan) {}

  // A new message in the plan's format.
  [[nodiscard]] Message new_message();

  // Reads the header of a message in the plan's format. `source` stands at its start; afterwards it
  // stands behind the header, or has been replaced by one that does. Throws InvalidArgument if the
  // input is in another format than the plan's, or wants a passphrase where a key was given, or the
  // other way round.
  [[nodiscard]] Message open_message(std::unique_ptr<Source>& source);

  // For raw and openssl. The stream's AES key size goes to `key_bits`.
  [[nodiscard]] std::unique_ptr<StreamTransform> raw(unsigned& key_bits);
  [[nodiscard]] std::unique_ptr<StreamTransform> salted(const SaltedHeader& header);

 private:
  using Derived = std::pair<unsigned, std::array<std::uint8_t, 16>>;

  [[nodiscard]] const SecretBytes& key();
  [[nodiscard]] const SecretBytes& passphrase();
  [[nodiscard]] const std::vector<TinkKey>& tink_keys();
  [[nodiscard]] const SecretBytes& input_key(const Preface& preface);
  // All of a message but its cipher.
  [[nodiscard]] Message::Parts new_parts();
  [[nodiscard]] Message::Parts open_parts(std::unique_ptr<Source>& source);
  [[nodiscard]] Message::Parts open_paraes(Source& source);
  [[nodiscard]] Message::Parts open_tink(std::unique_ptr<Source>& source);
  void check_key_bits(std::size_t key_bytes) const;

  const CryptOptions& options_;
  const Plan& plan_;
  // Held while a secret is read, asked for or derived; what is there stays where it is.
  std::mutex mutex_;
  std::optional<SecretBytes> key_;
  std::optional<SecretBytes> passphrase_;
  std::optional<std::vector<TinkKey>> tink_keys_;
  std::optional<Preface> new_preface_;
  std::map<std::pair<unsigned, Derived>, SecretBytes> derived_;
};

}  // namespace paraes::cli
