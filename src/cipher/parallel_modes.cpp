#include "src/cipher/parallel_modes.hpp"

#include <algorithm>
#include <array>
#include <vector>

#include "src/core/cache.hpp"
#include "src/core/counter.hpp"
#include "src/kernels/cpu_features.hpp"

namespace paraes {
namespace {

// Ranges are cut at multiples of this, so that no two threads write the same cache line of an
// aligned buffer, and ranges are whole iterations of the kernels' widest inner loop.
constexpr std::size_t grain_bytes = 4096;
constexpr std::size_t min_grains = min_range_bytes / grain_bytes;
// The stores of smaller messages are ordinary ones, whatever the caches.
constexpr std::uint64_t min_nontemporal_bytes = std::uint64_t{1} << 20;
// On some processors (prefers_second_level_cache), ordinary stores to memory that only the
// last-level cache holds take longer than non-temporal ones and a later read of the output from
// memory. The second-level caches of many threads hold more. See
// docs/decisions/0048-texts-in-memory-on-intel.md.
constexpr std::uint64_t ordinary_bytes = std::uint64_t{16} << 20;
constexpr std::uint64_t ordinary_bytes_of_thread = std::uint64_t{4} << 20;

// Input and output of fewer bytes are stored faster by ordinary stores.
std::uint64_t least_nontemporal_bytes(int threads) noexcept {
  const std::uint64_t caches = last_level_cache_bytes(threads);
  if (!prefers_second_level_cache()) return caches;
  const auto of_threads = static_cast<std::uint64_t>(threads) * ordinary_bytes_of_thread;
  return std::min(caches, std::max(ordinary_bytes, of_threads));
}

std::size_t grains(std::size_t bytes) { return (bytes + grain_bytes - 1) / grain_bytes; }

// Whether a mode uses `nontemporal`, the kernel's operation with non-temporal stores, if any.
template <class Operation>
bool worth_using(Operation nontemporal, const Executor& executor, const void* in, const void* out,
                 std::uint64_t bytes) {
  return nontemporal != nullptr && use_nontemporal_stores(in, out, bytes, executor.threads());
}

}  // namespace

bool use_nontemporal_stores(const void* in, const void* out, std::uint64_t bytes,
                            int threads) noexcept {
  // Checked first, because asking for the size of the cache takes longer than a short message.
  return bytes >= min_nontemporal_bytes && in != out &&
         2 * bytes >= least_nontemporal_bytes(threads);
}

std::uint64_t gcm_one_call_bytes(const Executor& executor, const Kernel& kernel) noexcept {
  constexpr std::uint64_t two_ranges = 2 * min_range_bytes - grain_bytes + 1;
  if (kernel.gcm_seal == nullptr) return 0;
  if (executor.threads() > 1) return two_ranges;
  return kernel.gcm_encrypt_nontemporal == nullptr ? UINT64_MAX : min_nontemporal_bytes;
}

void parallel_ecb(const Executor& executor, const CipherKey& key, Direction direction,
                  const std::uint8_t* in, std::uint8_t* out, std::size_t blocks) {
  const bool encrypts = direction == Direction::encrypt;
  const std::size_t bytes = 16 * blocks;
  const auto ordinary = encrypts ? key.kernel.ecb_encrypt : key.kernel.ecb_decrypt;
  const auto nontemporal =
      encrypts ? key.kernel.ecb_encrypt_nontemporal : key.kernel.ecb_decrypt_nontemporal;
  const auto operation =
      worth_using(nontemporal, executor, in, out, bytes) ? nontemporal : ordinary;
  executor.run(grains(bytes), min_grains, [&](unsigned, std::uint64_t begin, std::uint64_t end) {
    const std::size_t from = begin * grain_bytes;
    const std::size_t to = std::min<std::size_t>(end * grain_bytes, bytes);
    operation(key.schedule, in + from, out + from, (to - from) / 16);
  });
}

void parallel_cbc_decrypt(const Executor& executor, const CipherKey& key, std::uint8_t chain[16],
                          const std::uint8_t* in, std::uint8_t* out, std::size_t blocks) {
  if (blocks == 0) return;
  const std::size_t bytes = 16 * blocks;
  const std::uint64_t units = grains(bytes);
  const unsigned ranges = executor.ranges_for(units, min_grains);
  const auto nontemporal = key.kernel.cbc_decrypt_nontemporal;
  const auto operation =
      worth_using(nontemporal, executor, in, out, bytes) ? nontemporal : key.kernel.cbc_decrypt;
  const auto decrypt = [&](std::uint8_t* previous, std::uint64_t begin, std::uint64_t end) {
    const std::size_t from = begin * grain_bytes;
    const std::size_t to = std::min<std::size_t>(end * grain_bytes, bytes);
    operation(key.schedule, previous, in + from, out + from, (to - from) / 16);
  };
  if (ranges == 1) {
    decrypt(chain, 0, units);
    return;
  }
  // Saved before any range starts, because in place a range overwrites the block that the next one
  // needs.
  std::vector<std::array<std::uint8_t, 16>> previous_blocks(ranges);
  for (unsigned r = 0; r < ranges; ++r) {
    const std::uint8_t* previous =
        r == 0 ? chain : in + Executor::start_of(units, ranges, r) * grain_bytes - 16;
    std::memcpy(previous_blocks[r].data(), previous, 16);
  }
  std::memcpy(chain, in + bytes - 16, 16);
  executor.run(units, min_grains, [&](unsigned r, std::uint64_t begin, std::uint64_t end) {
    // A copy: kernels write the chain after every batch, and neighbouring blocks share a cache
    // line.
    std::array<std::uint8_t, 16> own_chain = previous_blocks[r];
    decrypt(own_chain.data(), begin, end);
  });
}

void parallel_ctr(const Executor& executor, const CipherKey& key, const std::uint8_t initial[16],
                  std::uint64_t offset, const std::uint8_t* in, std::uint8_t* out,
                  std::size_t bytes) {
  const bool nontemporal = worth_using(key.kernel.ctr_nontemporal, executor, in, out, bytes);
  executor.run(grains(bytes), min_grains, [&](unsigned, std::uint64_t begin, std::uint64_t end) {
    const std::size_t from = begin * grain_bytes;
    const std::size_t to = std::min<std::size_t>(end * grain_bytes, bytes);
    ctr_range(key, initial, offset + from, in + from, out + from, to - from, nontemporal);
  });
}

void parallel_xts(const Executor& executor, const XtsKey& key, Direction direction,
                  const std::uint8_t first_unit[16], std::size_t unit_bytes, const std::uint8_t* in,
                  std::uint8_t* out, std::size_t bytes) {
  const bool nontemporal =
      worth_using(key.data.kernel.xts_encrypt_nontemporal, executor, in, out, bytes);
  // Without the divisions below, which take a tenth of the time of 4 KiB.
  if (executor.threads() == 1 || bytes < 2 * min_range_bytes) {
    xts_range(key, direction, first_unit, 0, unit_bytes, in, out, bytes, nontemporal);
    return;
  }
  const XtsUnits units(bytes, unit_bytes);
  const std::uint64_t min_units =
      unit_bytes == 0 ? 1 : (min_range_bytes + unit_bytes - 1) / unit_bytes;
  executor.run(units.count, min_units, [&](unsigned, std::uint64_t begin, std::uint64_t end) {
    const std::size_t from = begin * unit_bytes;
    const std::size_t to = end == units.count ? bytes : end * unit_bytes;
    xts_range(key, direction, first_unit, begin, unit_bytes, in + from, out + from, to - from,
              nontemporal);
  });
}

void parallel_gcm(const Executor& executor, const GcmKey& key, Direction direction,
                  const GcmCounter& first_counter, std::uint8_t state[16], const std::uint8_t* in,
                  std::uint8_t* out, std::size_t bytes) {
  const std::uint64_t units = grains(bytes);
  const unsigned ranges = executor.ranges_for(units, min_grains);
  const bool nontemporal =
      worth_using(key.cipher.kernel.gcm_encrypt_nontemporal, executor, in, out, bytes);
  const auto crypt = [&](std::uint8_t* hash, std::size_t from, std::size_t to) {
    GcmCounter counter = first_counter;
    add_be32(counter.block, static_cast<std::uint32_t>(from / 16));
    gcm_range(key, direction, counter, hash, in + from, out + from, to - from, nontemporal);
  };
  if (ranges == 1) {
    crypt(state, 0, bytes);
    return;
  }
  std::vector<PartialHash> partials(ranges);
  std::memcpy(partials[0].hash, state, 16);
  executor.run(units, min_grains, [&](unsigned r, std::uint64_t begin, std::uint64_t end) {
    const std::size_t from = begin * grain_bytes;
    const std::size_t to = std::min<std::size_t>(end * grain_bytes, bytes);
    crypt(partials[r].hash, from, to);
    partials[r].blocks = (to - from + 15) / 16;
  });
  // The hash of the first range already continues `state`.
  std::memcpy(state, partials[0].hash, 16);
  join_hashes(key, std::span(partials).subspan(1), state);
}

}  // namespace paraes
