// Work on a queue of the caller's, over device memory of the caller's.
#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include "paraes/devices.hpp"
#include "src/gpu/context.hpp"
#include "src/gpu/device_names.hpp"
#include "src/gpu/key_material.hpp"
#include "src/gpu/launches.hpp"
#include "src/gpu/pinned_pool.hpp"
#include "src/gpu/runtime/runtime.hpp"
#include "src/gpu/secret_memory.hpp"

namespace paraes::gpu {

// Calls enqueue and return. Only use_keys() and the destructor wait. After a call has failed, what
// it has enqueued is unspecified, and the object can be used again if the device still can.
class CallerQueue {
 public:
  // `queue` must be of the device of `context`.
  CallerQueue(std::shared_ptr<DeviceContext> context, std::unique_ptr<Queue> queue);
  // Waits for the work, and wipes keys and what was computed with them.
  ~CallerQueue();

  [[nodiscard]] Queue& queue() noexcept { return *queue_; }
  [[nodiscard]] const std::shared_ptr<PinnedPool>& pinned() noexcept { return pinned_; }
  [[nodiscard]] Launches& launches() noexcept { return launches_; }

  // Sets the keys of all launches, at least one, and waits until they are expanded. They must
  // outlive the object.
  void use_keys(std::span<const std::unique_ptr<KeyMaterial>> keys);

  // CBC decryption of messages whose `in` and `out` are the same place in `buffer`.
  void cbc_decrypt_in_place(const Memory& buffer, std::span<const paraes_message> messages);

  // A mark after the work so far, and pinned memory that will hold the verdicts of the last
  // Launches::gcm() on `messages` messages, 16 bytes each.
  struct Verdicts {
    std::unique_ptr<PinnedMemory> memory;
    std::unique_ptr<Mark> mark;
  };
  [[nodiscard]] Verdicts download_verdicts(std::size_t messages);

 private:
  std::shared_ptr<DeviceContext> context_;
  std::shared_ptr<PinnedPool> pinned_;
  std::unique_ptr<Queue> queue_;
  Launches launches_;
  SecretMemory copies_;  // of texts in place, allocated when first needed
};

// A device with the program of `kernel`, without streams of its own. `names` has one device.
// Throws Unavailable, DeviceError, and what variant_for and load_program throw.
[[nodiscard]] std::shared_ptr<DeviceContext> open_context(const DeviceNames& names,
                                                          const GpuKernel& kernel,
                                                          const VariantOptions& options = {});
// The device of a stream or queue of the caller's. Ciphers on one device share it. Throws as
// open_context(), and InvalidArgument.
[[nodiscard]] std::shared_ptr<DeviceContext> open_context_of(const DeviceStream& stream,
                                                             const GpuKernel& kernel);

}  // namespace paraes::gpu
