#include "src/cipher/device_memory.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "paraes/secret.hpp"
#include "src/core/counter.hpp"
#include "src/core/gf128.hpp"
#include "src/kernels/registry.hpp"

namespace paraes {
namespace {

using gpu::Memory;

paraes_message to_message(const DeviceBuffer& in, const DeviceBuffer& out,
                          const DeviceMessage& message) {
  paraes_message made = gpu::make_message(in.offset + message.in, out.offset + message.out,
                                          message.bytes, message.iv.data());
  made.key = message.key;
  return made;
}

}  // namespace

namespace detail {

DeviceCipherImpl::DeviceCipherImpl(std::shared_ptr<gpu::DeviceContext> context,
                                   std::unique_ptr<gpu::Queue> queue,
                                   std::vector<std::unique_ptr<gpu::KeyMaterial>> keys)
    : context_(std::move(context)),
      keys_(std::move(keys)),
      cpu_keys_(keys_.size()),
      queue_(context_, std::move(queue)) {
  queue_.use_keys(keys_);
}

gpu::LaunchBuffers DeviceCipherImpl::buffers(const DeviceBuffer& in, const DeviceBuffer& out) {
  in_ = Memory::view(in.memory, in.offset + in.bytes);
  out_ = Memory::view(out.memory, out.offset + out.bytes);
  return {&in_, &out_};
}

bool DeviceCipherImpl::same_place(const DeviceBuffer& in, const DeviceBuffer& out,
                                  const DeviceMessage& message) const {
  const std::uint64_t from = in.offset + message.in;
  const std::uint64_t to = out.offset + message.out;
  // In CUDA and HIP, two pointers can lead to the same place.
  return is_opencl() ? in.memory == out.memory && from == to : in.memory + from == out.memory + to;
}

void DeviceCipherImpl::run(const char* entry, const DeviceBuffer& in, const DeviceBuffer& out,
                           std::span<const DeviceMessage> messages) {
  std::vector<paraes_message> list;
  list.reserve(messages.size());
  for (const DeviceMessage& message : messages) list.push_back(to_message(in, out, message));
  queue_.launches().run(entry, buffers(in, out), list);
  queue_.queue().flush();
}

void DeviceCipherImpl::cbc_decrypt(const DeviceBuffer& in, const DeviceBuffer& out,
                                   std::span<const DeviceMessage> messages) {
  std::vector<DeviceMessage> apart;
  std::vector<paraes_message> in_place;
  for (const DeviceMessage& message : messages) {
    if (same_place(in, out, message)) {
      in_place.push_back(to_message(out, out, message));
      in_place.back().in = in_place.back().out;
    } else {
      apart.push_back(message);
    }
  }
  if (!apart.empty()) run("cbc_decrypt", in, out, apart);
  if (in_place.empty()) return;
  queue_.cbc_decrypt_in_place(*buffers(out, out).out, in_place);
  queue_.queue().flush();
}

void DeviceCipherImpl::xts(Direction direction, std::size_t unit_bytes, const DeviceBuffer& in,
                           const DeviceBuffer& out, std::span<const DeviceMessage> messages) {
  const gpu::LaunchBuffers both = buffers(in, out);
  const auto launch = [&](paraes_message message, std::uint64_t unit) {
    queue_.launches().xts(both, direction, message, static_cast<std::uint32_t>(unit / 16), nullptr);
  };
  for (const DeviceMessage& message : messages) {
    const std::uint64_t unit = unit_bytes == 0 ? message.bytes : unit_bytes;
    const std::uint64_t last = message.bytes % unit;
    const std::uint64_t whole = message.bytes - last;
    paraes_message units = to_message(in, out, message);
    units.bytes = whole;
    if (whole != 0) launch(units, unit);
    if (last == 0) continue;
    DeviceMessage shorter = message;
    shorter.in += whole;
    shorter.out += whole;
    shorter.bytes = last;
    add_le128(shorter.iv.data(), whole / unit);
    launch(to_message(in, out, shorter), last);
  }
  queue_.queue().flush();
}

void DeviceCipherImpl::gcm_encrypt(const DeviceBuffer& in, const DeviceBuffer& out,
                                   std::span<const DeviceMessage> messages) {
  gpu::GcmWork work = plan(Direction::encrypt, in, out, messages);
  queue_.launches().gcm(buffers(in, out), Direction::encrypt, work);
  queue_.queue().flush();
}

std::shared_ptr<const DeviceVerdict::Pending> DeviceCipherImpl::gcm_decrypt(
    const DeviceBuffer& in, const DeviceBuffer& out, std::span<const DeviceMessage> messages) {
  gpu::GcmWork work = plan(Direction::decrypt, in, out, messages);
  queue_.launches().gcm(buffers(in, out), Direction::decrypt, work);
  gpu::CallerQueue::Verdicts verdicts = queue_.download_verdicts(messages.size());
  queue_.queue().flush();
  return std::make_shared<const DeviceVerdict::Pending>(queue_.pinned(), std::move(verdicts),
                                                        messages.size());
}

gpu::GcmWork DeviceCipherImpl::plan(Direction direction, const DeviceBuffer& in,
                                    const DeviceBuffer& out,
                                    std::span<const DeviceMessage> messages) {
  gpu::GcmWork work;
  work.starts.reserve(messages.size());
  work.ends.reserve(messages.size());
  work.ranges.reserve(messages.size());
  for (const DeviceMessage& message : messages) {
    paraes_message start = to_message(in, out, message);
    // J0 of a nonce of 12 bytes (section 7.1 step 2).
    std::array<std::uint8_t, 16> j0 = message.iv;
    store_be32(j0.data() + 12, 1);
    std::memcpy(start.iv, j0.data(), j0.size());
    start.flags = PARAES_HASH_PARTIAL | PARAES_HASH_TO_SCRATCH;
    if (direction == Direction::decrypt) start.flags |= PARAES_HASH_INPUT;
    paraes_gcm_end& end = work.ends.emplace_back();
    end.text = start.out;
    end.bytes = message.bytes;
    end.tag = (direction == Direction::encrypt ? out : in).offset + message.tag;
    end.first = static_cast<std::uint32_t>(work.ranges.size());
    end.key = message.key;
    end.opens = direction == Direction::decrypt ? 1 : 0;
    if (!message.aad.empty()) put_addend(message, end);
    work.starts.push_back(start);
    add_ranges(start, work);
  }
  return work;
}

// Cuts a text into ranges, each of which one group of threads hashes. Short texts have one.
void DeviceCipherImpl::add_ranges(const paraes_message& whole, gpu::GcmWork& work) const {
  paraes_gcm_end& end = work.ends.back();
  if (whole.bytes == 0) return;
  constexpr std::uint64_t grain = 1024;           // blocks of a full tile
  constexpr std::uint64_t one_range = 4 * grain;  // longer texts are cut
  constexpr std::uint64_t ranges_per_processor = 24;
  const std::uint64_t blocks = (whole.bytes + 15) / 16;
  std::uint64_t each = blocks;
  if (blocks > one_range) {
    const std::uint64_t most =
        ranges_per_processor * std::max<std::uint64_t>(context_->info().processors, 1);
    each = ((blocks + most - 1) / most + grain - 1) / grain * grain;
  }
  end.ranges = static_cast<std::uint32_t>((blocks + each - 1) / each);
  end.range_blocks = static_cast<std::uint32_t>(each);
  // The first range has what is left over: the weights of all others are powers of H^each.
  std::uint64_t from = 0;
  for (std::uint64_t to = blocks - (end.ranges - 1) * each; from < blocks; to += each) {
    paraes_message range = whole;
    range.in += 16 * from;
    range.out += 16 * from;
    range.bytes = std::min(16 * to, whole.bytes) - 16 * from;
    std::uint8_t counter[16];
    std::memcpy(counter, whole.iv, sizeof counter);
    add_be32(counter, static_cast<std::uint32_t>(from));
    std::memcpy(range.iv, counter, sizeof counter);
    work.ranges.push_back(range);
    from = to;
  }
}

// GHASH is linear: associated data with the hash A adds A H^(n + 1) for a text of n blocks, and its
// length adds a multiple of H (SP 800-38D section 7.1 steps 4 and 5).
void DeviceCipherImpl::put_addend(const DeviceMessage& message, paraes_gcm_end& end) {
  std::unique_ptr<const GcmKey>& key = cpu_keys_[message.key];
  if (!key) {
    const gpu::KeyMaterial& material = *keys_[message.key];
    key = std::make_unique<const GcmKey>(find_kernel("auto"), material.keys[0].data(),
                                         material.key_bytes());
  }
  const std::uint8_t one[16] = {0x80};
  struct Secrets {
    std::uint8_t h[16] = {};
    std::uint8_t hash[16] = {};
    Gf128 power_of_h{};
    Gf128Factor factor{};
    Gf128Factor h_factor{};
    Gf128 sum{};
    Gf128 length{};
    std::uint8_t addend[16] = {};
  } secret;
  gcm_hash(*key, secret.h, one, sizeof one);
  gcm_hash(*key, secret.hash, message.aad.data(), message.aad.size());
  secret.power_of_h = power(load_gf128(secret.h), (message.bytes + 15) / 16 + 1);
  secret.factor = make_factor(secret.power_of_h);
  secret.h_factor = make_factor(load_gf128(secret.h));
  secret.sum = multiply(load_gf128(secret.hash), secret.factor);
  secret.length = multiply({std::uint64_t{message.aad.size()} * 8, 0}, secret.h_factor);
  store_gf128(secret.addend,
              {secret.sum.high ^ secret.length.high, secret.sum.low ^ secret.length.low});
  std::memcpy(end.addend, secret.addend, sizeof secret.addend);
  secure_zero(&secret, sizeof secret);
}

}  // namespace detail
}  // namespace paraes
