#include "src/modes/ctr.hpp"

#include <algorithm>

#include "src/core/counter.hpp"

namespace paraes {
namespace {

// Processes `bytes` bytes of the block with this counter, from its byte `skip` on.
void partial_block(const CipherKey& key, std::uint8_t counter[16], std::size_t skip,
                   const std::uint8_t* in, std::uint8_t* out, std::size_t bytes) {
  std::uint8_t block[16] = {};
  std::memcpy(block + skip, in, bytes);
  key.kernel.ctr(key.schedule, counter, block, block, 1);
  std::memcpy(out, block + skip, bytes);
  secure_zero(block, sizeof block);
}

}  // namespace

void ctr_range(const CipherKey& key, const std::uint8_t initial[16], std::uint64_t offset,
               const std::uint8_t* in, std::uint8_t* out, std::size_t bytes, bool nontemporal) {
  std::uint8_t counter[16];
  std::memcpy(counter, initial, 16);
  add_be128(counter, offset / 16);
  if (const std::size_t skip = offset % 16; skip != 0 && bytes != 0) {
    const std::size_t n = std::min(bytes, 16 - skip);
    partial_block(key, counter, skip, in, out, n);
    in += n;
    out += n;
    bytes -= n;
  }
  const std::size_t blocks = bytes / 16;
  const auto operation = nontemporal ? key.kernel.ctr_nontemporal : key.kernel.ctr;
  operation(key.schedule, counter, in, out, blocks);
  if (bytes % 16 != 0) {
    partial_block(key, counter, 0, in + 16 * blocks, out + 16 * blocks, bytes % 16);
  }
}

}  // namespace paraes
