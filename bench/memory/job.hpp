// The memory scope: one message from one buffer to another, in the words of the standards.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

#include "bench/harness/row.hpp"
#include "paraes/ciphers.hpp"

namespace paraes::bench {

// What is to be computed. Keys and nonces are the same in every job (material()).
struct Job {
  std::optional<Mode> mode;  // none: the bytes are copied
  int key_bits = 128;
  Direction direction = Direction::encrypt;
  std::size_t unit = 4096;  // of XTS; 0: one data unit
  std::uint64_t bytes = 0;
  int threads = 1;
  bool in_place = false;
  // Where these bytes begin in the message whose share they are: 0, or in CTR any multiple of 16,
  // in XTS one of `unit`, and with ECB and CBC decryption one of 16.
  std::uint64_t offset = 0;
};

// Something that computes jobs: ours, or a rival. Its constructor takes the job, expands the key
// and throws Skip for a job that it cannot do.
class Implementation {
 public:
  Implementation() = default;
  virtual ~Implementation() = default;
  Implementation(const Implementation&) = delete;
  Implementation& operator=(const Implementation&) = delete;

  // The whole job; `tag` (16 bytes, GCM only) is written by encryption and checked by decryption,
  // which throws if it does not match.
  virtual void run(const std::uint8_t* in, std::uint8_t* out, std::uint8_t* tag) = 0;

  // Expands the job's key anew, into a place of its own; false if there is nothing to expand.
  virtual bool expand_key() { return false; }

  // What GPUs have spent since the last call.
  [[nodiscard]] virtual PhaseTimes take_device_times() { return {}; }
};

struct Material {
  std::array<std::uint8_t, 64> key;  // the first key_bits / 8 bytes; XTS: twice as many
  // Of CBC and CTR. Its last four bytes are zero: some rivals count in 32 bits only.
  std::array<std::uint8_t, 16> iv;
  std::array<std::uint8_t, 12> nonce;  // of GCM
  std::uint64_t first_unit;            // number of the first XTS data unit
};

[[nodiscard]] const Material& material();
[[nodiscard]] inline std::size_t key_bytes(const Job& job) {
  return static_cast<std::size_t>(job.key_bits) / 8 * (job.mode == Mode::xts ? 2 : 1);
}

// The memory scope on a GPU cuts a text for GCM into messages of their own: segments.
inline constexpr std::size_t segment_bytes = std::size_t{16} << 10;
[[nodiscard]] inline std::uint64_t segments(std::uint64_t bytes) {
  return (bytes + segment_bytes - 1) / segment_bytes;
}
[[nodiscard]] std::array<std::uint8_t, 12> segment_nonce(std::uint64_t index);

// The tweak of data unit `unit`: a 16-byte little-endian integer.
[[nodiscard]] std::array<std::uint8_t, 16> xts_tweak(std::uint64_t unit);

// The initial counter block plus `blocks`, a 128-bit big-endian sum.
[[nodiscard]] std::array<std::uint8_t, 16> ctr_block(std::uint64_t blocks);

// The block that CBC decryption chains the job's first block with: the IV, or the block before it.
[[nodiscard]] std::array<std::uint8_t, 16> cbc_chain(const Job& job);

// The number of the job's first XTS data unit.
[[nodiscard]] std::uint64_t first_unit(const Job& job);

// The XTS data units of a message: all of `unit` bytes but the last, which takes a rest of under 16
// bytes as well.
struct Units {
  std::size_t unit;
  std::uint64_t count;
  std::size_t last;

  Units(std::uint64_t bytes, std::size_t unit_bytes);
  [[nodiscard]] std::size_t size(std::uint64_t index) const {
    return index + 1 == count ? last : unit;
  }
};

// How this bench cuts a message for threads, in rivals and when buffers are touched first: runs of
// at least 16 KiB that end at multiples of 4 KiB, as the library's own executors do.
inline constexpr std::size_t grain_bytes = 4096;
inline constexpr std::size_t min_grains = 4;
[[nodiscard]] inline std::uint64_t grains(std::uint64_t bytes) {
  return (bytes + grain_bytes - 1) / grain_bytes;
}

// Bytes [from, from + bytes) of the input of every job: no two of its blocks are equal, so that
// swapped or repeated blocks show, and it is never all zero.
void pattern(std::uint64_t from, std::uint8_t* out, std::size_t bytes);

}  // namespace paraes::bench
