#include "src/modes/xts.hpp"

#include <algorithm>

#include "src/core/counter.hpp"
#include "src/kernels/block_modes.hpp"

namespace paraes {
namespace {

// Number of tweaks that one call encrypts: one call per unit would not fill the CPU's pipeline.
constexpr std::size_t tweak_batch = 64;

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

XtsOperation* fused_operation(const Kernel& kernel, Direction direction, bool nontemporal) {
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
  secure_zero(next, sizeof next);
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

// The number of the unit that is `n` after the unit `first`. A changed number is in `buffer`; the
// first one is not copied, because a load of 16 bytes cannot be forwarded from the two stores of a
// copy.
const std::uint8_t* number_at(const std::uint8_t first[16], std::uint64_t n,
                              std::uint8_t buffer[16]) {
  if (n == 0) return first;
  std::memcpy(buffer, first, 16);
  add_le128(buffer, n);
  return buffer;
}

// See Kernel::xts_tweaks.
void encrypt_tweaks(const CipherKey& key, const std::uint8_t number[16], std::uint8_t* tweaks,
                    std::size_t units) {
  if (key.kernel.xts_tweaks != nullptr) {
    key.kernel.xts_tweaks(key.schedule, number, tweaks, units);
    return;
  }
  for (std::size_t u = 0; u < units; ++u) {
    std::memcpy(tweaks + 16 * u, number, 16);
    add_le128(tweaks + 16 * u, u);
  }
  key.kernel.ecb_encrypt(key.schedule, tweaks, tweaks, units);
}

// Apart from xts_range, whose code for one unit then needs fewer registers and less stack.
[[gnu::noinline]] void several_units(const XtsKey& key, Direction direction,
                                     const std::uint8_t first_unit[16], std::uint64_t skip,
                                     const XtsUnits& units, const std::uint8_t* in,
                                     std::uint8_t* out, bool nontemporal) {
  const std::size_t unit_bytes = units.unit;
  static_assert(tweak_batch % xts_tweak_group == 0);
  alignas(64) std::uint8_t tweaks[16 * tweak_batch];
  std::uint8_t buffer[16];
  for (std::size_t left = units.count; left != 0;) {
    const std::size_t n = std::min(tweak_batch, left);
    encrypt_tweaks(key.tweak, number_at(first_unit, skip, buffer), tweaks, n);
    std::size_t u = 0;
    if (unit_bytes % 16 == 0) {
      u = n == left && units.last != unit_bytes ? n - 1 : n;
      whole_blocks(key.data, direction, tweaks, in, out, u, unit_bytes, unit_bytes / 16,
                   nontemporal);
    }
    for (; u < n; ++u) {
      xts_unit(key.data, direction, tweaks + 16 * u, in + u * unit_bytes, out + u * unit_bytes,
               n == left && u == n - 1 ? units.last : unit_bytes, nontemporal);
    }
    in += n * unit_bytes;
    out += n * unit_bytes;
    left -= n;
    skip += n;
  }
  const std::size_t written = std::min(tweak_batch, units.count);
  secure_zero(tweaks, 16 * (written + (-written) % xts_tweak_group));
}

}  // namespace

void xts_range(const XtsKey& key, Direction direction, const std::uint8_t first_unit[16],
               std::uint64_t skip, std::size_t unit_bytes, const std::uint8_t* in,
               std::uint8_t* out, std::size_t bytes, bool nontemporal) {
  const XtsUnits units(bytes, unit_bytes);
  if (units.count != 1) {
    several_units(key, direction, first_unit, skip, units, in, out, nontemporal);
    return;
  }
  std::uint8_t buffer[16];
  std::uint8_t tweak[16];
  encrypt_tweaks(key.tweak, number_at(first_unit, skip, buffer), tweak, 1);
  xts_unit(key.data, direction, tweak, in, out, units.last, nontemporal);
  secure_zero(tweak, sizeof tweak);
}

}  // namespace paraes
