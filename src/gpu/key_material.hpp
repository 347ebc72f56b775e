// The keys of one cipher, in the form that is copied to a device.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <span>

#include "paraes/secret.hpp"
#include "src/core/key_schedule.hpp"
#include "src/core/locked_memory.hpp"
#include "src/core/non_copyable.hpp"
#include "src/gpu/device/host_job.hpp"

namespace paraes::gpu {

// Zeroised when it is destroyed.
struct KeyMaterial : InLockedMemory, NonCopyable {
  const std::uint64_t id = next_id++;  // unique in this process, never 0
  const unsigned rounds;
  unsigned count = 0;  // 1, or 2 for XTS: the data key and the tweak key
  const bool hashes;
  const bool on_device;  // the device expands `keys`; otherwise `schedules` are copied to it
  std::array<paraes_schedule, 2> schedules{};
  std::array<std::array<std::uint8_t, 32>, 2> keys{};

  KeyMaterial(unsigned bytes, bool hash, bool device)
      : rounds(rounds_for(bytes)), hashes(hash), on_device(device) {}
  ~KeyMaterial() {
    secure_zero(schedules.data(), sizeof schedules);
    secure_zero(keys.data(), sizeof keys);
  }

  // The size of each of `keys`: 16, 24 or 32.
  [[nodiscard]] unsigned key_bytes() const noexcept { return 4 * (rounds - 6); }

  // The bytes of key k that are copied to the device.
  [[nodiscard]] std::span<const std::uint8_t> to_copy(std::size_t k) const noexcept {
    if (on_device) return {keys[k].data(), key_bytes()};
    return {reinterpret_cast<const std::uint8_t*>(&schedules[k]), sizeof schedules[k]};
  }

  // Adds a key and its round keys of both directions. Call it at most twice.
  void add(const std::uint8_t* key, const KeySchedule& schedule) {
    const std::size_t bytes = 16 * (rounds + std::size_t{1});
    std::memcpy(keys[count].data(), key, schedule.key_bytes);
    std::memcpy(schedules[count].encrypt, schedule.encrypt, bytes);
    std::memcpy(schedules[count].decrypt, schedule.decrypt, bytes);
    ++count;
  }

 private:
  static inline std::atomic<std::uint64_t> next_id = 1;
};

}  // namespace paraes::gpu
