#include "src/modes/xts.hpp"

#include <algorithm>

#include "src/core/counter.hpp"
#include "src/kernels/block_modes.hpp"

namespace paraes {
namespace {

// Number of tweaks that one call encrypts: one call per unit would not fill the CPU's pipeline.
constexpr std::size_t tweak_batch = 64;

using XtsOperation = decltype(Kernel::xts_encrypt);

// For kernels without XTS: computes the tweaks of a chunk into a buffer, then XOR, ECB and XOR.
void composed(const CipherKey& key, Direction direction, std::uint8_t* tweaks,
              const std::uint8_t* in, std::uint8_t* out, std::size_t units, std::size_t stride,
              std::size_t blocks) {
  constexpr std::size_t chunk = 256;
  std::uint8_t masks[16 * chunk];
  const auto ecb =
      direction == Direction::encrypt ? key.kernel.ecb_encrypt : key.kernel.ecb_decrypt;
  for (std::size_t u = 0; u < units; ++u) {
    std::uint8_t* tweak = tweaks + 16 * u;
    for (std::size_t done = 0; done < blocks; done += chunk) {
      const std::size_t n = std::min(chunk, blocks - done);
      const std::uint8_t* source = in + u * stride + 16 * done;
      std::uint8_t* target = out + u * stride + 16 * done;
      for (std::size_t i = 0; i < n; ++i) {
        std::memcpy(masks + 16 * i, tweak, 16);
        xor_block(target + 16 * i, source + 16 * i, tweak);
        block_modes::xts_next_tweak(tweak);
      }
      ecb(key.schedule, target, target, n);
      for (std::size_t i = 0; i < n; ++i) {
        xor_block(target + 16 * i, target + 16 * i, masks + 16 * i);
      }
    }
  }
  secure_zero(masks, sizeof masks);
}

XtsOperation fused_operation(const Kernel& kernel, Direction direction, bool nontemporal) {
  const bool encrypts = direction == Direction::encrypt;
  if (nontemporal) {
    return encrypts ? kernel.xts_encrypt_nontemporal : kernel.xts_decrypt_nontemporal;
  }
  return encrypts ? kernel.xts_encrypt : kernel.xts_decrypt;
}

void whole_blocks(const CipherKey& key, Direction direction, std::uint8_t* tweaks,
                  const std::uint8_t* in, std::uint8_t* out, std::size_t units, std::size_t stride,
                  std::size_t blocks, bool nontemporal = false) {
  const auto fused = fused_operation(key.kernel, direction, nontemporal);
  if (fused != nullptr) {
    fused(key.schedule, tweaks, in, out, units, stride, blocks);
  } else {
    composed(key, direction, tweaks, in, out, units, stride, blocks);
  }
}

}  // namespace

void xts_unit(const CipherKey& key, Direction direction, std::uint8_t tweak[16],
              const std::uint8_t* in, std::uint8_t* out, std::size_t bytes, bool nontemporal) {
  const std::size_t rest = bytes % 16;
  const std::size_t blocks = bytes / 16 - (rest != 0 ? 1 : 0);
  whole_blocks(key, direction, tweak, in, out, 1, 16 * blocks, blocks, nontemporal);
  if (rest == 0) return;

  in += 16 * blocks;
  out += 16 * blocks;
  std::uint8_t next[16];
  std::memcpy(next, tweak, 16);
  block_modes::xts_next_tweak(next);
  // Decryption uses the last two tweaks in reverse order.
  std::uint8_t* first = direction == Direction::encrypt ? tweak : next;
  std::uint8_t* second = direction == Direction::encrypt ? next : tweak;
  std::uint8_t stolen[16];
  std::uint8_t last[16];
  whole_blocks(key, direction, first, in, stolen, 1, 16, 1);
  std::memcpy(last, in + 16, rest);
  std::memcpy(last + rest, stolen + rest, 16 - rest);
  std::memcpy(out + 16, stolen, rest);
  whole_blocks(key, direction, second, last, out, 1, 16, 1);
  secure_zero(stolen, sizeof stolen);
  secure_zero(last, sizeof last);
}

XtsUnits::XtsUnits(std::size_t bytes, std::size_t unit_bytes)
    : unit(unit_bytes), count(1), last(bytes) {
  if (unit == 0 || bytes <= unit) return;
  count = bytes / unit;
  const std::size_t rest = bytes % unit;
  if (rest == 0) {
    last = unit;
  } else if (rest < 16) {
    last = unit + rest;  // joined to the unit before it
  } else {
    last = rest;
    ++count;
  }
}

namespace {

// A range of several units.
[[gnu::noinline]] void several_units(const XtsKey& key, Direction direction,
                                     std::uint8_t number[16], const XtsUnits& units,
                                     const std::uint8_t* in, std::uint8_t* out, bool nontemporal) {
  const std::size_t unit_bytes = units.unit;
  alignas(64) std::uint8_t tweaks[16 * tweak_batch];
  for (std::size_t done = 0; done < units.count;) {
    const std::size_t n = std::min(tweak_batch, units.count - done);
    for (std::size_t u = 0; u < n; ++u) {
      std::memcpy(tweaks + 16 * u, number, 16);
      add_le128(number, 1);
    }
    const CipherKey& tweak_key = key.tweak;
    tweak_key.kernel.ecb_encrypt(tweak_key.schedule, tweaks, tweaks, n);
    const bool has_last = done + n == units.count;
    std::size_t full = has_last ? n - 1 : n;
    std::size_t u = 0;
    if (unit_bytes % 16 == 0) {
      if (has_last && units.last == unit_bytes) ++full;
      whole_blocks(key.data, direction, tweaks, in, out, full, unit_bytes, unit_bytes / 16,
                   nontemporal);
      u = full;
    }
    for (; u < n; ++u) {
      const bool is_last = has_last && u == n - 1;
      xts_unit(key.data, direction, tweaks + 16 * u, in + u * unit_bytes, out + u * unit_bytes,
               is_last ? units.last : unit_bytes, nontemporal);
    }
    in += n * unit_bytes;
    out += n * unit_bytes;
    done += n;
  }
  secure_zero(tweaks, 16 * std::min(tweak_batch, units.count));
}

}  // namespace

void xts_range(const XtsKey& key, Direction direction, const std::uint8_t first_unit[16],
               std::uint64_t skip, std::size_t unit_bytes, const std::uint8_t* in,
               std::uint8_t* out, std::size_t bytes, bool nontemporal) {
  const XtsUnits units(bytes, unit_bytes);
  std::uint8_t tweak[16];
  std::memcpy(tweak, first_unit, 16);
  if (skip != 0) add_le128(tweak, skip);
  if (units.count != 1) {
    several_units(key, direction, tweak, units, in, out, nontemporal);
    return;
  }
  key.tweak.kernel.ecb_encrypt(key.tweak.schedule, tweak, tweak, 1);
  xts_unit(key.data, direction, tweak, in, out, units.last, nontemporal);
  secure_zero(tweak, sizeof tweak);
}

}  // namespace paraes
