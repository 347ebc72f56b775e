// Messages that are read into device memory.

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "paraes/device_segments.hpp"
#include "paraes/device_staging.hpp"
#include "paraes/error.hpp"
#include "paraes/threads.hpp"
#include "src/core/non_copyable.hpp"

namespace paraes {
namespace {

// The bytes that are copied and opened at once. With less, calls of the driver take longer than the
// bus; with more, more memory waits.
constexpr std::uint64_t chunk_bytes = std::uint64_t{4} << 20;
// One that the host fills, and one that the device works on, for each thread.
constexpr std::size_t slots_of_worker = 2;
// So many threads read from the page cache faster than any bus copies.
constexpr int most_workers = 8;

// For this many chunks.
unsigned workers_for(int threads, std::uint64_t chunks) {
  int workers = threads > 0 ? threads : available_cores();
  if (const unsigned limit = thread_limit(); limit != 0) {
    workers = static_cast<int>(std::min(static_cast<unsigned>(workers), limit));
  }
  workers = std::min(workers, most_workers);
  return static_cast<unsigned>(
      std::clamp<std::uint64_t>(chunks, 1, static_cast<std::uint64_t>(workers)));
}

// cudaStreamPerThread and hipStreamPerThread: a stream of the thread that makes the call.
bool is_per_thread(const DeviceStream& stream) {
  return stream.device != "opencl" && reinterpret_cast<std::uintptr_t>(stream.handle) == 2;
}

void wait_until_ready(const auto& work) {
  std::chrono::microseconds pause(5);
  while (!work.ready()) {
    std::this_thread::sleep_for(pause);
    pause = std::min(2 * pause, std::chrono::microseconds(200));
  }
}

}  // namespace

class DeviceReader::Impl : NonCopyable {
 public:
  Impl(DeviceStream stream, const PositionalSource& source, const Message::Parts& message,
       const DeviceOptions& options, int threads)
      : stream_(std::move(stream)),
        source_(source),
        layout_(message.layout),
        commits_(message.commits),
        extent_(layout_.extent_of(source.size())),
        segments_(stream_, message, with_any_address(options)),
        per_chunk_(
            std::max<std::uint64_t>(1, chunk_bytes / (layout_.segment_bytes + segment_tag_bytes))),
        workers_(workers_for(threads, (extent_.segments + per_chunk_ - 1) / per_chunk_)),
        staging_(staging(options)),
        pending_(workers_ * slots_of_worker),
        turns_(workers_) {}

  [[nodiscard]] std::uint64_t size() const noexcept { return extent_.plain_bytes; }
  [[nodiscard]] DeviceSegments& segments() noexcept { return segments_; }

  void read(std::uint64_t offset, const DeviceBuffer& out, const DeviceStream& given) {
    if (offset > size() || out.bytes > size() - offset) {
      throw InvalidArgument("the range of " + std::to_string(out.bytes) + " bytes from byte " +
                            std::to_string(offset) + " on is not within the plaintext of " +
                            std::to_string(size()));
    }
    // An empty message has one segment, which must be authentic as well.
    if (out.bytes == 0 && size() != 0) return;
    const DeviceStream& stream = given.device.empty() ? stream_ : given;
    const std::vector<Chunk> chunks = chunks_of(offset, out.bytes);
    bad_.reset();
    try {
      // Worker 0 is the calling thread.
      const unsigned workers = is_per_thread(stream) ? 1 : workers_;
      for_each_job(static_cast<unsigned>(std::min<std::uint64_t>(workers, chunks.size())),
                   chunks.size(), [&](unsigned worker, std::uint64_t job) {
                     open_chunk(worker, chunks[job], offset, out, stream);
                   });
      for (std::size_t slot = 0; slot < pending_.size(); ++slot) settle(slot);
      staging_.finish(stream);
    } catch (const BadSegment&) {
      end_after_failure(stream);
    } catch (...) {
      end_after_failure(stream);
      throw;
    }
    if (bad_) throw BadSegment(*bad_);
  }

 private:
  // Consecutive segments. A single one may lie in the range only in part.
  struct Chunk {
    std::uint64_t first = 0;
    std::uint64_t count = 0;
    std::uint64_t begin = 0;  // of what lies in the range, in the plaintext
    std::uint64_t end = 0;
  };

  // Work of the device in the memory of a slot.
  struct Pending {
    std::optional<DeviceVerdict> verdict;
    std::uint64_t first = 0;
  };

  static DeviceOptions with_any_address(DeviceOptions options) {
    options.any_address = true;
    return options;
  }

  // With fewer workers than wanted where memory lacks: a model may fill the device.
  [[nodiscard]] DeviceStaging staging(const DeviceOptions& options) {
    for (;; workers_ /= 2) {
      try {
        return {stream_, options, workers_ * slots_of_worker, slot_bytes()};
      } catch (const OutOfMemory&) {
        if (workers_ == 1) throw;
      }
    }
  }

  [[nodiscard]] std::size_t slot_bytes() const {
    const std::uint64_t largest = std::max(layout_.first_bytes, layout_.segment_bytes);
    const std::uint64_t segments = std::min(per_chunk_, extent_.segments);
    const std::uint64_t bytes = std::min(segments * largest, size());
    return static_cast<std::size_t>(bytes + segments * segment_tag_bytes + 15) / 16 * 16;
  }

