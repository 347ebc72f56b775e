// Fuzzes Tink keysets: a text is refused with InvalidArgument, or it gives usable keys.

#include <cstdlib>

#include "cli/tink_keyset.hpp"
#include "paraes/error.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace paraes;
  try {
    const std::vector<cli::TinkKey> keys =
        cli::parse_tink_keyset(SecretBytes(Bytes(data, size)), "the keyset");
    if (keys.empty() || !keys.front().primary) std::abort();
    for (const cli::TinkKey& key : keys) {
      static_cast<void>(new_tink_message(key.parameters, key.value.span(), {}));
      if (key.primary != (&key == keys.data())) std::abort();
    }
  } catch (const InvalidArgument&) {
    return 0;
  }
  return 0;
}
