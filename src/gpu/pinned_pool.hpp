// Pinned host memory for copies that nobody waits for.
#pragma once

#include <cstddef>
#include <deque>
#include <memory>
#include <mutex>
#include <vector>

#include "src/gpu/runtime/runtime.hpp"

namespace paraes::gpu {

class DeviceContext;

// Keeps memory that is no longer used for the next caller. Safe for several threads at once.
class PinnedPool {
 public:
  explicit PinnedPool(std::shared_ptr<DeviceContext> context) : context_(std::move(context)) {}

  // At least `bytes` bytes, which no copy uses. Does not wait for copies: allocates if all memory
  // is in use, for which drivers may wait. Throws OutOfMemory.
  [[nodiscard]] std::unique_ptr<PinnedMemory> take(std::size_t bytes);
  // Takes memory back that copies may use until their queue has passed `mark`.
  void give_back(std::unique_ptr<PinnedMemory> memory, std::unique_ptr<Mark> mark) noexcept;

  // Whether a queue has passed a mark. It never does if the device is lost.
  [[nodiscard]] static bool has_passed(const Mark& mark) noexcept;

  // Overwrites with zeros what was given back and is no longer used.
  void wipe() noexcept;

 private:
  struct Used {
    std::unique_ptr<PinnedMemory> memory;
    std::unique_ptr<Mark> mark;
  };

  // The functions below need the mutex.
  void reclaim() noexcept;

  const std::shared_ptr<DeviceContext> context_;  // outlives the memory
  std::mutex mutex_;
  std::deque<Used> used_;  // in the order in which it was given back
  std::vector<std::unique_ptr<PinnedMemory>> free_;
};

}  // namespace paraes::gpu
