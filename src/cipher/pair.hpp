// The CPU and GPUs together: chunks of one message go to whichever finishes them sooner.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include "src/cipher/cipher.hpp"
#include "src/core/non_copyable.hpp"
#include "src/gpu/pool.hpp"

namespace paraes::detail {

// How fast a CPU kernel and a pool are when they work together, measured in each call, and how many
// calls they work on. All ciphers of a process with the same two share it. Safe for several threads
// at once.
class PairRates {
 public:
  enum class Side { cpu, gpu };
  enum class Choice {
    cpu,
    gpu,
    next_gpu,  // the GPU, although all its streams are busy
  };

  // `cores` threads of the CPU and `streams` streams of the GPU work at once.
  PairRates(unsigned cores, unsigned streams) : cores_(cores), streams_(streams) {}

  // Where a call with `bytes` bytes of text should go, if `left` bytes come after it: to a free
  // stream, and else to the CPU; but not to a side that would still be busy when the other one had
  // done all the rest. A side that was not measured yet counts as fast, but the GPU gets one call
  // until it is. A side that was fast before is tried again now and then.
  [[nodiscard]] Choice choose(std::uint64_t bytes, std::uint64_t left) noexcept;

  // A call that works. Its destructor ends it; done() before that measures its rate.
  class Call : NonCopyable {
   public:
    Call(PairRates& rates, Side side) noexcept;
    ~Call();
    // The call has taken `nanoseconds` for `bytes` bytes. Short calls are not counted, and neither
    // is the first one of a side: they say how long it takes to begin.
    void done(std::uint64_t bytes, std::uint64_t nanoseconds) noexcept;

   private:
    PairRates& rates_;
    Side side_;
  };

  [[nodiscard]] unsigned cores() const noexcept { return cores_; }

 private:
  // The times of a call among others, in nanoseconds a byte; 0: not measured.
  struct Times {
    std::atomic<bool> began = false;
    std::atomic<double> usual = 0;
    std::atomic<double> best = 0;
  };
  [[nodiscard]] Times& times_of(Side side) noexcept { return side == Side::gpu ? gpu_ : cpu_; }

  const unsigned cores_;
  const unsigned streams_;
  std::atomic<unsigned> on_gpu_ = 0;
  std::atomic<unsigned> refusals_ = 0;  // how often a side was too slow
  Times cpu_;
  Times gpu_;
};

// Returns the rates of a pool and of the CPU kernel with this name.
[[nodiscard]] PairRates& pair_rates(const gpu::DevicePool& pool, std::string_view cpu_kernel);

// Segments go to the CPU or to the GPU, as `rates` has it; whole messages go to the GPU.
[[nodiscard]] std::shared_ptr<const GcmCipher> make_pair_gcm(std::shared_ptr<const GcmCipher> gpu,
                                                             std::shared_ptr<const GcmCipher> cpu,
                                                             PairRates& rates);

}  // namespace paraes::detail
