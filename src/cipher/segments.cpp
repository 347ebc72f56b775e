// The cipher of segments, and the arithmetic of where they lie.

#include "paraes/segments.hpp"

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "paraes/error.hpp"
#include "src/cipher/engine.hpp"
#include "src/core/bytes.hpp"

namespace paraes {

std::uint64_t SegmentLayout::plain_offset(std::uint64_t index) const noexcept {
  return index == 0 ? 0 : first_bytes + (index - 1) * segment_bytes;
}

std::uint64_t SegmentLayout::sealed_offset(std::uint64_t index) const noexcept {
  return header_bytes + plain_offset(index) + index * segment_tag_bytes;
}

std::uint64_t SegmentLayout::segment_at(std::uint64_t offset) const noexcept {
  return offset < first_bytes ? 0 : 1 + (offset - first_bytes) / segment_bytes;
}

std::uint64_t SegmentLayout::segments_of(std::uint64_t bytes) const {
  // The segment of the byte behind the end, or (any) of the last byte.
  const bool full_last = last == Last::any && bytes != 0;
  const std::uint64_t count = segment_at(full_last ? bytes - 1 : bytes) + 1;
  if (count > most_segments) {
    throw InvalidArgument("a message of " + std::to_string(bytes) + " bytes would have " +
                          std::to_string(count) + " segments; the format allows " +
                          std::to_string(most_segments) + ": split it, or use larger segments");
  }
  return count;
}

std::uint64_t SegmentLayout::sealed_bytes(std::uint64_t bytes) const {
  return header_bytes + bytes + segments_of(bytes) * segment_tag_bytes;
}

SegmentLayout::Extent SegmentLayout::extent_of(std::uint64_t sealed_size) const {
  const auto bad = [&](const char* why) {
    return IntegrityError("the input is truncated or damaged: its size of " +
                          std::to_string(sealed_size) + " bytes " + why);
  };
  if (sealed_size < header_bytes) throw bad("ends within the header");
  const std::uint64_t body = sealed_size - header_bytes;
  if (body < segment_tag_bytes) throw bad("leaves no room for a segment");
  const std::uint64_t first_sealed = first_bytes + segment_tag_bytes;
  Extent extent;
  extent.segments = 1;
  if (body > first_sealed) {
    const std::uint64_t sealed = segment_bytes + segment_tag_bytes;
    const std::uint64_t rest = (body - first_sealed) % sealed;
    if (rest != 0 && rest < segment_tag_bytes) throw bad("ends within the tag of a segment");
    extent.segments += (body - first_sealed) / sealed + (rest != 0 ? 1 : 0);
    extent.empty_last = rest == segment_tag_bytes;
    if (rest == 0 && last == Last::shorter) throw bad("ends where another segment must follow");
  } else if (body == first_sealed && last == Last::shorter) {
    throw bad("ends where another segment must follow");
  }
  if (extent.segments > most_segments) throw bad("is more than a message of this format can have");
  extent.plain_bytes = body - extent.segments * segment_tag_bytes;
  return extent;
}

SegmentCipher::SegmentCipher(Bytes key, Bytes base_nonce, Nonces nonces, const Execution& execution)
    : Cipher(make_gcm_engine(key, execution)), nonces_(nonces) {
  if (base_nonce.size() != base_nonce_.size()) {
    throw InvalidArgument("the base nonce of a message has 12 bytes, not " +
                          std::to_string(base_nonce.size()));
  }
  std::copy(base_nonce.begin(), base_nonce.end(), base_nonce_.begin());
}

std::array<std::uint8_t, 12> SegmentCipher::nonce(std::uint64_t index, bool last) const noexcept {
  std::array<std::uint8_t, 12> nonce = base_nonce_;
  if (nonces_ == Nonces::counted) {
    store_be64(nonce.data() + 4, load_be64(nonce.data() + 4) ^ index);
  } else {
    store_be32(nonce.data() + 7, static_cast<std::uint32_t>(index));
    nonce[11] = last ? 1 : 0;
  }
  return nonce;
}

void SegmentCipher::seal(std::uint64_t index, bool last, Bytes plain, MutableBytes sealed) const {
  if (sealed.size() != plain.size() + segment_tag_bytes) {
    throw InvalidArgument("a sealed segment is 16 bytes longer than its plaintext");
  }
  gcm_seal(*engine_, nonce(index, last), {}, plain, sealed.first(plain.size()),
           sealed.data() + plain.size());
}

bool SegmentCipher::open(std::uint64_t index, bool last, Bytes sealed, MutableBytes plain) const {
  if (sealed.size() != plain.size() + segment_tag_bytes) {
    throw InvalidArgument("a sealed segment is 16 bytes longer than its plaintext");
  }
  return gcm_open(*engine_, nonce(index, last), {}, sealed.first(plain.size()), plain,
                  sealed.last(segment_tag_bytes));
}

namespace {

// A lane of a GPU takes no more at once; less, and starting a run costs more than its work.
constexpr std::size_t gpu_run_bytes = std::size_t{4} << 20;

void check_segment(const SegmentCipher::Segment& segment, bool sealing) {
  const std::size_t plain = sealing ? segment.in.size() : segment.out.size();
  const std::size_t sealed = sealing ? segment.out.size() : segment.in.size();
  if (sealed != plain + segment_tag_bytes) {
    throw InvalidArgument("a sealed segment is 16 bytes longer than its plaintext");
  }
}

void check_run(std::span<SegmentCipher::Segment> run, bool sealing) {
  for (const SegmentCipher::Segment& segment : run) check_segment(segment, sealing);
}

// Compares tags of an opened segment, and wipes it if they differ.
void finish_open(SegmentCipher::Segment& segment, Bytes tag) {
  segment.intact = constant_time_equal(segment.in.last(segment_tag_bytes), tag);
  if (!segment.intact) secure_zero(segment.out.data(), segment.out.size());
}

using Tags = std::vector<std::array<std::uint8_t, segment_tag_bytes>>;

// Sends what GPUs take of a run to them, each fleet its own at once; returns the others.
std::vector<CipherSegment*> launch_many(Direction direction, std::span<CipherSegment> run,
                                        std::span<const GpuKeyedSegment> keyed) {
  std::vector<CipherSegment*> others;
  std::map<const gpu::DevicePool*, std::vector<std::size_t>> fleets;
  for (std::size_t i = 0; i < run.size(); ++i) {
    const GpuCipher* const cipher = keyed[i].cipher;
    if (cipher != nullptr && keyed[i].segment.bytes <= cipher->many_limit()) {
      fleets[&cipher->fleet()].push_back(i);
    } else {
      others.push_back(&run[i]);
    }
  }
  for (const auto& [fleet, indices] : fleets) {
    std::vector<GpuKeyedSegment> list;
    list.reserve(indices.size());
    for (const std::size_t i : indices) list.push_back(keyed[i]);
    try {
      GpuCipher::segments_of_many(direction, list);
    } catch (const OutOfMemory&) {
      // The keys of many take memory of their own; one at a time needs none.
      for (const std::size_t i : indices) others.push_back(&run[i]);
    }
  }
  return others;
}

}  // namespace

std::size_t SegmentCipher::run_bytes() const noexcept {
  if (!engine_->gpu) return 0;
  return std::min(gpu_run_bytes, engine_->gpu->fleet().launch_bytes());
}

unsigned SegmentCipher::run_threads() const noexcept {
  return engine_->gpu ? engine_->gpu->lanes() : 0;
}

void SegmentCipher::seal(std::span<Segment> run) const {
  check_run(run, true);
  std::vector<GpuSegment> list;
  for (Segment& segment : run) {
    const std::size_t bytes = segment.in.size();
    if (!engine_->gpu || bytes > engine_->gpu->segment_limit()) {
      seal(segment.index, segment.last, segment.in, segment.out);
      continue;
    }
    list.push_back({.nonce = nonce(segment.index, segment.last),
                    .in = segment.in.data(),
                    .out = segment.out.data(),
                    .bytes = bytes,
                    .tag = segment.out.data() + bytes});
  }
  if (!list.empty()) engine_->gpu->segments(Direction::encrypt, list);
}

void SegmentCipher::open(std::span<Segment> run) const {
  check_run(run, false);
  std::vector<GpuSegment> list;
  std::vector<Segment*> opened;
  Tags tags(run.size());
  for (Segment& segment : run) {
    const std::size_t bytes = segment.out.size();
    if (!engine_->gpu || bytes > engine_->gpu->segment_limit()) {
      segment.intact = open(segment.index, segment.last, segment.in, segment.out);
      continue;
    }
    list.push_back({.nonce = nonce(segment.index, segment.last),
                    .in = segment.in.data(),
                    .out = segment.out.data(),
                    .bytes = bytes,
                    .tag = tags[opened.size()].data()});
    opened.push_back(&segment);
  }
  if (list.empty()) return;
  engine_->gpu->segments(Direction::decrypt, list);
  for (std::size_t i = 0; i < opened.size(); ++i) {
    finish_open(*opened[i], tags[i]);
  }
  secure_zero(tags.data(), tags.size() * segment_tag_bytes);
}

void SegmentCipher::seal(std::span<CipherSegment> run) {
  std::vector<GpuKeyedSegment> keyed;
  keyed.reserve(run.size());
  for (const CipherSegment& each : run) {
    const Segment& segment = each.segment;
    check_segment(segment, true);
    keyed.push_back({.cipher = each.cipher->engine_->gpu.get(),
                     .segment = {.nonce = each.cipher->nonce(segment.index, segment.last),
                                 .in = segment.in.data(),
                                 .out = segment.out.data(),
                                 .bytes = segment.in.size(),
                                 .tag = segment.out.data() + segment.in.size()}});
  }
  for (CipherSegment* each : launch_many(Direction::encrypt, run, keyed)) {
    const Segment& segment = each->segment;
    each->cipher->seal(segment.index, segment.last, segment.in, segment.out);
  }
}

void SegmentCipher::open(std::span<CipherSegment> run) {
  std::vector<GpuKeyedSegment> keyed;
  keyed.reserve(run.size());
  Tags tags(run.size());
  for (std::size_t i = 0; i < run.size(); ++i) {
    const Segment& segment = run[i].segment;
    check_segment(segment, false);
    keyed.push_back({.cipher = run[i].cipher->engine_->gpu.get(),
                     .segment = {.nonce = run[i].cipher->nonce(segment.index, segment.last),
                                 .in = segment.in.data(),
                                 .out = segment.out.data(),
                                 .bytes = segment.out.size(),
                                 .tag = tags[i].data()}});
  }
  const std::vector<CipherSegment*> others = launch_many(Direction::decrypt, run, keyed);
  std::vector<bool> alone(run.size());
  for (CipherSegment* each : others) {
    alone[static_cast<std::size_t>(each - run.data())] = true;
    Segment& segment = each->segment;
    segment.intact = each->cipher->open(segment.index, segment.last, segment.in, segment.out);
  }
  for (std::size_t i = 0; i < run.size(); ++i) {
    if (!alone[i]) finish_open(run[i].segment, tags[i]);
  }
  secure_zero(tags.data(), tags.size() * segment_tag_bytes);
}

}  // namespace paraes
