#include "cli/secrets/foreign.hpp"

#include <fmt/format.h>

#include <string_view>

namespace paraes::cli {
namespace {

using namespace std::string_view_literals;

struct Known {
  std::string_view start;
  std::string_view what;
  std::string_view opened_by;
};

constexpr Known known_files[] = {
    {"age-encryption.org/", "a file of age", "age -d -i IDENTITY FILE"},
    {"-----BEGIN AGE ENCRYPTED", "a file of age", "age -d -i IDENTITY FILE"},
    {"-----BEGIN PGP MESSAGE", "a message of OpenPGP", "gpg -d FILE"},
    {"PK\3\4", "a zip file", "7z x FILE"},
    {"PK\5\6", "a zip file", "7z x FILE"},
    {"7z\xbc\xaf\x27\x1c", "a 7z file", "7z x FILE"},
    {"RCLONE\0\0"sv, "a file of rclone's crypt", "rclone cat REMOTE:FILE"},
    {"LUKS\xba\xbe", "a volume of LUKS", "cryptsetup open FILE NAME"},
};

// Whether the first packet is an encrypted session key (RFC 9580 sections 4.2, 5.1 and 5.3), with
// which encrypted messages begin.
bool is_binary_openpgp(Bytes start) {
  if (start.size() < 6 || (start[0] & 0x80U) == 0) return false;
  const bool is_new = (start[0] & 0x40U) != 0;
  const unsigned tag = is_new ? start[0] & 0x3fU : (start[0] >> 2U) & 15U;
  const unsigned length = start[1];
  const std::size_t length_bytes = !is_new         ? std::size_t{1} << (start[0] & 3U)
                                   : length < 192  ? 1
                                   : length == 255 ? 5
                                                   : 2;
  if (length_bytes > 4 || length_bytes + 1 >= start.size()) return false;
  const unsigned version = start[1 + length_bytes];
  const bool for_public_key = tag == 1 && (version == 3 || version == 6);
  return for_public_key || (tag == 3 && version >= 4 && version <= 6);
}

}  // namespace

std::string foreign_file(Bytes start) {
  const std::string_view text(reinterpret_cast<const char*>(start.data()), start.size());
  for (const Known& one : known_files) {
    if (text.starts_with(one.start)) {
      return fmt::format("{}, which `{}` opens", one.what, one.opened_by);
    }
  }
  return is_binary_openpgp(start) ? "a message of OpenPGP, which `gpg -d FILE` opens" : "";
}

}  // namespace paraes::cli
