// GHASH: the hash key, the running hash and the data are secret.

#include <string>

#include "src/modes/gcm.hpp"
#include "tests/ct/secrets.hpp"

namespace paraes::ct {
namespace {

class SecretsInGhash : public SecretsTest {};

TEST_P(SecretsInGhash, DecideNothingWhenTheHashKeyIsPrepared) {
  const Buffer h = hidden_key(16);
  GhashKey key;
  watch("H", [&] { row().ghash_init(key, h.data()); });
  Buffer state(16);
  state[0] = 1;
  watch("one block", [&] { row().ghash(key, state.data(), Buffer(16).data(), 1); });
  expect_hidden(state, "a hash of public data");
  watch("another block", [&] { row().ghash(key, state.data(), hidden_text(16).data(), 1); });
}

TEST_P(SecretsInGhash, DecideNothingForAnyNumberOfBlocks) {
  const HiddenHashKey key(row(), 16);
  for (std::size_t blocks = 1; blocks <= 200; ++blocks) {
    const Buffer data = hidden_text(16 * blocks);
    Buffer state = hidden_text(16, 4);
    watch(std::to_string(blocks) + " blocks",
          [&] { row().ghash(key.hash, state.data(), data.data(), blocks); });
    expect_hidden(state, "the hash");
  }
}

TEST_P(SecretsInGhash, DecideNothingInPaddingAndTag) {
  const Buffer key_text = hidden_key(32);
  const GcmKey key(row(), key_text.data(), 32);
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

// Hashes are joined by the same C++ for all kernels, so that there is no control.
class SecretsInJoinedHashes : public SecretsTest {};

TEST_P(SecretsInJoinedHashes, DecideNoBranchAndNoAddress) {
  const Buffer key_text = hidden_key(16);
  const GcmKey key(row(), key_text.data(), 16);
  PartialHash ranges[4];
  for (PartialHash& range : ranges) {
    range.blocks = &range == &ranges[3] ? 7 : 4096;
    hide_object(range.hash);
  }
  Buffer state = hidden_text(16);
  watch("four ranges", [&] { join_hashes(key, ranges, state.data()); });
  expect_hidden(state, "the joined hash");
}

PARAES_FOR_BUILDS(SecretsInJoinedHashes,
                  [](const Kernel& row) { return row.timing == Timing::constant; });

}  // namespace
}  // namespace paraes::ct
