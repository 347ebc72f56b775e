// Tink keysets: cleartext JSON with AES-GCM-HKDF streaming keys.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "paraes/messages.hpp"

namespace paraes::cli {

struct TinkKey {
  std::uint32_t id = 0;
  bool primary = false;
  TinkParameters parameters;
  SecretBytes value;
};

// The enabled keys of a keyset, the primary key first. Overwrites `contents`. Throws
// InvalidArgument, with `name` first, for anything but such a keyset.
[[nodiscard]] std::vector<TinkKey> parse_tink_keyset(SecretBytes contents, std::string_view name);

}  // namespace paraes::cli
