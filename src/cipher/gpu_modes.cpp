#include "src/cipher/gpu_modes.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <exception>

#include "src/core/counter.hpp"
#include "src/core/gf128.hpp"
#include "src/core/workers.hpp"
#include "src/kernels/block_modes.hpp"
#include "src/kernels/registry.hpp"

namespace paraes {
namespace {

using gpu::make_message;

// Blocks that one group of threads hashes: long enough to fill it, short enough to fill the GPU.
constexpr std::size_t hash_chunk_bytes = std::size_t{16} << 10;
// Above it, one group a segment would leave the rest of the GPU idle.
constexpr std::size_t most_whole_segment = std::size_t{64} << 10;
// With many keys there are other segments beside it.
constexpr std::size_t most_keyed_segment = std::size_t{256} << 10;

std::size_t padded(std::size_t bytes) { return (bytes + 15) / 16 * 16; }

}  // namespace

std::unique_ptr<gpu::KeyMaterial> make_key_material(const std::uint8_t* key, unsigned key_bytes,
                                                    unsigned count, bool gcm,
                                                    KeyExpansion expansion) {
  auto material =
      std::make_unique<gpu::KeyMaterial>(key_bytes, gcm, expansion == KeyExpansion::device);
  const Kernel& kernel = find_kernel("auto");
  for (unsigned k = 0; k < count; ++k, key += key_bytes) {
    KeySchedule schedule;
    kernel.expand(schedule, key, key_bytes);
    expand_decryption_keys(schedule);
    material->add(key, schedule);
  }
  return material;
}

GpuCipher::GpuCipher(std::shared_ptr<gpu::DevicePool> fleet, const std::uint8_t* key,
                     unsigned key_bytes, unsigned count, bool gcm, const Use& use)
    : fleet_(std::move(fleet)),
      key_(make_key_material(key, key_bytes, count, gcm, use.key_expansion)),
      use_(use) {}

GpuCipher::~GpuCipher() { fleet_->forget_key(key_->id); }

DeviceTimes GpuCipher::take_times() const noexcept {
  const std::lock_guard lock(mutex_);
  return std::exchange(times_, DeviceTimes{});
}

void GpuCipher::add_times(const DeviceTimes& times) const {
  const std::lock_guard lock(mutex_);
  times_.key_expansion += times.key_expansion;
  times_.host_to_device += times.host_to_device;
  times_.kernel += times.kernel;
  times_.device_to_host += times.device_to_host;
}

std::string GpuCipher::fallback() const {
  const std::lock_guard lock(mutex_);
  return failure_;
}

bool GpuCipher::falls_back(const Error& error) const {
  if (use_.spare == nullptr) return false;
  const std::lock_guard lock(mutex_);
  if (failure_.empty()) failure_ = error.what();
  failed_ = true;
  return true;
}

void GpuCipher::spare_segment(Direction direction, const GpuSegment& segment) const {
  const GcmKey& key = *use_.spare;
  const GcmCounter j0 = gcm_initial_counter(key, segment.nonce.data(), segment.nonce.size());
  GcmCounter counter = j0;
  add_be32(counter.block, 1);
  std::uint8_t state[16] = {};
  gcm_run(key, direction, counter, state, segment.in, segment.out, segment.bytes);
  gcm_tag(key, j0, state, 0, segment.bytes, segment.tag);
}

namespace {

// Calls work(lane, next) on up to `lanes` lanes of `fleet`, where next() gives the numbers below
// `count`, each to one of them, and then `count`. What work throws ends all, and is thrown.
template <class Work>
void on_lanes(gpu::DevicePool& fleet, unsigned lanes, std::uint64_t count, const Work& work) {
  std::atomic<std::uint64_t> next = 0;
  std::mutex failure_mutex;
  std::exception_ptr failure;
  const auto take = [&] { return std::min(next++, count); };
  const auto worker = [&](unsigned) {
    try {
      if (next.load() >= count) return;
      gpu::DevicePool::Lease lease(fleet);
      work(lease.stream(), take);
    } catch (...) {
      next = count;
      const std::lock_guard lock(failure_mutex);
      if (!failure) failure = std::current_exception();
    }
  };
  run_workers(static_cast<unsigned>(std::min<std::uint64_t>(count, lanes)), worker);
  if (failure) std::rethrow_exception(failure);
}

// For modes that have no spare.
constexpr auto no_spare = [](auto...) {};

}  // namespace

template <class Body, class Spare>
void GpuCipher::each_fragment(std::uint64_t count, const Body& body, const Spare& spare) const {
  on_lanes(*fleet_, lanes(), count, [&](gpu::Stream& lane, const auto& next) {
    for (std::uint64_t f = next(); f < count; f = next()) {
      if (!failed_) {
        try {
          lane.use_key(*key_);
          body(lane, f);
          continue;
        } catch (const Error& error) {
          if (!falls_back(error)) throw;
        }
      }
      spare(f);
    }
    add_times(lane.take_times());
  });
}

template <class Body, class Spare>
void GpuCipher::each_run(std::size_t bytes, std::size_t grain, const Body& body,
                         const Spare& spare) const {
  const std::size_t most = std::max(fleet_->launch_bytes() / grain, std::size_t{1}) * grain;
  // At least one fragment a lane, as long as there is enough to do in each.
  constexpr std::size_t least = std::size_t{256} << 10;
  const std::size_t share = (bytes / lanes() + grain - 1) / grain * grain;
  const std::size_t least_run = (least + grain - 1) / grain * grain;
  const std::size_t run = std::min(most, std::max(share, least_run));
  const auto part = [&](std::uint64_t f) { return std::min(run, bytes - f * run); };
  each_fragment((bytes + run - 1) / run,
                [&](gpu::Stream& lane, std::uint64_t f) { body(lane, f * run, part(f)); },
                [&](std::uint64_t f) { spare(f * run, part(f)); });
}

namespace {

// In, one launch of one message, out.
template <class Launch>
void through(gpu::Stream& lane, const std::uint8_t* in, std::uint8_t* out, std::size_t bytes,
             const Launch& launch) {
  std::memcpy(lane.input(), in, bytes);
  lane.stage_in(padded(bytes));
  launch();
  lane.stage_out(padded(bytes));
  lane.finish();
  std::memcpy(out, lane.output(), bytes);
}

}  // namespace

void GpuCipher::ecb(Direction direction, const std::uint8_t* in, std::uint8_t* out,
                    std::size_t bytes) const {
  const char* const entry = direction == Direction::encrypt ? "ecb_encrypt" : "ecb_decrypt";
  each_run(
      bytes, 16,
      [&](gpu::Stream& lane, std::size_t from, std::size_t n) {
        through(lane, in + from, out + from, n, [&] {
          paraes_message message = make_message(0, 0, n, nullptr);
          lane.launch(entry, {&message, 1});
        });
      },
      no_spare);
}

void GpuCipher::ctr(const std::uint8_t counter[16], const std::uint8_t* in, std::uint8_t* out,
                    std::size_t bytes) const {
  each_run(
      bytes, 16,
      [&](gpu::Stream& lane, std::size_t from, std::size_t n) {
        through(lane, in + from, out + from, n, [&] {
          std::uint8_t first[16];
          std::memcpy(first, counter, 16);
          add_be128(first, from / 16);
          paraes_message message = make_message(0, 0, n, first);
          lane.launch("ctr", {&message, 1});
        });
      },
      no_spare);
}

void GpuCipher::cbc_decrypt(const std::uint8_t chain[16], const std::uint8_t* in, std::uint8_t* out,
                            std::size_t bytes) const {
  // Runs overlap, and in place one may overwrite the block that the next one starts from.
  const std::size_t run =
      std::min(fleet_->launch_bytes(), std::max(padded(bytes / lanes() + 1), std::size_t{4096}));
  const std::size_t count = (bytes + run - 1) / run;
  std::vector<std::uint8_t> chains(16 * count);
  for (std::size_t f = 0; f < count; ++f) {
    std::memcpy(chains.data() + 16 * f, f == 0 ? chain : in + f * run - 16, 16);
  }
  each_fragment(
      count,
      [&](gpu::Stream& lane, std::uint64_t f) {
        const std::size_t from = f * run;
        const std::size_t n = std::min(run, bytes - from);
        through(lane, in + from, out + from, n, [&] {
          paraes_message message = make_message(0, 0, n, chains.data() + 16 * f);
          lane.launch("cbc_decrypt", {&message, 1});
        });
      },
      no_spare);
}

void GpuCipher::xts(Direction direction, const std::uint8_t first_unit[16], std::size_t unit_bytes,
                    const std::uint8_t* in, std::uint8_t* out, std::size_t bytes) const {
  const auto unit_blocks = static_cast<std::uint32_t>(unit_bytes / 16);
  each_run(
      bytes, unit_bytes,
      [&](gpu::Stream& lane, std::size_t from, std::size_t n) {
        through(lane, in + from, out + from, n, [&] {
          std::uint8_t number[16];
          std::memcpy(number, first_unit, 16);
          add_le128(number, from / unit_bytes);
          paraes_message message = make_message(0, 0, n, number);
          lane.launch_xts(direction, message, unit_blocks, nullptr);
        });
      },
      no_spare);
}

void GpuCipher::xts_unit(Direction direction, std::uint8_t tweak[16], const std::uint8_t* in,
                         std::uint8_t* out, std::size_t bytes) const {
  const std::size_t run = fleet_->launch_bytes();
  const std::size_t count = (bytes + run - 1) / run;
  std::vector<std::uint8_t> tweaks(16 * count);
  for (std::size_t f = 0; f < count; ++f) {
    std::memcpy(tweaks.data() + 16 * f, tweak, 16);
    const std::size_t n = std::min(run, bytes - f * run);
    for (std::size_t b = 0; b < n / 16; ++b) block_modes::xts_next_tweak(tweak);
  }
  each_fragment(
      count,
      [&](gpu::Stream& lane, std::uint64_t f) {
        const std::size_t from = f * run;
        const std::size_t n = std::min(run, bytes - from);
        through(lane, in + from, out + from, n, [&] {
          paraes_message message = make_message(0, 0, n, nullptr);
          lane.launch_xts(direction, message, static_cast<std::uint32_t>(n / 16),
                          tweaks.data() + 16 * f);
        });
      },
      no_spare);
}

void GpuCipher::gcm(const GcmKey& key, Direction direction, const GcmCounter& j0,
                    std::uint8_t state[16], const std::uint8_t* in, std::uint8_t* out,
                    std::size_t bytes) const {
  struct Partial {
    std::uint8_t hash[16];
    std::uint64_t blocks;
  };
  std::vector<Partial> partials((bytes + hash_chunk_bytes - 1) / hash_chunk_bytes);
  const std::uint32_t flags =
      PARAES_HASH_PARTIAL | (direction == Direction::decrypt ? PARAES_HASH_INPUT : 0);
  const auto run = [&](gpu::Stream& lane, std::size_t from, std::size_t n) {
    const std::size_t chunks = (n + hash_chunk_bytes - 1) / hash_chunk_bytes;
    const std::size_t hashes = padded(n);
    std::vector<paraes_message> messages;
    messages.reserve(chunks);
    for (std::size_t c = 0; c < chunks; ++c) {
      const std::size_t at = c * hash_chunk_bytes;
      std::uint8_t counter[16];
      std::memcpy(counter, j0.block, 16);
      add_be32(counter, static_cast<std::uint32_t>((from + at) / 16));
      paraes_message message = make_message(at, at, std::min(hash_chunk_bytes, n - at), counter);
      message.flags = flags;
      message.tag = hashes + 16 * c;
      messages.push_back(message);
    }
    std::memcpy(lane.input(), in + from, n);
    std::memset(lane.input() + n, 0, hashes - n);
    lane.stage_in(hashes);
    lane.launch("gcm_ctr", messages, 1);
    lane.launch_hash(chunks);
    lane.stage_out(hashes + 16 * chunks);
    lane.finish();
    std::memcpy(out + from, lane.output(), n);
    for (std::size_t c = 0; c < chunks; ++c) {
      Partial& partial = partials[from / hash_chunk_bytes + c];
      std::memcpy(partial.hash, lane.output() + hashes + 16 * c, 16);
      partial.blocks = (messages[c].bytes + 15) / 16;
    }
  };
  const auto spare = [&](std::size_t from, std::size_t n) {
    for (std::size_t at = from; at < from + n; at += hash_chunk_bytes) {
      const std::size_t chunk = std::min(hash_chunk_bytes, from + n - at);
      GcmCounter counter = j0;
      add_be32(counter.block, static_cast<std::uint32_t>(1 + at / 16));
      Partial& partial = partials[at / hash_chunk_bytes];
      std::memset(partial.hash, 0, sizeof partial.hash);
      partial.blocks = (chunk + 15) / 16;
      gcm_run(*use_.spare, direction, counter, partial.hash, in + at, out + at, chunk);
    }
  };
  each_run(bytes, hash_chunk_bytes, run, spare);
  Gf128 sum = load_gf128(state);
  const Gf128 h = load_gf128(key.hash.h);
  const auto whole = make_factor(power(h, hash_chunk_bytes / 16));
  for (const Partial& partial : partials) {
    sum = multiply(sum, partial.blocks == hash_chunk_bytes / 16
                            ? whole
                            : make_factor(power(h, partial.blocks)));
    const Gf128 hash = load_gf128(partial.hash);
    sum.high ^= hash.high;
    sum.low ^= hash.low;
  }
  store_gf128(state, sum);
}

std::size_t GpuCipher::segment_limit() const noexcept {
  return std::min(most_whole_segment, fleet_->launch_bytes());
}

namespace {

// Segments from host memory to host memory in one launch of a lane, which has their keys:
// segment_of(i) and key_of(i) for i < count.
template <class SegmentOf, class KeyOf>
void launch_segments(gpu::Stream& lane, Direction direction, std::size_t count,
                     const SegmentOf& segment_of, const KeyOf& key_of) {
  std::vector<paraes_message> messages;
  messages.reserve(count);
  std::size_t at = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const GpuSegment& segment = segment_of(i);
    std::uint8_t j0[16];
    std::memcpy(j0, segment.nonce.data(), 12);
    store_be32(j0 + 12, 1);
    paraes_message message = make_message(at, at, segment.bytes, j0);
    message.key = key_of(i);
    message.flags = direction == Direction::encrypt ? 0 : PARAES_HASH_INPUT;
    messages.push_back(message);
    // An empty text may have no address.
    if (segment.bytes != 0) std::memcpy(lane.input() + at, segment.in, segment.bytes);
    at += padded(segment.bytes);
  }
  for (std::size_t i = 0; i < count; ++i) messages[i].tag = at + 16 * i;
  lane.stage_in(at);
  lane.launch("gcm_ctr", messages, 1);
  lane.launch_hash(count);
  lane.stage_out(at + 16 * count);
  lane.finish();
  for (std::size_t i = 0; i < count; ++i) {
    const GpuSegment& segment = segment_of(i);
    if (segment.bytes != 0) {
      std::memcpy(segment.out, lane.output() + messages[i].out, segment.bytes);
    }
    std::memcpy(segment.tag, lane.output() + messages[i].tag, 16);
  }
}

}  // namespace

