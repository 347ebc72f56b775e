// The device memory that holds the keys of one stream.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "src/core/locked_memory.hpp"
#include "src/core/non_copyable.hpp"
#include "src/gpu/entry_launcher.hpp"
#include "src/gpu/key_material.hpp"
#include "src/gpu/programs/program_variant.hpp"
#include "src/gpu/queue_timer.hpp"
#include "src/gpu/secret_memory.hpp"

namespace paraes::gpu {

class DeviceContext;

// There are slots for the key of one cipher, which stays until the key of another cipher replaces
// it, and slots for many keys, for launches whose messages have different keys. Expansion runs on
// the stream's queue, in order with the launches that follow, and is timed as key expansion.
class KeySlots : NonCopyable {
 public:
  KeySlots(DeviceContext& context, Queue& queue, EntryLauncher& launcher, QueueTimer& timer);

  // How many keys use_many() takes at most, if a launch has up to launch_bytes of text.
  [[nodiscard]] static std::size_t most_keys(const ProgramVariant& variant,
                                             std::size_t launch_bytes) noexcept;

  // Copies the key to the device, unless it is already there. `key` must stay valid until forget()
  // or the next use(), which wipes it. The queue must have passed the copies of earlier keys.
  void use(const KeyMaterial& key);
  [[nodiscard]] bool holds(std::uint64_t id) const noexcept { return id_ == id; }
  // Enqueues the wiping of the key.
  void forget() noexcept;

  // From now on the references below mean these keys, of which there is at least one. All are of
  // one size, for GCM or all for another mode, and expanded in the same place; in a launch from
  // host memory they are at most most_keys(). The key of use() stays on the device.
  void use_many(std::span<const KeyMaterial* const> keys);
  // Waits for pending work and wipes the keys of use_many().
  void forget_many() noexcept;

  // Overwrites the keys in the memory that they were copied from. The queue must have passed that.
  void wipe_staged() noexcept { staged_.wipe(); }

  // For the arguments of entries: the data key or keys, their schedules, the GHASH key or keys, the
  // tweak key of XTS, its schedule.
  [[nodiscard]] KeyReference data_key() const;
  [[nodiscard]] KeyReference data_schedule() const;
  [[nodiscard]] KeyReference hash_key() const;
  [[nodiscard]] KeyReference tweak_key() const;
  [[nodiscard]] KeyReference tweak_schedule() const;

 private:
  // Memory is allocated when it is first needed, and kept.
  struct ManyKeySlots {
    bool used = false;
    unsigned rounds = 0;
    std::size_t capacity = 0;
    SecretMemory schedules;
    SecretMemory sliced;
    SecretMemory hash_keys;
  };

  struct RoundKeys : InLockedMemory {
    std::array<paraes_schedule, 2> schedules{};
  };

  [[nodiscard]] EntryArguments arguments(std::uint32_t count) const;
  // Returns the one of the two that entries read: see key_of() in src/gpu/device/entry.h.
  [[nodiscard]] const Memory& round_keys(const SecretMemory& schedules,
                                         const SecretMemory& sliced) const;
  [[nodiscard]] KeyReference single_key(unsigned k) const;
  // Expands `count` keys that lie in `staged`, as KeyMaterial::to_copy() has them. Those that the
  // device expands go to `keys` first.
  void expand(bool on_device, std::uint32_t count, std::span<const std::uint8_t> staged,
              SecretMemory& keys, SecretMemory& schedules, SecretMemory& sliced);
  // Copies to the beginning of device memory what is in staged_.
  void copy_in(const Memory& to, std::span<const std::uint8_t> staged);
  void reserve(std::size_t count, const KeyMaterial& first);
  // Computes the hash keys of data_schedule().
  void prepare_hash(std::uint32_t keys, std::uint32_t groups, const Memory& to);

  DeviceContext& context_;
  Queue& queue_;
  EntryLauncher& launcher_;
  QueueTimer& timer_;
  std::array<SecretMemory, 2> schedules_;
  std::array<SecretMemory, 2> sliced_;  // if the program needs that
  SecretMemory hash_keys_;
  SecretPinned staged_;                            // keys, until the queue has copied them
  SecretMemory staged_key_;                        // input of expand_keys
  std::unique_ptr<RoundKeys> expanded_by_device_;  // read back, to pass by value
  const KeyMaterial* key_ = nullptr;
  std::uint64_t id_ = 0;
  ManyKeySlots many_;
};

}  // namespace paraes::gpu
