// Recognises files that hold a secret of a run by their contents, so that no run removes or
// replaces the only copy, wherever the secret was read from.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <shared_mutex>
#include <string>
#include <vector>

#include "paraes/ciphers.hpp"
#include "paraes/export.hpp"
#include "paraes/secret.hpp"

namespace paraes {

// Any thread may call any function. The secrets are copied to locked memory. The time of a
// comparison depends on sizes, on line ends and on white space, and on no other byte.
class PARAES_EXPORT KnownSecrets {
 public:
  // A larger file holds no secret: 64 KiB and a newline.
  static constexpr std::size_t most_file_bytes = (std::size_t{64} << 10) + 2;

  KnownSecrets() = default;
  KnownSecrets(const KnownSecrets&) = delete;
  KnownSecrets& operator=(const KnownSecrets&) = delete;

  // `source` of all of these: where the secret came from, for find. An empty secret is not kept.

  // The key is all of a file: raw, or in hex or base64 (RFC 4648, sections 4 and 5) with white
  // space anywhere; hex also with colons.
  void add_key(Bytes key, const std::string& source);
  // It is all of a file but for white space at either end, or its first line.
  void add_passphrase(Bytes passphrase, const std::string& source);
  // The contents of a file of keys, such as a keyset or identities: they are all of a file, in
  // whatever white space. A line that begins with "AGE-" is one by itself: comments may differ.
  void add_text(Bytes text, const std::string& source);

  // How much of a file a secret is.
  enum class Part {
    all,   // but for white space
    some,  // or a line of it
  };

  // Whether a file of this size could hold one of the secrets.
  [[nodiscard]] bool may_be_in(std::uint64_t file_bytes, Part part = Part::some) const;
  // The source of the secret that a file with these contents holds; nullopt if it holds none.
  [[nodiscard]] std::optional<std::string> find(Bytes contents, Part part = Part::some) const;
  // Finds a secret in an open file, which is read from its beginning; its position stays. nullopt
  // for anything but a regular file, and for one that cannot be read.
  [[nodiscard]] std::optional<std::string> find_in(int descriptor, Part part = Part::some) const;

 private:
  enum class Form : std::uint8_t { raw, hex, base64, stripped, first_line, spaceless, line };
  struct Entry {
    Form form;
    SecretBytes bytes;
    std::string source;
  };

  void add(Form form, SecretBytes bytes, const std::string& source);
  // Whether one that fits has a null byte, as no text has.
  [[nodiscard]] bool may_have_nul(std::uint64_t file_bytes) const;
  [[nodiscard]] static bool fits(const Entry& entry, std::uint64_t file_bytes, Part part) noexcept;

  mutable std::shared_mutex mutex_;
  std::vector<Entry> entries_;
};

}  // namespace paraes
