#include "src/gpu/pinned_pool.hpp"

#include <algorithm>
#include <bit>
#include <utility>

#include "paraes/error.hpp"
#include "src/gpu/context.hpp"

namespace paraes::gpu {
namespace {

bool has_passed(const Mark& mark) noexcept {
  try {
    return mark.passed();
  } catch (const Error&) {
    return false;  // the device is lost, and may still write to the memory
  }
}

}  // namespace

std::unique_ptr<PinnedMemory> PinnedPool::take(std::size_t bytes) {
  {
    const std::lock_guard lock(mutex_);
    // The smallest one that suffices.
    auto best = used_.end();
    for (auto one = used_.begin(); one != used_.end(); ++one) {
      const std::size_t size = one->memory->host().size();
      if (size < bytes || (best != used_.end() && best->memory->host().size() <= size)) continue;
      if (has_passed(*one->mark)) best = one;
    }
    if (best != used_.end()) {
      std::unique_ptr<PinnedMemory> memory = std::move(best->memory);
      used_.erase(best);
      return memory;
    }
  }
  constexpr std::size_t least = 4096;
  return context_->device().allocate_pinned(std::bit_ceil(std::max(bytes, least)), false);
}

void PinnedPool::give_back(std::unique_ptr<PinnedMemory> memory, std::unique_ptr<Mark> mark) {
  const std::lock_guard lock(mutex_);
  used_.push_back({std::move(memory), std::move(mark)});
}

}  // namespace paraes::gpu
