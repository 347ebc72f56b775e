// GCM on GPUs; the CPU takes over when they fail.

#include <algorithm>
#include <atomic>
#include <mutex>
#include <string>
#include <utility>

#include "src/cipher/gpu_gcm.hpp"

namespace paraes::detail {
namespace {

using Segment = SegmentCipher::Segment;

class FallbackGcm final : public GcmCipher {
 public:
  FallbackGcm(std::unique_ptr<const GpuGcm> gpu, std::shared_ptr<const GcmCipher> cpu,
              std::shared_ptr<const GcmKey> key)
      : gpu_(std::move(gpu)), cpu_(std::move(cpu)), key_(std::move(key)) {}

  [[nodiscard]] std::string_view kernel() const noexcept override { return gpu_->kernel(); }
  [[nodiscard]] std::string device() const override { return gpu_->device(); }
  [[nodiscard]] int threads() const noexcept override { return gpu_->threads(); }
  [[nodiscard]] PhaseTimes take_times() const noexcept override { return gpu_->take_times(); }
  [[nodiscard]] std::size_t launch_bytes() const noexcept override { return gpu_->launch_bytes(); }
  [[nodiscard]] unsigned launch_threads() const noexcept override { return gpu_->launch_threads(); }
  [[nodiscard]] const GpuKey* gpu_key() const noexcept override {
    return failed_ ? nullptr : gpu_->gpu_key();
  }

  [[nodiscard]] const ShortGcmKey* short_key(std::uint64_t bytes) const noexcept override {
    return failed_ ? cpu_->short_key(bytes) : nullptr;
  }

  [[nodiscard]] std::string fallback() const override {
    const std::lock_guard lock(mutex_);
    return failure_;
  }

  [[nodiscard]] bool falls_back(const Error& error) const override {
    const std::lock_guard lock(mutex_);
    if (failure_.empty()) failure_ = error.what();
    failed_ = true;
    return true;
  }

  void seal(const GcmMessage& message) const override {
    if (failed_) return cpu_->seal(message);
    whole(Direction::encrypt, message, message.tag);
  }

  [[nodiscard]] bool open(const GcmMessage& message) const override {
    if (failed_) return cpu_->open(message);
    std::uint8_t computed[16];
    whole(Direction::decrypt, message, computed);
    return verify_and_wipe_tag(computed, message);
  }

  void crypt(Direction direction, const SegmentNonces& nonces,
             std::span<Segment> segments) const override {
    // A failure can leave a long segment half done. whole() can finish it, GpuGcm::crypt()
    // cannot.
    for (Segment& segment : segments) {
      if (!segment.done && text_bytes(direction, segment) > gpu_->segment_limit()) {
        crypt_one(*this, direction, nonces, segment);
      }
    }
    attempt([&] { gpu_->crypt(direction, nonces, segments); });
    cpu_->crypt(direction, nonces, segments);
  }

  [[nodiscard]] bool stages(std::size_t segments,
                            std::uint64_t segment_bytes) const noexcept override {
    return !failed_ && gpu_->stages(segments, segment_bytes);
  }
  [[nodiscard]] std::unique_ptr<StagedSegments> stage(std::size_t segments,
                                                      std::uint64_t segment_bytes,
                                                      std::uint64_t left) const override {
    if (failed_) return nullptr;
    auto on_gpu = gpu_->stage(segments, segment_bytes, left);
    if (!on_gpu) return nullptr;
    return std::make_unique<Staged>(*this, std::move(on_gpu));
  }

 private:
  class Staged final : public StagedSegments {
   public:
    Staged(const FallbackGcm& cipher, std::unique_ptr<StagedSegments> on_gpu)
        : cipher_(cipher), on_gpu_(std::move(on_gpu)) {}

    [[nodiscard]] MutableBytes in() const noexcept override { return on_gpu_->in(); }
    [[nodiscard]] MutableBytes out() const noexcept override { return on_gpu_->out(); }

    void crypt(Direction direction, const SegmentNonces& nonces,
               std::span<Segment> segments) override {
      cipher_.attempt([&] { on_gpu_->crypt(direction, nonces, segments); });
      cipher_.cpu_->crypt(direction, nonces, segments);
    }

   private:
    const FallbackGcm& cipher_;
    const std::unique_ptr<StagedSegments> on_gpu_;
  };

  void attempt(const auto& work) const {
    if (failed_) return;
    try {
      work();
    } catch (const Error& error) {
      static_cast<void>(falls_back(error));
    }
  }

  // Encrypts or decrypts a message and computes its tag.
  void whole(Direction direction, const GcmMessage& message, std::uint8_t* tag) const {
    gcm_message(*key_, message, tag, [&](const GcmCounter& j0, std::uint8_t state[16]) {
      std::vector<GpuGcm::HashRange> ranges = GpuGcm::hash_ranges(message.bytes);
      attempt([&] { gpu_->text(direction, j0, message.in, message.out, message.bytes, ranges); });
      for (std::size_t i = 0; i < ranges.size(); ++i) {
        if (!ranges[i].done) finish_range(direction, j0, message, i, ranges[i]);
      }
      GpuGcm::join(*key_, ranges, state);
    });
  }

  void finish_range(Direction direction, const GcmCounter& j0, const GcmMessage& message,
                    std::size_t index, GpuGcm::HashRange& range) const {
    const std::size_t from = index * GpuGcm::hash_range_bytes;
    const std::size_t bytes = std::min(GpuGcm::hash_range_bytes, message.bytes - from);
    GcmCounter counter = j0;
    add_be32(counter.block, static_cast<std::uint32_t>(1 + from / 16));
    range.hash.blocks = (bytes + 15) / 16;
    gcm_range(*key_, direction, counter, range.hash.hash, message.in + from, message.out + from,
              bytes);
    range.done = true;
  }

  std::unique_ptr<const GpuGcm> gpu_;
  std::shared_ptr<const GcmCipher> cpu_;
  std::shared_ptr<const GcmKey> key_;
  mutable std::mutex mutex_;
  mutable std::string failure_;  // under mutex_
  mutable std::atomic<bool> failed_ = false;
};

}  // namespace

std::shared_ptr<const GcmCipher> with_fallback(std::unique_ptr<const GpuGcm> gpu,
                                               std::shared_ptr<const GcmCipher> cpu,
                                               std::shared_ptr<const GcmKey> key) {
  return std::make_shared<FallbackGcm>(std::move(gpu), std::move(cpu), std::move(key));
}

}  // namespace paraes::detail
