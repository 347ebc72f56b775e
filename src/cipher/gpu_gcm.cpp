#include "src/cipher/gpu_gcm.hpp"

#include <algorithm>
#include <functional>
#include <utility>

#include "src/core/chunk.hpp"

namespace paraes::detail {
namespace {

using gpu::Stream;
using Segment = SegmentCipher::Segment;

// One group of threads hashes a whole segment: longer ones would leave the rest of the GPU idle.
constexpr std::size_t most_segment_bytes = std::size_t{64} << 10;

// The memory from the first of several texts to the end of the last. Those that are empty count, as
// they do where launch_segments() copies a stretch.
class Hull {
 public:
  void add(Bytes text) {
    if (text.data() == nullptr) return;
    const std::less<> before;
    if (begin_ == nullptr || before(text.data(), begin_)) begin_ = text.data();
    if (end_ == nullptr || before(end_, text.data() + text.size())) {
      end_ = text.data() + text.size();
    }
  }
  [[nodiscard]] Bytes bytes() const {
    const auto address = [](const std::uint8_t* p) { return reinterpret_cast<std::uintptr_t>(p); };
    return {begin_, address(end_) - address(begin_)};
  }

 private:
  const std::uint8_t* begin_ = nullptr;
  const std::uint8_t* end_ = nullptr;
};

class StagedOnGpu final : public StagedSegments {
 public:
  // For calls with up to `segments` segments. Keeps room for their tags behind the output, and for
  // the whole of the last block behind the input.
  StagedOnGpu(const GpuKey& gpu, std::size_t segments)
      : gpu_(gpu),
        lease_(gpu.pool()),
        stream_(lease_.stream()),
        in_(stream_.input(), stream_.capacity() - 16),
        out_(stream_.output(), stream_.capacity() - 16 * (segments + 1)) {}

  [[nodiscard]] MutableBytes in() const noexcept override { return in_; }
  [[nodiscard]] MutableBytes out() const noexcept override { return out_; }

  void crypt(Direction direction, const SegmentNonces& nonces,
             std::span<Segment> segments) override {
    if (segments.empty()) return;
    try {
      stream_.use_key(gpu_.material());
      launch(direction, nonces, segments);
    } catch (...) {
      stream_.settle();  // copies may still write to the output
      throw;
    }
    gpu_.add_times(stream_.take_times());
  }

 private:
  void launch(Direction direction, const SegmentNonces& nonces, std::span<Segment> segments) {
    const bool seals = direction == Direction::encrypt;
    const auto in_begin = static_cast<std::size_t>(segments[0].in.data() - in_.data());
    const auto out_begin = static_cast<std::size_t>(segments[0].out.data() - out_.data());
    std::vector<paraes_message> messages;
    messages.reserve(segments.size());
    std::size_t in_end = 0;  // relative to in_begin
    std::size_t out_end = 0;
    for (const Segment& segment : segments) {
      const auto from = static_cast<std::size_t>(segment.in.data() - segments[0].in.data());
      const auto to = static_cast<std::size_t>(segment.out.data() - segments[0].out.data());
      in_end = std::max(in_end, from + segment.in.size());
      out_end = std::max(out_end, to + segment.out.size());
      messages.push_back(
          message_of(direction, from, to, segment, nonces.nonce(segment.index, segment.last)));
    }
    // Tags of sealed segments have their place in the output, unless the GPU cannot write there:
    // its addresses of tags are multiples of 4. Those of opened segments are compared.
    out_end = padded(out_end);
    for (paraes_message& message : messages) {
      message.tag = message.out + message.bytes;
      if (seals && message.tag % 4 == 0) continue;
      message.tag = out_end;
      out_end += segment_tag_bytes;
    }
    stream_.stage_in(in_begin, padded(in_end), out_end);
    stream_.launch("gcm_ctr", messages);
    stream_.launch_hash(messages.size());
    stream_.stage_out(out_end, out_begin);
    stream_.finish();
    for (std::size_t i = 0; i < segments.size(); ++i) {
      take_tag(direction, out_.data() + out_begin + messages[i].tag, segments[i]);
    }
  }

