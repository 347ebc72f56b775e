#include "src/cipher/pair.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "paraes/io.hpp"
#include "paraes/threads.hpp"
#include "src/core/stopwatch.hpp"

namespace paraes::detail {
namespace {

using Choice = PairRates::Choice;
using Segment = SegmentCipher::Segment;
using Side = PairRates::Side;

// A chunk for the GPU. Smaller ones than its own keep a core in its caches, and let the two sides
// end at the same time.
constexpr std::size_t most_chunk_bytes = std::size_t{1} << 20;
// A launch costs more than the CPU needs for less.
constexpr std::uint64_t least_for_gpu = std::uint64_t{64} << 10;
constexpr std::uint64_t least_measured = std::uint64_t{128} << 10;
// A side that was too slow so often is tried again if it has been faster.
constexpr unsigned refusals_until_trial = 64;

constexpr std::uint64_t unknown = std::numeric_limits<std::uint64_t>::max() / 2;

std::uint64_t text_of(Direction direction, std::span<const Segment> segments) {
  std::uint64_t bytes = 0;
  for (const Segment& segment : segments) bytes += text_bytes(direction, segment);
  return bytes;
}

void measure(PairRates::Call& call, std::uint64_t bytes, const auto& work) {
  std::uint64_t nanoseconds = 0;
  {
    const Stopwatch watch(nanoseconds);
    work();
  }
  call.done(bytes, nanoseconds);
}

class PairGcm final : public GcmCipher {
 public:
  PairGcm(std::shared_ptr<const GcmCipher> gpu, std::shared_ptr<const GcmCipher> cpu,
          PairRates& rates)
      : gpu_(std::move(gpu)),
        cpu_(std::move(cpu)),
        rates_(rates),
        kernel_(std::string(cpu_->kernel()).append("+").append(gpu_->kernel())) {}

  [[nodiscard]] std::string_view kernel() const noexcept override { return kernel_; }
  [[nodiscard]] std::string device() const override { return "cpu+" + gpu_->device(); }
  [[nodiscard]] int threads() const noexcept override { return gpu_->threads(); }
  [[nodiscard]] std::string fallback() const override { return gpu_->fallback(); }
  [[nodiscard]] PhaseTimes take_times() const noexcept override { return gpu_->take_times(); }
  [[nodiscard]] const GpuKey* gpu_key() const noexcept override { return gpu_->gpu_key(); }
  [[nodiscard]] bool falls_back(const Error& error) const override {
    return gpu_->falls_back(error);
  }
  [[nodiscard]] std::size_t launch_bytes() const noexcept override {
    return std::min(most_chunk_bytes, gpu_->launch_bytes());
  }
  [[nodiscard]] unsigned launch_threads() const noexcept override {
    return gpu_->launch_threads() + rates_.cores();
  }

  [[nodiscard]] unsigned cpu_threads() const noexcept override { return rates_.cores(); }

  void seal(const GcmMessage& message) const override { gpu_->seal(message); }
  [[nodiscard]] bool open(const GcmMessage& message) const override { return gpu_->open(message); }

  void crypt(Direction direction, const SegmentNonces& nonces,
             std::span<Segment> segments) const override {
    const std::uint64_t bytes = text_of(direction, segments);
    const bool on_cpu = bytes < least_for_gpu || rates_.choose(bytes, unknown) == Choice::cpu;
    timed(on_cpu ? Side::cpu : Side::gpu, bytes,
          [&] { (on_cpu ? cpu_ : gpu_)->crypt(direction, nonces, segments); });
  }

  [[nodiscard]] bool stages(std::size_t segments,
                            std::uint64_t segment_bytes) const noexcept override {
    return gpu_->stages(segments, segment_bytes);
  }

  [[nodiscard]] std::unique_ptr<StagedSegments> stage(std::size_t segments,
                                                      std::uint64_t segment_bytes,
                                                      std::uint64_t left) const override {
    if (!stages(segments, segment_bytes)) return nullptr;
    const std::uint64_t bytes = std::min(segments * segment_bytes, left);
    if (bytes >= least_for_gpu && rates_.choose(bytes, left - bytes) != Choice::cpu) {
      auto call = std::make_unique<PairRates::Call>(rates_, Side::gpu);
      if (auto staged = gpu_->stage(segments, segment_bytes, left)) {
        return std::make_unique<OnGpu>(std::move(call), std::move(staged));
      }
    }
    return std::make_unique<OnCpu>(*this, take_memory(segments, segment_bytes));
  }

 private:
  void timed(Side side, std::uint64_t bytes, const auto& work) const {
    PairRates::Call call(rates_, side);
    measure(call, bytes, work);
  }

  class OnGpu final : public StagedSegments {
   public:
    OnGpu(std::unique_ptr<PairRates::Call> call, std::unique_ptr<StagedSegments> staged)
        : call_(std::move(call)), staged_(std::move(staged)) {}

    [[nodiscard]] MutableBytes in() const noexcept override { return staged_->in(); }
    [[nodiscard]] MutableBytes out() const noexcept override { return staged_->out(); }
    void crypt(Direction direction, const SegmentNonces& nonces,
               std::span<Segment> segments) override {
      measure(*call_, text_of(direction, segments),
              [&] { staged_->crypt(direction, nonces, segments); });
    }

   private:
    // The stream is returned before the call counts as ended.
    const std::unique_ptr<PairRates::Call> call_;
    const std::unique_ptr<StagedSegments> staged_;
  };

  // Memory for the chunks that stay on the CPU.
  struct Memory {
    explicit Memory(std::size_t bytes) : in(bytes), out(bytes) {}
    IoBuffer in;
    IoBuffer out;
  };

