// A key on the GPUs of a pool. Cuts work under this key into launches.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <mutex>
#include <utility>

#include "paraes/ciphers.hpp"
#include "src/core/executor.hpp"
#include "src/core/workers.hpp"
#include "src/gpu/pool.hpp"
#include "src/modes/cipher_key.hpp"

namespace paraes::detail {

// The memory that a text takes on a GPU: whole blocks.
[[nodiscard]] constexpr std::size_t padded(std::size_t bytes) noexcept {
  return (bytes + 15) / 16 * 16;
}

// Calls work(stream, job) for each job < count, on up to `streams` streams of `pool` at once. Each
// job leases its own stream. A worker that waits for a stream holds none, so callers cannot block
// each other. If jobs fail, throws the exception of the one with the lowest number, after all
// workers have ended.
template <class Work>
void on_streams(gpu::DevicePool& pool, unsigned streams, std::uint64_t count, const Work& work) {
  const auto workers = static_cast<unsigned>(std::min<std::uint64_t>(count, streams));
  for_each_job(workers, count, [&](unsigned, std::uint64_t job) {
    gpu::DevicePool::Lease lease(pool);
    work(lease.stream(), job);
  });
}

// How a cipher uses GPUs.
struct GpuUse {
  KeyExpansion key_expansion = KeyExpansion::host;
  // If false, each launch is copied in, computed and copied back before the next one starts.
  bool overlap = true;
};

// Converts keys that a CPU kernel has expanded to the form for GPUs: one key, or the two of XTS,
// the data key first. `hashes` is true for GCM.
[[nodiscard]] std::unique_ptr<gpu::KeyMaterial> make_key_material(
    std::initializer_list<const CipherKey*> keys, bool hashes, KeyExpansion expansion);

// Expands `count` keys of equal size, concatenated in `keys`, and converts them.
[[nodiscard]] std::unique_ptr<gpu::KeyMaterial> make_key_material(Bytes keys, unsigned count,
                                                                  bool hashes,
                                                                  KeyExpansion expansion);

// Safe for several threads at once.
class GpuKey {
 public:
  GpuKey(std::shared_ptr<gpu::DevicePool> pool, std::unique_ptr<gpu::KeyMaterial> material,
         bool overlap)
      : pool_(std::move(pool)), material_(std::move(material)), overlap_(overlap) {
    ++count_;
  }
  ~GpuKey() {
    --count_;
    pool_->forget_key(material_->id);
  }

  // Whether there is any. If not, nobody need look for those of thousands of messages.
  [[nodiscard]] static bool any() noexcept { return count_.load(std::memory_order_relaxed) != 0; }

  [[nodiscard]] gpu::DevicePool& pool() const noexcept { return *pool_; }
  [[nodiscard]] const gpu::KeyMaterial& material() const noexcept { return *material_; }

  // How many launches may run at once.
  [[nodiscard]] unsigned streams() const noexcept { return overlap_ ? pool_->streams() : 1; }

  // Calls body(stream, launch) for each launch < count, on up to streams() streams that hold the
  // key.
  template <class Body>
  void launches(std::uint64_t count, const Body& body) const {
    on_streams(*pool_, streams(), count, [&](gpu::Stream& stream, std::uint64_t launch) {
      stream.use_key(*material_);
      body(stream, launch);
      add_times(stream.take_times());
    });
  }

  // Cuts `bytes` bytes into launches, all but the last a multiple of `grain` bytes, and calls
  // body(stream, offset, size) for each.
  template <class Body>
  void ranges(std::size_t bytes, std::size_t grain, const Body& body) const {
    const std::size_t most = std::max(pool_->launch_bytes() / grain, std::size_t{1}) * grain;
    // At least one launch per stream, as long as each has enough to do.
    constexpr std::size_t least = std::size_t{256} << 10;
    const std::size_t share = (bytes / streams() + grain - 1) / grain * grain;
    const std::size_t least_range = (least + grain - 1) / grain * grain;
    const std::size_t range = std::min(most, std::max(share, least_range));
    launches((bytes + range - 1) / range, [&](gpu::Stream& stream, std::uint64_t launch) {
      const std::size_t offset = launch * range;
      body(stream, offset, std::min(range, bytes - offset));
    });
  }

  // The busy time of all streams since the last call.
  [[nodiscard]] PhaseTimes take_times() const noexcept {
    const std::lock_guard lock(mutex_);
    return std::exchange(times_, PhaseTimes{});
  }
  void add_times(const PhaseTimes& times) const;

 private:
  std::shared_ptr<gpu::DevicePool> pool_;
  std::unique_ptr<gpu::KeyMaterial> material_;
  bool overlap_;
  static inline std::atomic<std::size_t> count_ = 0;  // of the objects
  mutable std::mutex mutex_;
  mutable PhaseTimes times_;  // under mutex_
};

// The part of HostCipher that is the same for all GPU ciphers.
template <class Interface, class KeyPointer>
class OnGpu : public Interface {
 public:
  // `key` is the key for the work that the CPU does.
  OnGpu(std::shared_ptr<gpu::DevicePool> pool, std::unique_ptr<gpu::KeyMaterial> material,
        KeyPointer key, const Executor& executor, const GpuUse& use)
      : gpu_(std::move(pool), std::move(material), use.overlap),
        key_(std::move(key)),
        executor_(executor) {}

  [[nodiscard]] std::string_view kernel() const noexcept final { return gpu_.pool().kernel().name; }
  [[nodiscard]] std::string device() const final { return gpu_.pool().id(); }
  [[nodiscard]] int threads() const noexcept final { return executor_.threads(); }
  [[nodiscard]] PhaseTimes take_times() const noexcept final { return gpu_.take_times(); }

 protected:
  const GpuKey gpu_;
  const KeyPointer key_;
  const Executor executor_;
};

}  // namespace paraes::detail
