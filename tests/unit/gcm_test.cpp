// join_hashes: the GHASH of a text from the hashes of its ranges.
#include "src/modes/gcm.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <vector>

#include "src/kernels/registry.hpp"
#include "tests/support/buffers.hpp"

namespace paraes {
namespace {

using Hash = std::array<std::uint8_t, 16>;

// Hashes ranges of `text` with the given numbers of blocks, and joins the hashes. The last range
// may end with a partial block.
Hash joined(const GcmKey& key, Hash state, const std::vector<std::uint64_t>& blocks,
            const support::Buffer& text) {
  std::vector<PartialHash> ranges;
  std::size_t at = 0;
  for (const std::uint64_t count : blocks) {
    PartialHash range;
    range.blocks = count;
    const std::size_t bytes = std::min<std::size_t>(16 * count, text.size() - at);
    gcm_hash(key, range.hash, text.data() + at, bytes);
    at += bytes;
    ranges.push_back(range);
  }
  EXPECT_EQ(at, text.size());
  join_hashes(key, ranges, state.data());
  return state;
}

TEST(JoinHashes, MatchesOneHashOverTheWholeText) {
  const support::Buffer key_bytes = support::make_key(16, 3);
  const GcmKey key(find_kernel("reference"), key_bytes.data(), 16);
  Hash before;
  std::memcpy(before.data(), support::pattern(16, 5).data(), 16);
  const std::vector<std::vector<std::uint64_t>> cuts = {
      {}, {1}, {9}, {4, 4, 4, 4}, {5, 5, 4, 4, 4}, {4, 4, 4, 1}, {7, 0, 1, 7, 2, 2}, {0, 0, 3}};
  for (const auto& blocks : cuts) {
    std::uint64_t all = 0;
    for (const std::uint64_t count : blocks) all += count;
    for (const std::size_t missing : {0U, 1U, 15U}) {
      if (all == 0 && missing != 0) continue;
      const support::Buffer text = support::pattern(16 * all - missing);
      Hash expected = before;
      gcm_hash(key, expected.data(), text.data(), text.size());
      EXPECT_EQ(joined(key, before, blocks, text), expected) << all << " blocks";
    }
  }
}

}  // namespace
}  // namespace paraes
