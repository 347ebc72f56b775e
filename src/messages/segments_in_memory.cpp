// Seals and opens consecutive segments of one message in memory.

#include <algorithm>
#include <atomic>
#include <limits>
#include <string>
#include <vector>

#include "paraes/error.hpp"
#include "paraes/messages.hpp"
#include "paraes/secret.hpp"
#include "src/core/chunk.hpp"
#include "src/core/executor.hpp"
#include "src/messages/segments.hpp"

namespace paraes {
namespace {

using Segment = SegmentCipher::Segment;

// Text for one call of the cipher on a CPU: it stays in the caches.
constexpr std::uint64_t batch_bytes = std::uint64_t{256} << 10;

// Seals or opens the segments of a range in batches, on several threads, and calls done(segments)
// after each batch.
void for_batches(const SegmentCipher& cipher, const SegmentRange& range, int threads,
                 Direction direction, Bytes in, MutableBytes out, const auto& done) {
  const std::size_t launch = cipher.launch_bytes();
  // Large segments are spread one by one.
  const Executor executor(cipher.threads() > 1 ? 1
                          : launch != 0        ? static_cast<int>(cipher.launch_threads())
                                               : threads);
  const std::uint64_t bytes = launch != 0
                                  ? gpu_chunk_bytes(range.count * range.layout.segment_bytes,
                                                    launch, cipher.launch_threads())
                                  : batch_bytes;
  const std::uint64_t per_batch = std::max<std::uint64_t>(1, bytes / range.layout.segment_bytes);
  const std::uint64_t batches = (range.count + per_batch - 1) / per_batch;
  executor.run(batches, 1, [&](unsigned, std::uint64_t begin, std::uint64_t end) {
    std::vector<Segment> segments;
    segments.reserve(static_cast<std::size_t>(std::min(per_batch, range.count)));
    for (std::uint64_t batch = begin; batch < end; ++batch) {
      const std::uint64_t from = range.first + batch * per_batch;
      const std::uint64_t to = std::min(from + per_batch, range.end());
      segments.clear();
      for (std::uint64_t index = from; index < to; ++index) {
        segments.push_back(range.at(index, direction, in, out));
      }
      cipher.crypt(direction, segments);
      done(segments);
    }
  });
}

void check_room(std::uint64_t given, std::uint64_t right) {
  if (given == right) return;
  throw InvalidArgument("the output of these segments has " + std::to_string(right) +
                        " bytes, but the buffer has " + std::to_string(given));
}

[[noreturn]] void refuse_part() {
  throw InvalidArgument("only the last segment of a message may be shorter than the others");
}

// How many whole segments, the first of which has the number `first`, a text of `bytes` bytes has.
// tag_bytes: those of each segment in this text.
std::uint64_t whole_segments(const SegmentLayout& layout, std::uint64_t first, std::uint64_t bytes,
                             std::uint64_t tag_bytes) {
  const std::uint64_t full = layout.segment_bytes + tag_bytes;
  std::uint64_t count = 0;
  if (first == 0 && bytes != 0) {
    const std::uint64_t full_first = layout.first_bytes + tag_bytes;
    if (bytes < full_first) refuse_part();
    bytes -= full_first;
    count = 1;
  }
  if (bytes % full != 0) refuse_part();
  count += bytes / full;
  if (first > layout.max_segments || count > layout.max_segments - first) {
    throw InvalidArgument("the message would have more than " +
                          std::to_string(layout.max_segments) + " segments");
  }
  return count;
}

}  // namespace

SegmentRange range_to_seal(const SegmentLayout& layout, std::uint64_t first, bool ends,
                           std::uint64_t plain_bytes, std::uint64_t sealed_bytes) {
  SegmentRange range{.layout = layout, .first = first, .ends = ends};
  if (ends) {
    const std::uint64_t all = layout.segments_of(layout.plain_offset(first) + plain_bytes);
    if (all <= first) throw InvalidArgument("a message ends with a segment, not after one");
    range.count = all - first;
  } else {
    range.count = whole_segments(layout, first, plain_bytes, 0);
  }
  check_room(sealed_bytes, plain_bytes + range.count * segment_tag_bytes);
  return range;
}

SegmentRange range_to_open(const SegmentLayout& layout, std::uint64_t first, bool ends,
                           std::uint64_t sealed_bytes, std::uint64_t plain_bytes) {
  SegmentRange range{.layout = layout, .first = first, .ends = ends};
  if (ends) {
    const std::uint64_t all = layout.extent_of(layout.sealed_offset(first) + sealed_bytes).segments;
    if (all <= first) throw IntegrityError("the message ends without its last segment");
    range.count = all - first;
  } else {
    range.count = whole_segments(layout, first, sealed_bytes, segment_tag_bytes);
  }
  check_room(plain_bytes, sealed_bytes - range.count * segment_tag_bytes);
  return range;
}

void seal_segments(const Message& message, std::uint64_t first, bool ends, Bytes plain,
                   MutableBytes sealed, int threads) {
  const SegmentRange range =
      range_to_seal(message.layout(), first, ends, plain.size(), sealed.size());
  for_batches(message.cipher(), range, threads, Direction::encrypt, plain, sealed,
              [](const std::vector<Segment>&) {});
}

void open_segments(const Message& message, std::uint64_t first, bool ends, Bytes sealed,
                   MutableBytes plain, int threads) {
  const SegmentLayout& layout = message.layout();
  const SegmentRange range = range_to_open(layout, first, ends, sealed.size(), plain.size());
  constexpr std::uint64_t none = std::numeric_limits<std::uint64_t>::max();
  std::atomic<std::uint64_t> lowest_bad = none;
  struct Wiper {
    MutableBytes plain;
    bool keep = false;
    ~Wiper() {
      if (!keep) secure_zero(plain.data(), plain.size());
    }
  } wiper{.plain = plain};
  const auto note_bad = [&](const std::vector<Segment>& segments) {
    for (const Segment& segment : segments) {
      if (segment.intact) continue;
      std::uint64_t before = lowest_bad.load(std::memory_order_relaxed);
      while (segment.index < before &&
             !lowest_bad.compare_exchange_weak(before, segment.index, std::memory_order_relaxed)) {
      }
      break;
    }
  };
  for_batches(message.cipher(), range, threads, Direction::decrypt, sealed, plain, note_bad);
  if (const std::uint64_t bad = lowest_bad.load(std::memory_order_relaxed); bad != none) {
    throw bad_segment(layout, message.commits() || bad != 0, bad);
  }
  wiper.keep = true;
}

}  // namespace paraes
