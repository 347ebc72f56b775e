// Memory and transfer scope: a row computes one message, or many small ones, from one buffer to
// another.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "bench/harness/row.hpp"
#include "paraes/ciphers.hpp"
#include "src/core/non_copyable.hpp"

namespace paraes::bench {

// The work of an implementation. Keys and nonces are the same in every job: see material().
struct Job {
  std::optional<Mode> mode = {};  // empty: the bytes are copied
  int key_bits = 128;
  Direction direction = Direction::encrypt;
  std::size_t unit = 4096;  // bytes of an XTS data unit; 0: the message is one unit
  std::uint64_t bytes = 0;
  int threads = 1;
  bool in_place = false;
  // The place in the message where a rank's share begins. It is a multiple of 16 in ECB, CTR and
  // CBC decryption, of `unit` in XTS, else 0.
  std::uint64_t offset = 0;
  // GCM: the job is many messages (see Messages), of this many bytes of text each; 0: it is one.
  std::uint64_t message = 0;
  Keys keys = Keys::one;
};

// Code that computes jobs: paraes itself or a rival. The constructor takes the job and expands the
// key, and throws Skip for a job that it cannot do.
class Implementation : public Interface {
 public:
  // Computes the whole job from `in` to `out`, which are equal for work in place. Encryption writes
  // `tag` (16 bytes, GCM only), and decryption checks it and throws if it does not match. Many
  // messages have their tags beside their texts, and `tag` is not used.
  virtual void run(const std::uint8_t* in, std::uint8_t* out, std::uint8_t* tag) = 0;

  // Expands the job's key again, without effect on run(); false if there is no key.
  virtual bool expand_key() { return false; }

  // Busy times of GPUs since the last call.
  [[nodiscard]] virtual PhaseTimes take_device_times() { return {}; }
};

struct Material {
  std::array<std::uint8_t, 64> key;  // the first key_bits / 8 bytes are used, in XTS twice as many
  // For CBC and CTR. The last four bytes are zero, since some rivals count in 32 bits only.
  std::array<std::uint8_t, 16> iv;
  std::array<std::uint8_t, 12> nonce;  // for GCM
  std::uint64_t first_unit;            // number of the first XTS data unit
};

[[nodiscard]] const Material& material();
// Bytes of key that the job uses.
[[nodiscard]] inline std::size_t key_bytes(const Job& job) {
  return static_cast<std::size_t>(job.key_bits) / 8 * (job.mode == Mode::xts ? 2 : 1);
}

// In memory scope on a GPU, GCM text is cut into segments, each a message with its own nonce and
// tag. Message i of many has segment_nonce(i), too.
inline constexpr std::size_t segment_bytes = std::size_t{16} << 10;
[[nodiscard]] inline std::uint64_t segments(std::uint64_t bytes) {
  return (bytes + segment_bytes - 1) / segment_bytes;
}
[[nodiscard]] std::array<std::uint8_t, 12> segment_nonce(std::uint64_t index);

// The messages of a job with Job::message. They lie in slots, in the input as in the output: the
// text, then room for the tag. All texts have `message` bytes but the last, which may be shorter.
struct Messages {
  std::uint64_t message;
  std::uint64_t slot;  // bytes from one message to the next
  std::uint64_t count;
  std::uint64_t last;  // bytes of the last text

  explicit Messages(const Job& job);
  [[nodiscard]] std::uint64_t offset(std::uint64_t index) const { return index * slot; }
  [[nodiscard]] std::uint64_t size(std::uint64_t index) const {
    return index + 1 == count ? last : message;
  }
};

inline constexpr std::size_t tag_bytes = 16;

// Bytes of the job's input, and of its output.
[[nodiscard]] std::uint64_t buffer_bytes(const Job& job);

// The key of one of many messages, if each has its own. Its first key_bytes(job) bytes are used.
[[nodiscard]] std::array<std::uint8_t, 64> message_key(std::uint64_t index);

// Limits of one job: the keys and lists of messages of all rows are in memory at once.
inline constexpr std::uint64_t max_messages = std::uint64_t{1} << 22;
inline constexpr std::uint64_t max_keys = 4096;

// The tweak of data unit `unit`: a 16-byte little-endian integer.
[[nodiscard]] std::array<std::uint8_t, 16> xts_tweak(std::uint64_t unit);

// The initial counter block plus `blocks`, a 128-bit big-endian sum.
[[nodiscard]] std::array<std::uint8_t, 16> ctr_block(std::uint64_t blocks);

// The block that CBC decryption adds to the job's first one: the IV, or the ciphertext before it.
[[nodiscard]] std::array<std::uint8_t, 16> cbc_chain(const Job& job);

// The number of the job's first XTS data unit.
[[nodiscard]] std::uint64_t first_unit(const Job& job);

// The XTS data units of a message. All have `unit` bytes but the last, which may be shorter, or
// longer by a remainder of less than 16 bytes, too short for a data unit (IEEE 1619).
struct Units {
  std::size_t unit;
  std::uint64_t count;
  std::size_t last;

  Units(std::uint64_t bytes, std::size_t unit_bytes);
  [[nodiscard]] std::size_t size(std::uint64_t index) const {
    return index + 1 == count ? last : unit;
  }
};

// How the bench cuts a message for several threads, for rivals and for the first touch of buffers:
// into ranges of at least 16 KiB that end at multiples of 4 KiB. src/cipher/parallel_modes.cpp cuts
// in the same way.
inline constexpr std::size_t grain_bytes = 4096;
inline constexpr std::size_t min_grains = 4;
[[nodiscard]] inline std::uint64_t grains(std::uint64_t bytes) {
  return (bytes + grain_bytes - 1) / grain_bytes;
}

// Writes bytes [from, from + bytes) of the input of every job. No two of its blocks are equal, so
// swapped or repeated blocks are detected.
void pattern(std::uint64_t from, std::uint8_t* out, std::size_t bytes);

}  // namespace paraes::bench