void GpuCipher::segments(Direction direction, std::span<const GpuSegment> list) const {
  // Fragments: as many segments as go into a lane, and at least a share for every lane.
  std::vector<std::size_t> starts;
  std::size_t total = 0;
  for (const GpuSegment& segment : list) total += segment.bytes;
  constexpr std::size_t least = std::size_t{256} << 10;
  const std::size_t most = std::min(fleet_->launch_bytes(), std::max(total / lanes(), least));
  std::size_t held = 0;
  for (std::size_t i = 0; i < list.size(); ++i) {
    const std::size_t bytes = padded(list[i].bytes);
    if (i == 0 || held + bytes > most || i - starts.back() >= fleet_->max_messages()) {
      starts.push_back(i);
      held = 0;
    }
    held += bytes;
  }
  starts.push_back(list.size());
  const auto run = [&](std::uint64_t f) {
    return list.subspan(starts[f], starts[f + 1] - starts[f]);
  };
  each_fragment(
      starts.size() - 1,
      [&](gpu::Stream& lane, std::uint64_t f) {
        launch_segments(
            lane, direction, run(f).size(),
            [&](std::size_t i) -> const GpuSegment& { return run(f)[i]; },
            [](std::size_t) { return 0U; });
      },
      [&](std::uint64_t f) {
        for (const GpuSegment& segment : run(f)) spare_segment(direction, segment);
      });
}

