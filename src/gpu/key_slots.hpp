// The memory on a device that holds the keys of one stream.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "paraes/secret.hpp"
#include "src/gpu/entry_launcher.hpp"
#include "src/gpu/key_material.hpp"
#include "src/gpu/programs/program_variant.hpp"
#include "src/gpu/queue_timer.hpp"
#include "src/gpu/runtime/runtime.hpp"

namespace paraes::gpu {

class DeviceContext;

// Two kinds of slots: those of one cipher, whose key stays until another cipher's replaces it, and
// those of many keys, for launches whose messages have keys of their own. Expansion runs on the
// stream's queue, in order with the launches that follow, and is timed as key expansion.
class KeySlots {
 public:
  KeySlots(DeviceContext& context, Queue& queue, EntryLauncher& launcher, QueueTimer& timer);
  KeySlots(const KeySlots&) = delete;
  KeySlots& operator=(const KeySlots&) = delete;

  // How many keys use_many() takes at most, where a launch has up to launch_bytes of text.
  [[nodiscard]] static std::size_t most_keys(const ProgramVariant& variant,
                                             std::size_t launch_bytes) noexcept;

  // Brings the key to the device, unless it is there. `key` stays valid until forget() or the next
  // use().
  void use(const KeyMaterial& key);
  // Wipes the key, and waits until that is done. With an id: only if it is that of the key.
  void forget();
  void forget(std::uint64_t id);

  // From now on the references below mean these keys, of one size, which all hash; those of use()
  // stay on the device. At most most_keys().
  void use_many(std::span<const KeyMaterial* const> keys);
  // Waits for what is under way and wipes the keys of use_many().
  void forget_many() noexcept;

  // For arguments of entries. The data key or keys; those of GHASH; the tweak key of XTS.
  [[nodiscard]] KeyReference data_key() const;
  [[nodiscard]] KeyReference hash_key() const;
  [[nodiscard]] KeyReference tweak_key() const;

 private:
  // Memory is allocated when it is first needed, and kept.
  struct ManyKeySlots {
    bool used = false;
    unsigned rounds = 0;
    std::size_t count = 0;
    std::size_t capacity = 0;
    SecretBytes staged;  // until the queue has copied them
    Memory schedules;
    Memory sliced;
    Memory hash_keys;
  };

  [[nodiscard]] EntryArguments arguments(std::uint32_t count) const;
  [[nodiscard]] KeyReference single_key(unsigned k) const;
  void expand(unsigned k);
  void reserve(std::size_t count);

  DeviceContext& context_;
  Queue& queue_;
  EntryLauncher& launcher_;
  QueueTimer& timer_;
  std::array<Memory, 2> schedules_;
  std::array<Memory, 2> keys_;  // as the program wants them
  Memory hash_keys_;
  Memory staged_key_;                                    // what expand_keys reads
  std::array<paraes_schedule, 2> expanded_by_device_{};  // read back, to pass by value
  const KeyMaterial* key_ = nullptr;
  std::uint64_t id_ = 0;
  ManyKeySlots many_;
};

}  // namespace paraes::gpu
