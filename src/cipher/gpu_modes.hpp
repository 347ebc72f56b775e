// How each mode is cut over the lanes of GPUs. The counterpart of parallel_modes.hpp.
//
// Data goes in fragments, several at once; a fragment is staged, worked on and staged back by one
// lane. Ends that do not fit a GPU's whole blocks (a stolen block of XTS, the odd bytes before a
// block of CTR) are the callers', who have a CPU kernel for them.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "paraes/ciphers.hpp"
#include "paraes/error.hpp"
#include "src/gpu/pool.hpp"
#include "src/modes/gcm.hpp"

namespace paraes {

// One segment of a message, for GpuCipher::segments.
struct GpuSegment {
  std::array<std::uint8_t, 12> nonce;
  const std::uint8_t* in;
  std::uint8_t* out;
  std::size_t bytes;  // of text
  std::uint8_t* tag;  // 16 bytes: written when sealing, and when opening what the tag should be
};

class GpuCipher;

// A segment with a key of its own, for GpuCipher::segments_of_many.
struct GpuKeyedSegment {
  const GpuCipher* cipher;
  GpuSegment segment;
};

// `count` keys of key_bytes each, one after another, as a lane takes them.
[[nodiscard]] std::unique_ptr<gpu::KeyMaterial> make_key_material(const std::uint8_t* key,
                                                                  unsigned key_bytes,
                                                                  unsigned count, bool gcm,
                                                                  KeyExpansion expansion);

// A key on the GPUs of a fleet. Safe for several threads at once.
class GpuCipher {
 public:
  struct Use {
    KeyExpansion key_expansion = KeyExpansion::host;
    // Off: one fragment is copied in, computed and copied back before the next.
    bool overlap = true;
    // If set, the same key on the CPU, which outlives the cipher: fragments of GCM and of segments
    // that the device fails to do are done with it, and after the first of them all others.
    const GcmKey* spare = nullptr;
  };

  // count: 1, or 2 for XTS. With `gcm` set, the key can be used for GCM.
  GpuCipher(std::shared_ptr<gpu::DevicePool> fleet, const std::uint8_t* key, unsigned key_bytes,
            unsigned count, bool gcm, const Use& use);
  ~GpuCipher();
  GpuCipher(const GpuCipher&) = delete;
  GpuCipher& operator=(const GpuCipher&) = delete;

  [[nodiscard]] gpu::DevicePool& fleet() const noexcept { return *fleet_; }

  // How many fragments may be under way at once.
  [[nodiscard]] unsigned lanes() const noexcept { return use_.overlap ? fleet_->streams() : 1; }

  // What the device failed with when the CPU took over; empty if it did not.
  [[nodiscard]] std::string fallback() const;

  // bytes: a multiple of 16; out is in or apart from it.
  void ecb(Direction direction, const std::uint8_t* in, std::uint8_t* out, std::size_t bytes) const;
  void cbc_decrypt(const std::uint8_t chain[16], const std::uint8_t* in, std::uint8_t* out,
                   std::size_t bytes) const;
  // Any number of bytes, from the block that has this counter.
  void ctr(const std::uint8_t counter[16], const std::uint8_t* in, std::uint8_t* out,
           std::size_t bytes) const;
  // Whole units of a multiple of 16 bytes, of which the first has the number first_unit.
  void xts(Direction direction, const std::uint8_t first_unit[16], std::size_t unit_bytes,
           const std::uint8_t* in, std::uint8_t* out, std::size_t bytes) const;
  // One unit of whole blocks whose tweak is encrypted already; it is left as the tweak of the block
  // after the last.
  void xts_unit(Direction direction, std::uint8_t tweak[16], const std::uint8_t* in,
                std::uint8_t* out, std::size_t bytes) const;
  // The text of one message from the block after `j0`, and its GHASH into `state`.
  void gcm(const GcmKey& key, Direction direction, const GcmCounter& j0, std::uint8_t state[16],
           const std::uint8_t* in, std::uint8_t* out, std::size_t bytes) const;
  // Whole messages without associated data, each with a nonce of 96 bits, none longer than
  // segment_limit().
  void segments(Direction direction, std::span<const GpuSegment> list) const;
  [[nodiscard]] std::size_t segment_limit() const noexcept;

  // Segments of many ciphers of one fleet, none longer than many_limit(): as many as a lane takes
  // go in one launch. Those of a cipher should follow each other.
  static void segments_of_many(Direction direction, std::span<const GpuKeyedSegment> list);
  [[nodiscard]] std::size_t many_limit() const noexcept;

  // What the devices did since the last call, all lanes together.
  [[nodiscard]] DeviceTimes take_times() const noexcept;

 private:
  // Calls body(lane, f) for f < count, on lanes() lanes. What body fails to do, spare(f) does where
  // there is a spare key.
  template <class Body, class Spare>
  void each_fragment(std::uint64_t count, const Body& body, const Spare& spare) const;
  // Cuts `bytes` into fragments of a multiple of `grain` bytes: body(lane, from, bytes), and
  // spare(from, bytes) as above.
  template <class Body, class Spare>
  void each_run(std::size_t bytes, std::size_t grain, const Body& body, const Spare& spare) const;

  void add_times(const DeviceTimes& times) const;

  // Whether the CPU takes over, now that the device has failed with `error`.
  [[nodiscard]] bool falls_back(const Error& error) const;
  // A segment that the device has not done, by the CPU.
  void spare_segment(Direction direction, const GpuSegment& segment) const;

  std::shared_ptr<gpu::DevicePool> fleet_;
  std::unique_ptr<gpu::KeyMaterial> key_;
  Use use_;
  mutable std::mutex mutex_;
  mutable DeviceTimes times_;
  mutable std::atomic<bool> failed_ = false;  // the CPU has taken over
  mutable std::string failure_;               // why
};

}  // namespace paraes
