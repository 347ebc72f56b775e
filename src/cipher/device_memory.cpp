#include "src/cipher/device_memory.hpp"

#include <array>
#include <cstring>
#include <map>
#include <numeric>

#include "paraes/error.hpp"
#include "paraes/secret.hpp"
#include "src/core/counter.hpp"
#include "src/core/gf128.hpp"
#include "src/kernels/registry.hpp"

namespace paraes::detail {
namespace {

using gpu::CallerQueue;
using gpu::Memory;

// Buffers of several texts as one: as far as all of them can be reached.
class Side {
 public:
  Side(DeviceTexts texts, std::span<const std::uint32_t> numbers, DeviceBuffer DeviceText::*buffer,
       bool one_address_space) {
    std::uint64_t low = ~std::uint64_t{0};
    std::uint64_t high = 0;
    for (const std::uint32_t number : numbers) {
      const DeviceBuffer& part = texts[number].*buffer;
      if (part.bytes == 0) continue;
      const std::uint64_t begin = (one_address_space ? part.memory : 0) + part.offset;
      low = std::min(low, begin / block_bytes * block_bytes);
      high = std::max(high, begin + part.bytes);
    }
    if (high == 0) return;  // no bytes
    if (one_address_space) {
      base_ = low;
      memory_ = Memory::view(low, high - low);
    } else {
      memory_ = Memory::view((texts[numbers[0]].*buffer).memory, high);
    }
    adds_address_ = one_address_space;
  }

  [[nodiscard]] const Memory& memory() const noexcept { return memory_; }
  // From the beginning of memory().
  [[nodiscard]] std::uint64_t offset(const DeviceBuffer& part) const noexcept {
    if (part.bytes == 0) return 0;
    return (adds_address_ ? part.memory : 0) + part.offset - base_;
  }

 private:
  Memory memory_;
  std::uint64_t base_ = 0;  // a multiple of 16
  bool adds_address_ = false;
};

}  // namespace

class DeviceCipherImpl::Reach {
 public:
  Reach(DeviceTexts texts, std::vector<std::uint32_t> numbers, bool one_address_space)
      : texts_(texts),
        numbers_(std::move(numbers)),
        in_(texts, numbers_, &DeviceText::in, one_address_space),
        out_(texts, numbers_, &DeviceText::out, one_address_space),
        tags_(texts, numbers_, &DeviceText::tag, one_address_space),
        one_address_space_(one_address_space) {}

  [[nodiscard]] std::span<const std::uint32_t> numbers() const noexcept { return numbers_; }
  [[nodiscard]] std::size_t size() const noexcept { return numbers_.size(); }
  [[nodiscard]] const DeviceText& text(std::size_t i) const { return texts_[numbers_[i]]; }

  [[nodiscard]] gpu::LaunchBuffers buffers() const noexcept {
    return {&in_.memory(), &out_.memory(), &tags_.memory()};
  }
  [[nodiscard]] std::uint64_t tag(std::size_t i) const { return tags_.offset(text(i).tag); }
  [[nodiscard]] paraes_message message(std::size_t i) const {
    const DeviceText& one = text(i);
    paraes_message made =
        gpu::make_message(in_.offset(one.in), out_.offset(one.out), one.in.bytes, one.iv.data());
    made.key = one.key;
    return made;
  }
  [[nodiscard]] bool is_in_place(std::size_t i) const {
    const DeviceText& one = text(i);
    // Where there is one address space, two pointers can lead to the same place.
    return one_address_space_ ? one.in.memory + one.in.offset == one.out.memory + one.out.offset
                              : one.in.memory == one.out.memory && one.in.offset == one.out.offset;
  }

