#include "src/modes/gcm.hpp"

#include <algorithm>

#include "src/core/counter.hpp"

namespace paraes {
namespace {

// CTR with inc32 through the kernel's 128-bit CTR, in ranges that end where the low 32 bits wrap.
// Branches on the counter, so it must be public.
void public_counter_mode(const CipherKey& key, std::uint8_t counter[16], const std::uint8_t* in,
                         std::uint8_t* out, std::size_t blocks) {
  while (blocks != 0) {
    const std::uint64_t until_wrap = (std::uint64_t{1} << 32) - load_be32(counter + 12);
    const auto n = static_cast<std::size_t>(std::min<std::uint64_t>(blocks, until_wrap));
    std::uint8_t running[16];
    std::memcpy(running, counter, 16);
    key.kernel.ctr(key.schedule, running, in, out, n);
    add_be32(counter, static_cast<std::uint32_t>(n));
    in += 16 * n;
    out += 16 * n;
    blocks -= n;
  }
}

// out = in XOR the encrypted counter block, 16 bytes; `out` may be `in`. No branch depends on the
// counter, unlike in the kernels' CTR, which looks for the next wrap.
void xor_key_stream(const CipherKey& key, const std::uint8_t counter[16], const std::uint8_t* in,
                    std::uint8_t* out) {
  std::uint8_t stream[16];
  key.kernel.ecb_encrypt(key.schedule, counter, stream, 1);
  xor_block(out, in, stream);
  secure_zero(stream, sizeof stream);
}

// CTR with inc32 through the kernel's ECB: more work than public_counter_mode, but no branch and no
// address depends on the counter.
void secret_counter_mode(const CipherKey& key, std::uint8_t counter[16], const std::uint8_t* in,
                         std::uint8_t* out, std::size_t blocks) {
  constexpr std::size_t most = 64;
  alignas(64) std::uint8_t stream[16 * most];
  while (blocks != 0) {
    const std::size_t n = std::min(blocks, most);
    for (std::size_t i = 0; i < n; ++i) {
      std::memcpy(stream + 16 * i, counter, 16);
      add_be32(counter, 1);
    }
    key.kernel.ecb_encrypt(key.schedule, stream, stream, n);
    for (std::size_t i = 0; i < n; ++i) xor_block(out + 16 * i, in + 16 * i, stream + 16 * i);
    in += 16 * n;
    out += 16 * n;
    blocks -= n;
  }
  secure_zero(stream, sizeof stream);
}

// CTR and GHASH in turn, for kernels without a fused pass. Ranges are small enough to stay in the
// first-level cache between the two.
void composed(const GcmKey& key, Direction direction, GcmCounter& counter, std::uint8_t state[16],
              const std::uint8_t* in, std::uint8_t* out, std::size_t blocks) {
  constexpr std::size_t most = 512;
  const Kernel& kernel = key.cipher.kernel;
  const auto counter_mode = counter.secret ? secret_counter_mode : public_counter_mode;
  while (blocks != 0) {
    const std::size_t n = std::min(blocks, most);
    if (direction == Direction::decrypt) kernel.ghash(key.hash, state, in, n);
    counter_mode(key.cipher, counter.block, in, out, n);
    if (direction == Direction::encrypt) kernel.ghash(key.hash, state, out, n);
    in += 16 * n;
    out += 16 * n;
    blocks -= n;
  }
}

// CTR with inc32 and GHASH over whole blocks.
void whole_blocks(const GcmKey& key, Direction direction, GcmCounter& counter,
                  std::uint8_t state[16], const std::uint8_t* in, std::uint8_t* out,
                  std::size_t blocks, bool nontemporal) {
  const Kernel& kernel = key.cipher.kernel;
  const auto encrypt = nontemporal ? kernel.gcm_encrypt_nontemporal : kernel.gcm_encrypt;
  const auto decrypt = nontemporal ? kernel.gcm_decrypt_nontemporal : kernel.gcm_decrypt;
  const auto fused = direction == Direction::encrypt ? encrypt : decrypt;
  if (fused == nullptr) {
    composed(key, direction, counter, state, in, out, blocks);
  } else {
    fused(key.cipher.schedule, key.hash, counter, state, in, out, blocks);
  }
}

}  // namespace

GcmKey::GcmKey(const Kernel& kernel, const std::uint8_t* key, unsigned key_bytes)
    : cipher(kernel, key, key_bytes) {
  std::uint8_t h[16] = {};
  kernel.ecb_encrypt(cipher.schedule, h, h, 1);
  kernel.ghash_init(hash, h);
  std::memcpy(hash.h, h, 16);
  secure_zero(h, sizeof h);
}

void gcm_hash(const GcmKey& key, std::uint8_t state[16], const std::uint8_t* data,
              std::size_t bytes) {
  key.cipher.kernel.ghash(key.hash, state, data, bytes / 16);
  if (bytes % 16 != 0) {
    std::uint8_t block[16] = {};
    std::memcpy(block, data + bytes - bytes % 16, bytes % 16);
    key.cipher.kernel.ghash(key.hash, state, block, 1);
  }
}

GcmCounter gcm_initial_counter(const GcmKey& key, const std::uint8_t* nonce,
                               std::size_t nonce_bytes) {
  GcmCounter j0{.block = {}, .secret = nonce_bytes != 12};
  if (!j0.secret) {
    store_be128(j0.block, load_be64(nonce), (std::uint64_t{load_be32(nonce + 8)} << 32) | 1);
    return j0;
  }
  gcm_hash(key, j0.block, nonce, nonce_bytes);
  std::uint8_t lengths[16];
  store_be128(lengths, 0, static_cast<std::uint64_t>(nonce_bytes) * 8);
  key.cipher.kernel.ghash(key.hash, j0.block, lengths, 1);
  return j0;
}

void gcm_range(const GcmKey& key, Direction direction, GcmCounter& counter, std::uint8_t state[16],
               const std::uint8_t* in, std::uint8_t* out, std::size_t bytes, bool nontemporal) {
  const std::size_t blocks = bytes / 16;
  const std::size_t rest = bytes % 16;
  whole_blocks(key, direction, counter, state, in, out, blocks, nontemporal);
  if (rest == 0) return;
  in += 16 * blocks;
  out += 16 * blocks;
  std::uint8_t block[16] = {};
  std::memcpy(block, in, rest);
  if (direction == Direction::decrypt) key.cipher.kernel.ghash(key.hash, state, block, 1);
  xor_key_stream(key.cipher, counter.block, block, block);
  std::memcpy(out, block, rest);
  if (direction == Direction::encrypt) {
    std::memset(block + rest, 0, 16 - rest);
    key.cipher.kernel.ghash(key.hash, state, block, 1);
  }
  secure_zero(block, sizeof block);
}

void join_hashes(const GcmKey& key, std::span<const PartialHash> ranges, std::uint8_t state[16]) {
  const Gf128 h = load_gf128(key.hash.h);
  Gf128 sum = load_gf128(state);
  std::uint64_t blocks = 0;
  Gf128Factor factor = {};  // H^blocks
  for (const PartialHash& range : ranges) {
    if (range.blocks == 0) continue;
    if (range.blocks != blocks) {
      blocks = range.blocks;
      factor = make_factor(power(h, blocks));
    }
    const Gf128 own = load_gf128(range.hash);
    sum = multiply(sum, factor);
    sum.high ^= own.high;
    sum.low ^= own.low;
  }
  store_gf128(state, sum);
  secure_zero(&factor, sizeof factor);
}

void gcm_tag(const GcmKey& key, const GcmCounter& j0, std::uint8_t state[16],
             std::uint64_t aad_bytes, std::uint64_t text_bytes, std::uint8_t tag[16]) {
  std::uint8_t lengths[16];
  store_be128(lengths, aad_bytes * 8, text_bytes * 8);
  const Kernel& kernel = key.cipher.kernel;
  kernel.ghash(key.hash, state, lengths, 1);
  xor_key_stream(key.cipher, j0.block, state, tag);
}

}  // namespace paraes