  class OnCpu final : public StagedSegments {
   public:
    OnCpu(const PairGcm& cipher, std::unique_ptr<Memory> memory)
        : cipher_(cipher), memory_(std::move(memory)) {}
    ~OnCpu() override { cipher_.give_back(std::move(memory_)); }

    [[nodiscard]] MutableBytes in() const noexcept override { return memory_->in.span(); }
    [[nodiscard]] MutableBytes out() const noexcept override { return memory_->out.span(); }
    void crypt(Direction direction, const SegmentNonces& nonces,
               std::span<Segment> segments) override {
      cipher_.timed(Side::cpu, text_of(direction, segments),
                    [&] { cipher_.cpu_->crypt(direction, nonces, segments); });
    }

   private:
    const PairGcm& cipher_;
    std::unique_ptr<Memory> memory_;
  };

  [[nodiscard]] std::unique_ptr<Memory> take_memory(std::size_t segments,
                                                    std::uint64_t segment_bytes) const {
    const auto bytes = static_cast<std::size_t>(
        SegmentStaging::spare + segments * (segment_bytes + 2 * std::size_t{segment_tag_bytes}));
    {
      const std::lock_guard lock(mutex_);
      if (!free_.empty() && free_.back()->in.size() >= bytes) {
        std::unique_ptr<Memory> memory = std::move(free_.back());
        free_.pop_back();
        return memory;
      }
    }
    return std::make_unique<Memory>(bytes);
  }

  void give_back(std::unique_ptr<Memory> memory) const noexcept {
    const std::lock_guard lock(mutex_);
    try {
      free_.push_back(std::move(memory));
    } catch (const std::bad_alloc&) {
      // Then it is freed.
    }
  }

  const std::shared_ptr<const GcmCipher> gpu_;
  const std::shared_ptr<const GcmCipher> cpu_;
  PairRates& rates_;
  const std::string kernel_;
  mutable std::mutex mutex_;
  mutable std::vector<std::unique_ptr<Memory>> free_;  // under mutex_
};

}  // namespace

PairRates::Choice PairRates::choose(std::uint64_t bytes, std::uint64_t left) noexcept {
  const double cpu = cpu_.usual.load(std::memory_order_relaxed);
  const double gpu = gpu_.usual.load(std::memory_order_relaxed);
  const auto one = static_cast<double>(bytes);
  const double all = one + static_cast<double>(left);
  // How long each side needs for everything, if it works alone. It ends no sooner than one call.
  const double cpu_alone = cpu * std::max(one, all / cores_);
  const double gpu_alone = gpu * std::max(one, all / streams_);
  // One call is enough to find out how fast the GPU is. If it is slow, many would take long.
  const bool is_free = on_gpu_.load(std::memory_order_relaxed) < (gpu == 0 ? 1 : streams_);
  const bool gpu_in_time = cpu == 0 || gpu * one <= cpu_alone;
  const bool cpu_in_time = gpu == 0 || cpu * one <= gpu_alone;
  // Whether it is time to try the one that is too slow now, and once was not: another program may
  // have kept it busy.
  const auto tries = [&](const Times& side, double other_alone) {
    return side.best.load(std::memory_order_relaxed) * one <= other_alone &&
           refusals_.fetch_add(1, std::memory_order_relaxed) % refusals_until_trial ==
               refusals_until_trial - 1;
  };
  if (!gpu_in_time) return is_free && tries(gpu_, cpu_alone) ? Choice::gpu : Choice::cpu;
  if (!cpu_in_time) {
    if (tries(cpu_, gpu_alone)) return Choice::cpu;
    return is_free ? Choice::gpu : Choice::next_gpu;
  }
  return is_free ? Choice::gpu : Choice::cpu;
}

PairRates::Call::Call(PairRates& rates, Side side) noexcept : rates_(rates), side_(side) {
  if (side == Side::gpu) rates_.on_gpu_.fetch_add(1, std::memory_order_relaxed);
}

PairRates::Call::~Call() {
  if (side_ == Side::gpu) rates_.on_gpu_.fetch_sub(1, std::memory_order_relaxed);
}

void PairRates::Call::done(std::uint64_t bytes, std::uint64_t nanoseconds) noexcept {
  if (bytes < least_measured) return;
  Times& times = rates_.times_of(side_);
  if (!times.began.exchange(true, std::memory_order_relaxed)) return;
  // Another thread may do the same: then one of the two measurements is lost.
  constexpr double weight = 0.125;
  const double own = static_cast<double>(nanoseconds) / static_cast<double>(bytes);
  const double usual = times.usual.load(std::memory_order_relaxed);
  const double best = times.best.load(std::memory_order_relaxed);
  times.usual.store(usual == 0 ? own : usual + weight * (own - usual), std::memory_order_relaxed);
  times.best.store(best == 0 ? own : std::min(best, own), std::memory_order_relaxed);
}

PairRates& pair_rates(const gpu::DevicePool& pool, std::string_view cpu_kernel) {
  // Never destroyed, as pools are not.
  using Key = std::pair<const gpu::DevicePool*, std::string>;
  static std::mutex mutex;
  static auto* const all = new std::map<Key, PairRates>;
  const std::lock_guard lock(mutex);
  return all
      ->try_emplace(Key(&pool, cpu_kernel), static_cast<unsigned>(available_cores()),
                    pool.streams())
      .first->second;
}

std::shared_ptr<const GcmCipher> make_pair_gcm(std::shared_ptr<const GcmCipher> gpu,
                                               std::shared_ptr<const GcmCipher> cpu,
                                               PairRates& rates) {
  return std::make_shared<PairGcm>(std::move(gpu), std::move(cpu), rates);
}

}  // namespace paraes::detail