 private:
  DeviceTexts texts_;
  std::vector<std::uint32_t> numbers_;
  Side in_;
  Side out_;
  Side tags_;
  bool one_address_space_;
};

DeviceCipherImpl::DeviceCipherImpl(std::shared_ptr<gpu::DeviceContext> context, DeviceStream stream,
                                   std::vector<std::unique_ptr<gpu::KeyMaterial>> keys)
    : context_(std::move(context)),
      stream_(std::move(stream)),
      keys_(std::move(keys)),
      cpu_keys_(keys_.size()),
      queues_(context_, keys_) {}

void* DeviceCipherImpl::handle_of(const DeviceStream& stream) const {
  if (stream.device.empty()) return stream_.handle;
  if (stream.device != stream_.device) {
    throw InvalidArgument("the stream is on '" + stream.device + "', and the cipher on '" +
                          stream_.device + "': a cipher works on one device");
  }
  return stream.handle;
}

void DeviceCipherImpl::wait_for(const DeviceStream& other, const DeviceStream& stream) {
  void* const from = handle_of(other);
  void* const to = handle_of(stream);
  gpu::Device& device = context_->device();
  // Before anything is enqueued.
  const std::unique_ptr<gpu::Queue> earlier = gpu::borrow(device, from);
  const std::unique_ptr<gpu::Queue> later = gpu::borrow(device, to);
  const std::unique_ptr<gpu::Mark> mark = earlier->mark();
  earlier->flush();
  later->wait_for(*mark);
}

void DeviceCipherImpl::for_each_reach(DeviceTexts texts, const auto& work) const {
  if (texts.empty()) return;
  if (!is_opencl()) {
    std::vector<std::uint32_t> all(texts.size());
    std::iota(all.begin(), all.end(), 0U);
    work(Reach(texts, std::move(all), true));
    return;
  }
  // Kernels get handles of buffers, and no addresses.
  std::map<std::array<std::uintptr_t, 3>, std::vector<std::uint32_t>> together;
  for (std::uint32_t i = 0; i < texts.size(); ++i) {
    const DeviceText& text = texts[i];
    together[{text.in.memory, text.out.memory, text.tag.memory}].push_back(i);
  }
  for (auto& [memory, numbers] : together) work(Reach(texts, std::move(numbers), false));
}

void DeviceCipherImpl::run(CallerQueue& queue, const char* entry, DeviceTexts texts) {
  for_each_reach(texts, [&](const Reach& reach) {
    std::vector<paraes_message> list;
    list.reserve(reach.size());
    for (std::size_t i = 0; i < reach.size(); ++i) list.push_back(reach.message(i));
    queue.launches().run(entry, reach.buffers(), list);
  });
}

void DeviceCipherImpl::cbc_decrypt(CallerQueue& queue, DeviceTexts texts) {
  for_each_reach(texts, [&](const Reach& reach) {
    std::vector<paraes_message> apart;
    std::vector<paraes_message> in_place;
    for (std::size_t i = 0; i < reach.size(); ++i) {
      (reach.is_in_place(i) ? in_place : apart).push_back(reach.message(i));
    }
    if (!apart.empty()) queue.launches().run("cbc_decrypt", reach.buffers(), apart);
    if (!in_place.empty()) queue.cbc_decrypt_in_place(*reach.buffers().out, in_place);
  });
}

void DeviceCipherImpl::xts(CallerQueue& queue, Direction direction, std::size_t unit_bytes,
                           DeviceTexts texts) {
  const auto launch = [&](const Reach& reach, paraes_message message, std::uint64_t unit) {
    queue.launches().xts(reach.buffers(), direction, message,
                         static_cast<std::uint32_t>(unit / block_bytes), nullptr);
  };
  for_each_reach(texts, [&](const Reach& reach) {
    for (std::size_t i = 0; i < reach.size(); ++i) {
      const paraes_message all = reach.message(i);
      const std::uint64_t unit = unit_bytes == 0 ? all.bytes : unit_bytes;
      const std::uint64_t last = unit_bytes == 0 ? 0 : all.bytes % unit_bytes;
      paraes_message units = all;
      units.bytes = all.bytes - last;
      if (units.bytes != 0) launch(reach, units, unit);
      if (last == 0) continue;
      std::array<std::uint8_t, 16> number = reach.text(i).iv;
      add_le128(number.data(), units.bytes / unit_bytes);
      paraes_message shorter =
          gpu::make_message(all.in + units.bytes, all.out + units.bytes, last, number.data());
      shorter.key = all.key;
      launch(reach, shorter, last);
    }
  });
}

void DeviceCipherImpl::gcm_encrypt(CallerQueue& queue, DeviceTexts texts) {
  for_each_reach(texts, [&](const Reach& reach) {
    gpu::GcmWork work = plan(Direction::encrypt, reach);
    queue.launches().gcm(reach.buffers(), Direction::encrypt, work);
  });
}

std::shared_ptr<const DeviceVerdict::Pending> DeviceCipherImpl::gcm_decrypt(CallerQueue& queue,
                                                                            DeviceTexts texts) {
  auto pending = std::make_shared<DeviceVerdict::Pending>(queues_.pinned(), texts.size());
  for_each_reach(texts, [&](const Reach& reach) {
    gpu::GcmWork work = plan(Direction::decrypt, reach);
    queue.launches().gcm(reach.buffers(), Direction::decrypt, work);
    pending->add(queue.download_verdicts(reach.size()), reach.numbers());
  });
  return pending;
}

gpu::GcmWork DeviceCipherImpl::plan(Direction direction, const Reach& reach) {
  gpu::GcmWork work;
  work.starts.reserve(reach.size());
  work.ends.reserve(reach.size());
  work.ranges.reserve(reach.size());
  for (std::size_t i = 0; i < reach.size(); ++i) {
    const DeviceText& text = reach.text(i);
    paraes_message start = reach.message(i);
    // J0 of a nonce of 12 bytes (section 7.1 step 2).
    std::array<std::uint8_t, 16> j0 = text.iv;
    store_be32(j0.data() + 12, 1);
    std::memcpy(start.iv, j0.data(), j0.size());
    start.flags = PARAES_HASH_PARTIAL | PARAES_HASH_TO_SCRATCH;
    if (direction == Direction::decrypt) start.flags |= PARAES_HASH_INPUT;
    paraes_gcm_end& end = work.ends.emplace_back();
    end.text = start.out;
    end.bytes = start.bytes;
    end.tag = reach.tag(i);
    end.first = static_cast<std::uint32_t>(work.ranges.size());
    end.key = start.key;
    end.opens = direction == Direction::decrypt ? 1 : 0;
    if (!text.aad.empty()) put_addend(text, end);
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
void DeviceCipherImpl::put_addend(const DeviceText& message, paraes_gcm_end& end) {
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
  secret.power_of_h = power(load_gf128(secret.h), (message.in.bytes + 15) / 16 + 1);
  secret.factor = make_factor(secret.power_of_h);
  secret.h_factor = make_factor(load_gf128(secret.h));
  secret.sum = multiply(load_gf128(secret.hash), secret.factor);
  secret.length = multiply({std::uint64_t{message.aad.size()} * 8, 0}, secret.h_factor);
  store_gf128(secret.addend,
              {secret.sum.high ^ secret.length.high, secret.sum.low ^ secret.length.low});
  std::memcpy(end.addend, secret.addend, sizeof secret.addend);
  secure_zero(&secret, sizeof secret);
}

}  // namespace paraes::detail
