// Processes segments of many messages, each with its own key, in few launches.

#include <algorithm>
#include <tuple>
#include <vector>

#include "src/cipher/gpu_gcm.hpp"
#include "src/core/chunk.hpp"

namespace paraes::detail {
namespace {

using gpu::Stream;

// One group of threads hashes a whole segment, while other groups hash others. Longer segments are
// left to their own ciphers, which spread them over several groups.
constexpr std::size_t most_segment_bytes = std::size_t{256} << 10;

// A segment and its key on a GPU.
struct Entry {
  CipherSegment* segment;
  const GpuKey* key;
};

// One launch. Its entries are consecutive, and so are those of the same key.
struct Launch {
  std::span<const Entry> entries;
  std::vector<const GpuKey*> keys;  // in the order of the entries
  std::size_t bytes = 0;
};

// Keys can share a launch if they have the same pool and size and are expanded in the same place.
auto kind_of(const GpuKey& key) {
  return std::tuple(&key.pool(), key.material().rounds, key.material().on_device);
}

// Cuts the entries, which are all of one pool, into launches.
std::vector<Launch> cut(Direction direction, std::span<const Entry> entries) {
  gpu::DevicePool& pool = entries[0].key->pool();
  std::size_t most = pool.launch_bytes();
  if (std::ranges::all_of(entries,
                          [&](const Entry& entry) { return entry.key == entries[0].key; })) {
    // Expanding one key on every stream costs little, so each stream gets a share.
    std::size_t total = 0;
    for (const Entry& entry : entries) total += text_bytes(direction, entry.segment->segment);
    most = gpu_chunk_bytes(total, most, entries[0].key->streams());
  }
  std::vector<Launch> launches;
  for (std::size_t i = 0; i < entries.size(); ++i) {
    const std::size_t bytes = text_bytes(direction, entries[i].segment->segment);
    const GpuKey* const key = entries[i].key;
    const bool is_new_key = launches.empty() || launches.back().keys.back() != key;
    if (launches.empty() || kind_of(*launches.back().keys[0]) != kind_of(*key) ||
        launches.back().bytes + bytes > most ||
        launches.back().entries.size() >= pool.max_messages() ||
        (is_new_key && launches.back().keys.size() >= pool.most_keys())) {
      launches.push_back({.entries = entries.subspan(i, 0), .keys = {key}, .bytes = 0});
    } else if (is_new_key) {
      launches.back().keys.push_back(key);
    }
    Launch& launch = launches.back();
    launch.entries = {launch.entries.data(), launch.entries.size() + 1};
    launch.bytes += bytes;
  }
  return launches;
}

// Gives each key its share of the time: in proportion to its blocks, or for key expansion an equal
// one.
void share_times(Direction direction, const Launch& launch, const PhaseTimes& times) {
  std::vector<std::uint64_t> blocks(launch.keys.size());
  std::uint64_t all = 0;
  std::size_t k = 0;
  for (const Entry& entry : launch.entries) {
    if (entry.key != launch.keys[k]) ++k;
    const std::uint64_t own = text_bytes(direction, entry.segment->segment) / 16 + 2;
    blocks[k] += own;
    all += own;
  }
  for (k = 0; k < blocks.size(); ++k) {
    const double share = static_cast<double>(blocks[k]) / static_cast<double>(all);
    const auto share_of = [&](std::uint64_t time) {
      return static_cast<std::uint64_t>(share * static_cast<double>(time));
    };
    PhaseTimes own;
    own.key_expansion = times.key_expansion / blocks.size();
    own.host_to_device = share_of(times.host_to_device);
    own.kernel = share_of(times.kernel);
    own.device_to_host = share_of(times.device_to_host);
    launch.keys[k]->add_times(own);
  }
}

void run(Stream& stream, Direction direction, const Launch& launch) {
  const auto segment_of = [&](std::size_t i) -> SegmentCipher::Segment& {
    return launch.entries[i].segment->segment;
  };
  const auto nonce_of = [&](std::size_t i) {
    const CipherSegment& entry = *launch.entries[i].segment;
    return entry.cipher->nonces().nonce(entry.segment.index, entry.segment.last);
  };
  if (launch.keys.size() == 1) {
    // A single key needs neither the program nor the memory for many keys.
    stream.use_key(launch.keys[0]->material());
    launch_segments(stream, direction, launch.entries.size(), segment_of, nonce_of,
                    [](std::size_t) { return 0U; });
  } else {
    std::vector<const gpu::KeyMaterial*> keys;
    keys.reserve(launch.keys.size());
    for (const GpuKey* key : launch.keys) keys.push_back(&key->material());
    struct KeyWiper {
      Stream& stream;
      ~KeyWiper() { stream.forget_keys(); }
    };
    const KeyWiper wiper{stream};
    stream.use_keys(keys);
    std::uint32_t k = 0;
    launch_segments(stream, direction, launch.entries.size(), segment_of, nonce_of,
                    [&](std::size_t i) {
                      if (launch.entries[i].key != launch.keys[k]) ++k;
                      return k;
                    });
  }
  share_times(direction, launch, stream.take_times());
}

void run_all(Direction direction, std::span<const Entry> entries) {
  const std::vector<Launch> launches = cut(direction, entries);
  on_streams(entries[0].key->pool(), entries[0].key->streams(), launches.size(),
             [&](Stream& stream, std::uint64_t i) { run(stream, direction, launches[i]); });
}

}  // namespace

void crypt_on_gpus(Direction direction, std::span<CipherSegment> segments) {
  if (!GpuKey::any()) return;
  std::vector<Entry> entries;
  for (CipherSegment& segment : segments) {
    const GpuKey* const key = segment.cipher->gcm().gpu_key();
    if (key == nullptr || segment.segment.done) continue;
    const std::size_t most = std::min(most_segment_bytes, key->pool().launch_bytes());
    if (text_bytes(direction, segment.segment) > most) continue;
    if (entries.empty()) entries.reserve(segments.size());
    entries.push_back({&segment, key});
  }
  std::ranges::stable_sort(entries, {}, [](const Entry& entry) { return kind_of(*entry.key); });
  for (auto first = entries.begin(); first != entries.end();) {
    const auto last = std::find_if(first, entries.end(), [&](const Entry& entry) {
      return &entry.key->pool() != &first->key->pool();
    });
    try {
      run_all(direction, {first, last});
    } catch (const OutOfMemory&) {
      // The device lacks memory for many keys. The caller processes these segments one by one,
      // which needs no such memory.
    } catch (const Error& error) {
      const bool all_fall_back = std::all_of(first, last, [&](const Entry& entry) {
        return entry.segment->segment.done || entry.segment->cipher->gcm().falls_back(error);
      });
      if (!all_fall_back) throw;
    }
    first = last;
  }
}

}  // namespace paraes::detail
