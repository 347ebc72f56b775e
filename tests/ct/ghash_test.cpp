// GHASH: the hash key, the running hash and the data are secret.

#include <string>

#include "src/modes/gcm.hpp"
#include "tests/ct/secrets.hpp"

namespace paraes::ct {
namespace {

class SecretsInGhash : public SecretsTest {};

TEST_P(SecretsInGhash, DecideNothingForAnyNumberOfBlocks) {
  GcmKey key(kernel(), support::make_key(16).data(), 16);
  hide_object(key.hash.h);
  hide_object(key.hash.powers);
  hide_object(key.hash.folded);
  for (std::size_t blocks = 1; blocks <= 200; ++blocks) {
    const Buffer data = hidden_text(16 * blocks);
    Buffer state = hidden_text(16, 4);
    watch(std::to_string(blocks) + " blocks",
          [&] { kernel().ghash(key.hash, state.data(), data.data(), blocks); });
    expect_hidden(state, "the hash");
  }
}

TEST_P(SecretsInGhash, DecideNothingInPaddingAndTag) {
  const Buffer key_text = hidden_key(32);
  const GcmKey key(kernel(), key_text.data(), 32);
  for (std::size_t bytes = 0; bytes <= 70; ++bytes) {
    const Buffer data = hidden_text(bytes);
    Buffer state = hidden_text(16, 4);
    Buffer tag(16);
    GcmCounter j0{.block = {}, .secret = true};
    hide_object(j0.block);
    watch(std::to_string(bytes) + " bytes", [&] {
      gcm_hash(key, state.data(), data.data(), bytes);
      gcm_tag(key, j0, state.data(), 0, bytes, tag.data());
    });
    expect_hidden(tag, "the tag");
  }
}

PARAES_FOR_SECRETS(SecretsInGhash);

}  // namespace
}  // namespace paraes::ct
