// The run keys in age files, by which messages with recipients are sealed and opened.
#pragma once

#include <exception>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cli/arguments/secret_sources.hpp"
#include "paraes/known_secrets.hpp"
#include "paraes/recipients.hpp"
#include "paraes/sha256.hpp"

namespace paraes::cli {

// Runs age once for all new messages, and once for each distinct age file. For one thread at a
// time.
class AgeKeys {
 public:
  // `hidden`: variables that age does not get. `known`: gets the identities. Keeps references to
  // both others.
  AgeKeys(const SecretSources& keys, std::vector<std::string> hidden, KnownSecrets& known)
      : keys_(keys), hidden_(std::move(hidden)), known_(known) {}

  // Reads the identities, unless that was done. Throws as AgeIdentities does.
  void load_identities();

  struct RunKey {
    SecretBytes key;
    std::vector<std::uint8_t> age_file;
  };
  // The run key of the messages that this run makes. Throws as encrypt_with_age does: the same each
  // time.
  [[nodiscard]] const RunKey& of_new_messages();

  // The one in the age file of this header. Throws as AgeIdentities does. If age fails once, it is
  // not asked again.
  [[nodiscard]] const SecretBytes& of_header(Bytes header);

 private:
  struct Opened {
    SecretBytes key;
    std::exception_ptr error;  // instead of a key
  };

  [[nodiscard]] AgeProgram program() const;

  const SecretSources& keys_;
  const std::vector<std::string> hidden_;
  KnownSecrets& known_;
  std::optional<RunKey> new_;
  std::exception_ptr new_error_;
  std::optional<AgeIdentities> identities_;
  std::map<Sha256::Digest, Opened> opened_;  // by the digest of the age file
};

}  // namespace paraes::cli