  const GpuKey& gpu_;
  gpu::DevicePool::Lease lease_;
  Stream& stream_;
  const MutableBytes in_;
  const MutableBytes out_;
};

}  // namespace

GpuGcm::GpuGcm(std::shared_ptr<gpu::DevicePool> pool, const std::shared_ptr<const GcmKey>& key,
               const Executor& executor, const GpuUse& use)
    : OnGpu(std::move(pool), make_key_material({&key->cipher}, true, use.key_expansion), key,
            executor, use) {}

bool GpuGcm::stages(std::size_t segments, std::uint64_t segment_bytes) const noexcept {
  const gpu::DevicePool& pool = gpu_.pool();
  const Stream& stream = *pool.contexts()[0]->streams()[0];
  if (stream.transfer() != Transfer::staged || gpu_.streams() == 1 ||
      segment_bytes > segment_limit() || segments > pool.max_messages()) {
    return false;
  }
  // Sealed segments, and behind them room for a tag of each.
  const std::size_t each = padded(static_cast<std::size_t>(segment_bytes)) + 2 * segment_tag_bytes;
  return segments <= (pool.capacity() - SegmentStaging::spare - 16) / each;
}

std::unique_ptr<StagedSegments> GpuGcm::stage(std::size_t segments, std::uint64_t segment_bytes,
                                              std::uint64_t /*left*/) const {
  if (!stages(segments, segment_bytes)) return nullptr;
  return std::make_unique<StagedOnGpu>(gpu_, segments);
}

std::size_t GpuGcm::launch_bytes() const noexcept { return gpu_.pool().launch_bytes(); }

std::size_t GpuGcm::segment_limit() const noexcept {
  return std::min(most_segment_bytes, gpu_.pool().launch_bytes());
}

std::vector<GpuGcm::HashRange> GpuGcm::hash_ranges(std::size_t bytes) {
  return std::vector<HashRange>((bytes + hash_range_bytes - 1) / hash_range_bytes);
}

void GpuGcm::text(Direction direction, const GcmCounter& j0, const std::uint8_t* in,
                  std::uint8_t* out, std::size_t bytes, std::span<HashRange> ranges) const {
  const std::uint32_t flags = PARAES_HASH_PARTIAL |
                              (direction == Direction::decrypt ? PARAES_HASH_INPUT : 0) |
                              (j0.secret ? PARAES_SECRET_COUNTER : 0);
  const DirectCopies direct = gpu_.direct_copies({in, bytes}, {out, bytes});
  gpu_.ranges(bytes, hash_range_bytes, [&](Stream& stream, std::size_t from, std::size_t n) {
    const std::size_t count = (n + hash_range_bytes - 1) / hash_range_bytes;
    const std::size_t hashes = padded(n);
    std::vector<paraes_message> messages;
    messages.reserve(count);
    struct Wiper {
      std::vector<paraes_message>& list;
      ~Wiper() { secure_zero(list.data(), list.size() * sizeof list[0]); }
    };
    const Wiper wiper{messages};  // the counters may be secret
    for (std::size_t i = 0; i < count; ++i) {
      const std::size_t at = i * hash_range_bytes;
      GcmCounter counter = j0;
      add_be32(counter.block, static_cast<std::uint32_t>((from + at) / 16));
      messages.push_back(
          gpu::make_message(at, at, std::min(hash_range_bytes, n - at), counter.block));
      messages.back().flags = flags;
      messages.back().tag = hashes + 16 * i;
    }
    copy_text_in(stream, direct, in + from, n);
    stream.launch("gcm_ctr", messages);
    stream.launch_hash(count);
    copy_text_out(stream, direct, out + from, n, hashes + 16 * count);
    stream.finish();
    take_text(stream, direct, out + from, n);
    for (std::size_t i = 0; i < count; ++i) {
      HashRange& range = ranges[from / hash_range_bytes + i];
      std::memcpy(range.hash.hash, stream.output() + hashes + 16 * i, 16);
      range.hash.blocks = (messages[i].bytes + 15) / 16;
      range.done = true;
    }
    secure_zero(stream.output() + hashes, 16 * count);  // they reveal the hash key
  });
}

void GpuGcm::join(const GcmKey& key, std::span<const HashRange> ranges, std::uint8_t state[16]) {
  std::vector<PartialHash> hashes;
  hashes.reserve(ranges.size());
  for (const HashRange& range : ranges) hashes.push_back(range.hash);
  join_hashes(key, hashes, state);
}

void GpuGcm::whole(Direction direction, const GcmMessage& message, std::uint8_t tag[16]) const {
  gcm_message(*key_, message, tag, [&](const GcmCounter& j0, std::uint8_t state[16]) {
    std::vector<HashRange> ranges = hash_ranges(message.bytes);
    text(direction, j0, message.in, message.out, message.bytes, ranges);
    join(*key_, ranges, state);
  });
}

void GpuGcm::seal(const GcmMessage& message) const {
  whole(Direction::encrypt, message, message.tag);
}

bool GpuGcm::open(const GcmMessage& message) const {
  std::uint8_t computed[16];
  whole(Direction::decrypt, message, computed);
  return verify_and_wipe_tag(computed, message);
}

void GpuGcm::crypt(Direction direction, const SegmentNonces& nonces,
                   std::span<Segment> segments) const {
  // Callers that have several streams at once make calls of launch_bytes() (SegmentCipher), each of
  // which is one launch, without a thread of its own. Of more text, a launch takes a stream's
  // share, or 256 KiB if that is more, as far as the buffers of a stream hold it.
  std::size_t total = 0;
  Hull in;
  Hull out;
  for (const Segment& segment : segments) {
    const std::size_t bytes = text_bytes(direction, segment);
    if (segment.done || bytes > segment_limit()) continue;
    total += bytes;
    in.add(segment.in);
    out.add(segment.out);
  }
  const DirectCopies direct = gpu_.direct_copies(in.bytes(), out.bytes());
  const std::size_t most = total <= launch_bytes()
                               ? launch_bytes()
                               : gpu_chunk_bytes(total, launch_bytes(), gpu_.streams());
  std::vector<std::span<Segment>> launches;
  std::size_t held = 0;
  bool follows = false;  // whether the previous segment is in the last launch
  for (std::size_t i = 0; i < segments.size(); ++i) {
    if (segments[i].done) {
      follows = false;
      continue;
    }
    const std::size_t bytes = text_bytes(direction, segments[i]);
    if (bytes > segment_limit()) {
      crypt_one(*this, direction, nonces, segments[i]);
      follows = false;
      continue;
    }
    if (!follows || held + padded(bytes) > most ||
        launches.back().size() >= gpu_.pool().max_messages()) {
      launches.push_back(segments.subspan(i, 0));
      held = 0;
    }
    launches.back() = {launches.back().data(), launches.back().size() + 1};
    held += padded(bytes);
    follows = true;
  }
  gpu_.launches(launches.size(), [&](Stream& stream, std::uint64_t i) {
    const std::span<Segment> launch = launches[i];
    launch_segments(
        stream, direction, launch.size(), [&](std::size_t k) -> Segment& { return launch[k]; },
        [&](std::size_t k) { return nonces.nonce(launch[k].index, launch[k].last); },
        [](std::size_t) { return 0U; }, direct);
  });
}

}  // namespace paraes::detail
