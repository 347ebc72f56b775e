#include "src/gpu/pinned_pool.hpp"

#include <algorithm>
#include <bit>
#include <new>
#include <utility>

#include "paraes/error.hpp"
#include "paraes/secret.hpp"
#include "src/gpu/context.hpp"

namespace paraes::gpu {

bool PinnedPool::has_passed(const Mark& mark) noexcept try {
  return mark.passed();
} catch (const Error&) {
  return false;  // the device is lost, and may still write to the memory
}

// Asks for some marks that have not passed, at most: later ones of the same queue have not either,
// but those of other queues may have.
void PinnedPool::reclaim() noexcept {
  constexpr int most_pending = 8;
  int pending = 0;
  for (auto one = used_.begin(); one != used_.end() && pending < most_pending;) {
    if (!has_passed(*one->mark)) {
      ++pending;
      ++one;
      continue;
    }
    try {
      free_.push_back(std::move(one->memory));
    } catch (const std::bad_alloc&) {
      return;
    }
    one = used_.erase(one);
  }
}

std::unique_ptr<PinnedMemory> PinnedPool::take(std::size_t bytes) {
  {
    const std::lock_guard lock(mutex_);
    reclaim();
    const auto size = [](const auto& memory) { return memory->host().size(); };
    auto best = free_.end();  // the smallest one that suffices
    for (auto one = free_.begin(); one != free_.end(); ++one) {
      if (size(*one) >= bytes && (best == free_.end() || size(*one) < size(*best))) best = one;
    }
    if (best != free_.end()) {
      std::unique_ptr<PinnedMemory> memory = std::move(*best);
      free_.erase(best);
      return memory;
    }
  }
  constexpr std::size_t least = 4096;
  Device& device = context_->device();
  return device.allocate_pinned(std::bit_ceil(std::max(bytes, least)),
                                device.reads_pinned_memory());
}

void PinnedPool::give_back(std::unique_ptr<PinnedMemory> memory,
                           std::unique_ptr<Mark> mark) noexcept {
  const std::lock_guard lock(mutex_);
  try {
    used_.push_back({std::move(memory), std::move(mark)});
  } catch (const std::bad_alloc&) {
    // Lost, because a copy may still use it.
    static_cast<void>(memory.release());
  }
}

void PinnedPool::wipe() noexcept {
  const std::lock_guard lock(mutex_);
  reclaim();
  for (const auto& memory : free_) secure_zero(memory->host().data(), memory->host().size());
}

}  // namespace paraes::gpu
