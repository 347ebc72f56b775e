// Headers of age files (age-encryption.org/v1). No identity opens them: the keys, the MAC and the
// payload are letters.
#pragma once

#include <string>
#include <vector>

#include "paraes/ciphers.hpp"
#include "tests/support/buffers.hpp"

namespace paraes::support {

inline const std::string age_version_line = "age-encryption.org/v1\n";
inline const std::string x25519_stanza =
    "-> X25519 " + std::string(43, 'x') + "\n" + std::string(43, 'B') + "\n";
// With a body of two full lines, and of an empty one that ends it.
inline const std::string ssh_stanza =
    "-> ssh-rsa tagTAG\n" + std::string(64, 'r') + "\n" + std::string(64, '/') + "\n\n";
inline const std::string mac_line = "--- " + std::string(43, 'M') + "\n";

// An age file with these stanzas.
inline Buffer make_age_file(const std::string& stanzas = x25519_stanza) {
  // The payload: a nonce, 32 bytes and a tag.
  const std::string text = age_version_line + stanzas + mac_line + std::string(64, '\xee');
  return {text.begin(), text.end()};
}

inline Bytes bytes_of(const std::string& text) {
  return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()};
}

}  // namespace paraes::support
