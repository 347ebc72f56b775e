// The keys of one cipher, in the form that is copied to a device.
#pragma once

#include <array>
#include <cstdint>

#include "src/core/key_schedule.hpp"
#include "src/core/locked_memory.hpp"
#include "src/core/non_copyable.hpp"
#include "src/gpu/device/host_job.hpp"

namespace paraes::gpu {

// Zeroised when it is destroyed.
struct KeyMaterial : InLockedMemory, NonCopyable {
  std::uint64_t id = 0;  // unique in this process, never 0
  unsigned rounds = 0;
  unsigned count = 0;  // 1, or 2 for XTS: the data key and the tweak key
  bool hashes = false;
  bool on_device = false;  // the device expands `keys`; otherwise `schedules` are copied to it
  std::array<paraes_schedule, 2> schedules{};
  std::array<std::array<std::uint8_t, 32>, 2> keys{};

  KeyMaterial(unsigned bytes, bool hash, bool device);
  ~KeyMaterial();

  // The size of each of `keys`: 16, 24 or 32.
  [[nodiscard]] unsigned key_bytes() const noexcept { return 4 * (rounds - 6); }

  // Adds a key and its round keys of both directions. Call it at most twice.
  void add(const std::uint8_t* key, const KeySchedule& schedule);
};

}  // namespace paraes::gpu
