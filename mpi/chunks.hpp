// Chunks of a message on their way between ranks: runs of segments that rank 0 sends to be
// computed.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "mpi/serializer.hpp"
#include "paraes/segments.hpp"

namespace paraes::mpi {

// How many chunks each thread of another rank has at a time: one to compute, one that waits.
inline constexpr unsigned chunks_per_thread = 2;

struct ChunkSegment {
  std::uint64_t index = 0;
  bool last = false;
  Bytes in;
};

struct RankChunk {
  std::vector<ChunkSegment> segments;
};

struct ChunkResult {
  std::uint64_t nanoseconds = 0;     // that the chunk took
  std::vector<std::uint8_t> intact;  // 0 or 1 for each segment
  Bytes out;                         // of all segments
};

template <class Archive, MaybeConst<ChunkSegment> T>
void serialize(Archive& archive, T& segment) {
  archive(segment.index, segment.last, segment.in);
}

template <class Archive, MaybeConst<RankChunk> T>
void serialize(Archive& archive, T& chunk) {
  archive(chunk.segments);
}

template <class Archive, MaybeConst<ChunkResult> T>
void serialize(Archive& archive, T& result) {
  archive(result.nanoseconds, result.intact, result.out);
}

[[nodiscard]] inline Serializer serialized_chunk(std::span<const SegmentCipher::Segment> run) {
  RankChunk chunk;
  chunk.segments.reserve(run.size());
  for (const SegmentCipher::Segment& segment : run) {
    chunk.segments.push_back({segment.index, segment.last, segment.in});
  }
  return serialized(chunk);
}

// A chunk in the hands of the rank that computes it. Its inputs stay in `received`.
class HeldChunk {
 public:
  // To be sealed, or to be opened. Throws Error for a segment that is too short to be opened.
  HeldChunk(const Serializer& received, bool seals) {
    std::size_t total = 0;
    for (const ChunkSegment& segment : received.read<RankChunk>().segments) {
      if (!seals && segment.in.size() < segment_tag_bytes) throw Error("a segment has no tag");
      run_.push_back({.index = segment.index, .last = segment.last, .in = segment.in, .out = {}});
      total += out_bytes(segment.in, seals);
    }
    out_.resize(total);
    MutableBytes rest(out_);
    for (SegmentCipher::Segment& segment : run_) {
      segment.out = rest.first(out_bytes(segment.in, seals));
      rest = rest.subspan(segment.out.size());
    }
  }

  // run() points into the object.
  HeldChunk(const HeldChunk&) = delete;
  HeldChunk& operator=(const HeldChunk&) = delete;

  [[nodiscard]] std::span<SegmentCipher::Segment> run() noexcept { return run_; }

  [[nodiscard]] Serializer serialized_result(std::uint64_t nanoseconds) const {
    ChunkResult result;
    result.nanoseconds = nanoseconds;
    for (const SegmentCipher::Segment& segment : run_) result.intact.push_back(segment.intact);
    result.out = out_;
    return serialized(result);
  }

 private:
  static std::size_t out_bytes(Bytes in, bool seals) noexcept {
    return seals ? in.size() + segment_tag_bytes : in.size() - segment_tag_bytes;
  }

  std::vector<SegmentCipher::Segment> run_;
  std::vector<std::uint8_t> out_;
};

// Puts the result of a chunk into the segments that were sent, and returns the nanoseconds that it
// took. Throws Error if it is that of another chunk.
[[nodiscard]] inline std::uint64_t take_result(const Serializer& received,
                                               std::span<SegmentCipher::Segment> run) {
  const auto result = received.read<ChunkResult>();
  std::size_t total = 0;
  for (const SegmentCipher::Segment& segment : run) total += segment.out.size();
  if (result.intact.size() != run.size() || result.out.size() != total) {
    throw Error("a rank gave back another chunk");
  }
  Bytes rest = result.out;
  for (std::size_t i = 0; i < run.size(); ++i) {
    run[i].intact = result.intact[i] != 0;
    const Bytes out = rest.first(run[i].out.size());
    std::copy(out.begin(), out.end(), run[i].out.begin());
    rest = rest.subspan(out.size());
  }
  return result.nanoseconds;
}

}  // namespace paraes::mpi
