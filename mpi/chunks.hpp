// Chunks of a message, which rank 0 sends to other ranks to be encrypted or decrypted.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "mpi/serializer.hpp"
#include "paraes/segments.hpp"

namespace paraes::mpi {

// How many chunks each thread of another rank has at a time: it computes one, and one is waiting.
inline constexpr unsigned chunks_per_thread = 2;

struct ChunkSegment {
  std::uint64_t index = 0;
  bool last = false;
  Bytes in;
};

using RankChunk = std::vector<ChunkSegment>;

struct ChunkResult {
  std::uint64_t nanoseconds = 0;     // of computing the chunk
  std::vector<std::uint8_t> intact;  // 0 or 1 for each segment
  Bytes out;                         // of all segments
};

void serialize(auto& archive, MaybeConst<ChunkSegment> auto& segment) {
  archive(segment.index, segment.last, segment.in);
}

void serialize(auto& archive, MaybeConst<ChunkResult> auto& result) {
  archive(result.nanoseconds, result.intact, result.out);
}

[[nodiscard]] inline Serializer serialized_chunk(std::span<const SegmentCipher::Segment> segments) {
  RankChunk chunk;
  chunk.reserve(segments.size());
  for (const SegmentCipher::Segment& segment : segments) {
    chunk.push_back({segment.index, segment.last, segment.in});
  }
  return serialized(chunk);
}

// A chunk on the rank that computes it. Its inputs are views of `received`, which must outlive it.
class HeldChunk {
 public:
  // `seals`: the segments will be encrypted, not decrypted. Throws Error for an encrypted segment
  // that is shorter than its tag.
  HeldChunk(const Serializer& received, bool seals) {
    std::size_t total = 0;
    for (const ChunkSegment& segment : received.read<RankChunk>()) {
      if (!seals && segment.in.size() < segment_tag_bytes)
        throw Error("a segment is shorter than its tag");
      segments_.push_back(
          {.index = segment.index, .last = segment.last, .in = segment.in, .out = {}});
      total += out_bytes(segment.in, seals);
    }
    out_.resize(total);
    MutableBytes rest(out_);
    for (SegmentCipher::Segment& segment : segments_) {
      segment.out = rest.first(out_bytes(segment.in, seals));
      rest = rest.subspan(segment.out.size());
    }
  }

  // segments() points into the object.
  HeldChunk(const HeldChunk&) = delete;
  HeldChunk& operator=(const HeldChunk&) = delete;

  [[nodiscard]] std::span<SegmentCipher::Segment> segments() noexcept { return segments_; }

  [[nodiscard]] Serializer serialized_result(std::uint64_t nanoseconds) const {
    ChunkResult result;
    result.nanoseconds = nanoseconds;
    for (const SegmentCipher::Segment& segment : segments_) result.intact.push_back(segment.intact);
    result.out = out_;
    return serialized(result);
  }

 private:
  static std::size_t out_bytes(Bytes in, bool seals) noexcept {
    return seals ? in.size() + segment_tag_bytes : in.size() - segment_tag_bytes;
  }

  std::vector<SegmentCipher::Segment> segments_;
  std::vector<std::uint8_t> out_;
};

// Copies the result of a chunk to the segments that were sent, and returns the nanoseconds that
// computing it took. Throws Error if the result does not fit the segments.
[[nodiscard]] inline std::uint64_t take_result(const Serializer& received,
                                               std::span<SegmentCipher::Segment> segments) {
  const auto result = received.read<ChunkResult>();
  std::size_t total = 0;
  for (const SegmentCipher::Segment& segment : segments) total += segment.out.size();
  if (result.intact.size() != segments.size() || result.out.size() != total) {
    throw Error("a rank returned the result of another chunk");
  }
  Bytes rest = result.out;
  for (std::size_t i = 0; i < segments.size(); ++i) {
    segments[i].intact = result.intact[i] != 0;
    const Bytes out = rest.first(segments[i].out.size());
    std::copy(out.begin(), out.end(), segments[i].out.begin());
    rest = rest.subspan(out.size());
  }
  return result.nanoseconds;
}

}  // namespace paraes::mpi
