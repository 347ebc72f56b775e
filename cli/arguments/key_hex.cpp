#include "cli/arguments/key_hex.hpp"

#include <array>
#include <cstdint>
#include <cstring>
#include <utility>

#include "paraes/ciphers.hpp"

namespace paraes::cli {
namespace {

// Static, because it is set before options are parsed.
SecretBytes& stashed_key_hex(std::string_view flag) {
  static std::array<SecretBytes, 2> digits;
  return digits.at(flag == "--to-key-hex" ? 1 : 0);
}

}  // namespace

void stash_key_hex(int argc, char** argv) {
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    if (argument == "--") return;
    const std::string_view flag = argument.substr(0, argument.find('='));
    if (flag != "--key-hex" && flag != "--to-key-hex") continue;
    char* digits = nullptr;
    if (flag.size() != argument.size()) {
      digits = argv[i] + flag.size() + 1;
    } else if (i + 1 < argc) {
      digits = argv[++i];
    }
    if (digits == nullptr) continue;
    const std::size_t n = std::strlen(digits);
    stashed_key_hex(flag) = SecretBytes(Bytes(reinterpret_cast<const std::uint8_t*>(digits), n));
    std::memset(digits, 'x', n);
  }
}

SecretBytes take_key_hex(std::string_view flag) { return std::move(stashed_key_hex(flag)); }

}  // namespace paraes::cli
