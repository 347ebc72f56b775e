// A key on the GPUs of a pool. Cuts work under this key into launches.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <memory>
#include <mutex>
#include <utility>

#include "paraes/ciphers.hpp"
#include "src/core/bulk_copy.hpp"
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
void on_streams(gpu::DevicePool& pool, unsigned streams, std::uint64_t count, const auto& work) {
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
  // Whether the CPU does again, from the input, what a launch that fails has not finished: only in
  // GCM.
  bool falls_back = false;
};

// Says which texts of a call are copied between the caller's memory and the device directly,
// because that memory is page-locked. The others pass through the pinned memory of the streams.
struct DirectCopies {
  bool in = false;
  bool out = false;
};

// The three steps of a launch of `bytes` bytes: before it; after it, when `end` bytes of the
// device's buffer are of interest; and after Stream::finish(). Those behind the text are in
// Stream::output().
inline void copy_text_in(gpu::Stream& stream, const DirectCopies& direct, const std::uint8_t* in,
                         std::size_t bytes) {
  if (direct.in) {
    stream.copy_in_from(in, bytes);
    return;
  }
  copy_part(stream.input(), in, bytes, bytes);
  std::memset(stream.input() + bytes, 0, padded(bytes) - bytes);
  stream.stage_in(padded(bytes));
}
inline void copy_text_out(gpu::Stream& stream, const DirectCopies& direct, std::uint8_t* out,
                          std::size_t bytes, std::size_t end) {
  if (direct.out) {
    stream.copy_out_to(out, bytes, end);
  } else {
    stream.stage_out(end);
  }
}
inline void take_text(gpu::Stream& stream, const DirectCopies& direct, std::uint8_t* out,
                      std::size_t bytes) {
  if (!direct.out) copy_part(out, stream.output(), bytes, bytes);
}

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
         const GpuUse& use)
      : pool_(std::move(pool)),
        material_(std::move(material)),
        overlap_(use.overlap),
        falls_back_(use.falls_back) {
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

  // How to copy these texts, which asks the driver once for all their launches.
  [[nodiscard]] DirectCopies direct_copies(Bytes in, Bytes out) const;

  // Calls body(stream, launch) for each launch < count, on up to streams() streams that hold the
  // key.
  void launches(std::uint64_t count, const auto& body) const {
    on_streams(*pool_, streams(), count, [&](gpu::Stream& stream, std::uint64_t launch) {
      stream.use_key(*material_);
      body(stream, launch);
      add_times(stream.take_times());
    });
  }

  // Cuts `bytes` bytes into launches, all but the last a multiple of `grain` bytes, and calls
  // body(stream, offset, size) for each.
  void ranges(std::size_t bytes, std::size_t grain, const auto& body) const {
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
  bool falls_back_;
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
      : gpu_(std::move(pool), std::move(material), use),
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
