#include "src/cipher/gpu_gcm.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "paraes/secret.hpp"
#include "src/core/chunk.hpp"
#include "src/core/counter.hpp"

namespace paraes::detail {
namespace {

using gpu::Stream;
using Segment = SegmentCipher::Segment;

// One group of threads hashes a whole segment: longer ones would leave the rest of the GPU idle.
constexpr std::size_t most_segment_bytes = std::size_t{64} << 10;

std::unique_ptr<gpu::KeyMaterial> material(const GcmKey& key, const GpuUse& use) {
  const std::array<const CipherKey*, 1> keys = {&key.cipher};
  return make_key_material(keys, true, use.key_expansion);
}

}  // namespace

GpuGcm::GpuGcm(std::shared_ptr<gpu::DevicePool> pool, std::shared_ptr<const GcmKey> key,
               const Executor& executor, const GpuUse& use)
    : OnGpu(std::move(pool), material(*key, use), use, executor.threads()), key_(std::move(key)) {}

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
    std::memcpy(stream.input(), in + from, n);
    std::memset(stream.input() + n, 0, hashes - n);
    stream.stage_in(hashes);
    stream.launch("gcm_ctr", messages);
    stream.launch_hash(count);
    stream.stage_out(hashes + 16 * count);
    stream.finish();
    std::memcpy(out + from, stream.output(), n);
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
  for (const Segment& segment : segments) {
    const std::size_t bytes = text_bytes(direction, segment);
    if (!segment.done && bytes <= segment_limit()) total += bytes;
  }
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
        [](std::size_t) { return 0U; });
  });
}

}  // namespace paraes::detail