  // The end of a segment in the plaintext.
  [[nodiscard]] std::uint64_t end_of(std::uint64_t segment) const {
    return segment + 1 == extent_.segments ? size() : layout_.plain_offset(segment + 1);
  }

  [[nodiscard]] std::vector<Chunk> chunks_of(std::uint64_t offset, std::uint64_t bytes) const {
    const std::uint64_t end = offset + bytes;
    const auto is_whole = [&](std::uint64_t segment) {
      return layout_.plain_offset(segment) >= offset && end_of(segment) <= end;
    };
    // With the end of the message goes its last segment, which may be empty.
    const std::uint64_t last = end == size() ? extent_.segments - 1 : layout_.segment_at(end - 1);
    std::vector<Chunk> chunks;
    for (std::uint64_t segment = layout_.segment_at(offset); segment <= last;) {
      Chunk chunk{segment, 1, std::max(offset, layout_.plain_offset(segment)),
                  std::min(end, end_of(segment))};
      if (is_whole(segment)) {
        while (chunk.count < per_chunk_ && segment + chunk.count <= last &&
               is_whole(segment + chunk.count)) {
          chunk.end = end_of(segment + chunk.count++);
        }
      }
      chunks.push_back(chunk);
      segment += chunk.count;
    }
    return chunks;
  }

  void open_chunk(unsigned worker, const Chunk& chunk, std::uint64_t offset,
                  const DeviceBuffer& out, const DeviceStream& stream) {
    const std::size_t slot = worker * slots_of_worker + turns_[worker]++ % slots_of_worker;
    settle(slot);
    const std::uint64_t from = layout_.plain_offset(chunk.first);
    const std::uint64_t plain = end_of(chunk.first + chunk.count - 1) - from;
    const auto sealed = static_cast<std::size_t>(plain + chunk.count * segment_tag_bytes);
    read_exactly(source_, layout_.sealed_offset(chunk.first), staging_.host(slot).first(sealed));
    const bool ends = chunk.first + chunk.count == extent_.segments;
    const DeviceBuffer to{out.memory, out.offset + (chunk.begin - offset), chunk.end - chunk.begin};
    const std::lock_guard lock(mutex_);
    const DeviceBuffer text = staging_.upload(slot, sealed, stream);
    Pending& pending = pending_[slot];
    pending.first = chunk.first;
    if (to.bytes == plain) {
      pending.verdict = segments_.open(chunk.first, ends, text, to, stream);
      return;
    }
    // In place, and then the part.
    const DeviceBuffer whole{text.memory, text.offset, plain};
    pending.verdict = segments_.open(chunk.first, ends, text, whole, stream);
    staging_.extract(slot, static_cast<std::size_t>(chunk.begin - from), to, sealed, stream);
  }

  // Waits until the device has opened what is in a slot. A bad segment ends the jobs; what read()
  // throws then names the first of all.
  void settle(std::size_t slot) {
    std::optional<DeviceVerdict> verdict = std::exchange(pending_[slot].verdict, std::nullopt);
    if (!verdict) return;
    wait_until_ready(*verdict);
    try {
      check_segments(*verdict, pending_[slot].first, layout_, commits_);
    } catch (const BadSegment& error) {
      const std::lock_guard lock(mutex_);
      if (!bad_ || error.segment() < bad_->segment()) bad_.emplace(error);
      throw;
    }
  }

  // Waits for everything that uses the memory of this object and of the caller.
  void end_after_failure(const DeviceStream& stream) noexcept {
    const auto try_to = [](const auto& end) {
      try {
        end();
      } catch (...) {  // NOLINT(bugprone-empty-catch): the first failure is reported
      }
    };
    for (std::size_t slot = 0; slot < pending_.size(); ++slot) try_to([&] { settle(slot); });
    try_to([&] { staging_.finish(stream); });
  }

  DeviceStream stream_;
  const PositionalSource& source_;
  SegmentLayout layout_;
  bool commits_;
  SegmentLayout::Extent extent_;
  DeviceSegments segments_;
  std::uint64_t per_chunk_;
  unsigned workers_;
  DeviceStaging staging_;
  std::vector<Pending> pending_;    // of each slot
  std::vector<std::size_t> turns_;  // of each worker: how many chunks it has opened
  std::mutex mutex_;                // for calls of the device, and bad_
  std::optional<BadSegment> bad_;   // the first that is known
};

DeviceReader::DeviceReader(const DeviceStream& stream, const PositionalSource& source,
                           const Message::Parts& message, const DeviceOptions& options, int threads)
    : impl_(std::make_unique<Impl>(stream, source, message, options, threads)) {}
DeviceReader::~DeviceReader() = default;
DeviceReader::DeviceReader(DeviceReader&&) noexcept = default;
DeviceReader& DeviceReader::operator=(DeviceReader&&) noexcept = default;

std::uint64_t DeviceReader::size() const noexcept { return impl_->size(); }
std::string_view DeviceReader::kernel() const noexcept { return impl_->segments().kernel(); }
std::string DeviceReader::device() const { return impl_->segments().device(); }
void DeviceReader::wait_for(const DeviceStream& other, const DeviceStream& stream) {
  impl_->segments().wait_for(other, stream);
}
void DeviceReader::read(std::uint64_t offset, const DeviceBuffer& out, const DeviceStream& stream) {
  impl_->read(offset, out, stream);
}

}  // namespace paraes