std::size_t GpuCipher::many_limit() const noexcept {
  return std::min(most_keyed_segment, fleet_->launch_bytes());
}

void GpuCipher::segments_of_many(Direction direction, std::span<const GpuKeyedSegment> list) {
  if (list.empty()) return;
  const GpuCipher& first = *list[0].cipher;
  if (std::all_of(list.begin(), list.end(), [&](const GpuKeyedSegment& keyed) {
        return keyed.cipher == &first && keyed.segment.bytes <= first.segment_limit();
      })) {
    std::vector<GpuSegment> segments;
    segments.reserve(list.size());
    for (const GpuKeyedSegment& keyed : list) segments.push_back(keyed.segment);
    first.segments(direction, segments);
    return;
  }
  gpu::DevicePool& fleet = first.fleet();
  // What one launch takes.
  struct Fragment {
    std::vector<const GpuCipher*> ciphers;
    std::vector<std::uint32_t> keys;  // of each segment, an index into these
    std::vector<const GpuSegment*> segments;
    std::size_t bytes = 0;
  };
  std::vector<Fragment> fragments;
  // A launch has keys of one size, which all expand in the same place.
  const auto alike = [](const gpu::KeyMaterial& a, const gpu::KeyMaterial& b) {
    return a.rounds == b.rounds && a.on_device == b.on_device;
  };
  std::vector<const gpu::KeyMaterial*> kinds;
  for (const GpuKeyedSegment& keyed : list) {
    const auto same = [&](const gpu::KeyMaterial* kind) {
      return alike(*kind, *keyed.cipher->key_);
    };
    if (std::none_of(kinds.begin(), kinds.end(), same)) kinds.push_back(keyed.cipher->key_.get());
  }
  for (const gpu::KeyMaterial* kind : kinds) {
    bool fresh = true;
    for (const GpuKeyedSegment& keyed : list) {
      if (!alike(*kind, *keyed.cipher->key_)) continue;
      const bool another = fresh || fragments.back().ciphers.back() != keyed.cipher;
      if (fresh || fragments.back().bytes + keyed.segment.bytes > fleet.launch_bytes() ||
          fragments.back().segments.size() >= fleet.max_messages() ||
          (another && fragments.back().ciphers.size() >= fleet.most_keys())) {
        fragments.emplace_back();
        fresh = false;
      }
      Fragment& fragment = fragments.back();
      if (fragment.ciphers.empty() || another) fragment.ciphers.push_back(keyed.cipher);
      fragment.keys.push_back(static_cast<std::uint32_t>(fragment.ciphers.size() - 1));
      fragment.segments.push_back(&keyed.segment);
      fragment.bytes += keyed.segment.bytes;
    }
  }
  const auto launch = [&](gpu::Stream& lane, const Fragment& fragment) {
    std::vector<const gpu::KeyMaterial*> keys;
    keys.reserve(fragment.ciphers.size());
    for (const GpuCipher* cipher : fragment.ciphers) keys.push_back(cipher->key_.get());
    struct Forget {
      gpu::Stream& lane;
      ~Forget() { lane.forget_keys(); }
    };
    {
      const Forget forget{lane};
      lane.use_keys(keys);
      launch_segments(
          lane, direction, fragment.segments.size(),
          [&](std::size_t i) -> const GpuSegment& { return *fragment.segments[i]; },
          [&](std::size_t i) { return fragment.keys[i]; });
    }
    // Each cipher has a share of the launch, by its blocks.
    const DeviceTimes times = lane.take_times();
    const auto blocks = [](std::size_t bytes) { return bytes / 16 + 2; };
    std::vector<std::uint64_t> shares(fragment.ciphers.size());
    std::uint64_t all = 0;
    for (std::size_t i = 0; i < fragment.segments.size(); ++i) {
      shares[fragment.keys[i]] += blocks(fragment.segments[i]->bytes);
      all += blocks(fragment.segments[i]->bytes);
    }
    for (std::size_t k = 0; k < shares.size(); ++k) {
      const double share = static_cast<double>(shares[k]) / static_cast<double>(all);
      const auto part = [&](std::uint64_t time) {
        return static_cast<std::uint64_t>(share * static_cast<double>(time));
      };
      fragment.ciphers[k]->add_times({.key_expansion = times.key_expansion / shares.size(),
                                      .host_to_device = part(times.host_to_device),
                                      .kernel = part(times.kernel),
                                      .device_to_host = part(times.device_to_host)});
    }
  };
  // Memory for many keys may be what is missing: the caller then takes the ciphers one by one.
  const auto all_fall_back = [](const Fragment& fragment, const Error& error) {
    if (dynamic_cast<const OutOfMemory*>(&error) != nullptr) return false;
    return std::all_of(fragment.ciphers.begin(), fragment.ciphers.end(),
                       [&](const GpuCipher* cipher) { return cipher->falls_back(error); });
  };
  on_lanes(fleet, first.lanes(), fragments.size(), [&](gpu::Stream& lane, const auto& next) {
    for (std::uint64_t f = next(); f < fragments.size(); f = next()) {
      const Fragment& fragment = fragments[f];
      try {
        launch(lane, fragment);
      } catch (const Error& error) {
        if (!all_fall_back(fragment, error)) throw;
        for (std::size_t i = 0; i < fragment.segments.size(); ++i) {
          fragment.ciphers[fragment.keys[i]]->spare_segment(direction, *fragment.segments[i]);
        }
      }
    }
  });
}

}  // namespace paraes
