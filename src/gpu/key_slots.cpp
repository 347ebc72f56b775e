#include "src/gpu/key_slots.hpp"

#include <algorithm>
#include <cstring>

#include "paraes/error.hpp"
#include "paraes/secret.hpp"
#include "src/gpu/context.hpp"

namespace paraes::gpu {
namespace {

// Bounds of most_keys(), which grows with the size of launches.
constexpr std::size_t least_many_keys = 64;
constexpr std::size_t most_many_keys = 1024;

constexpr std::size_t largest_key = 32;

}  // namespace

std::size_t KeySlots::most_keys(const ProgramVariant& variant, std::size_t launch_bytes) noexcept {
  // Keys get as much memory as XTS tweaks may take in the same stream.
  const std::size_t bytes =
      sizeof(paraes_schedule) + sliced_key_bytes(variant) + hash_key_bytes(variant);
  return std::clamp(2 * launch_bytes / bytes, least_many_keys, most_many_keys);
}

KeySlots::KeySlots(DeviceContext& context, Queue& queue, EntryLauncher& launcher, QueueTimer& timer)
    : context_(context), queue_(queue), launcher_(launcher), timer_(timer) {
  Device& device = context.device();
  for (unsigned k = 0; k < 2; ++k) {
    schedules_[k] = SecretMemory(device, queue, sizeof(paraes_schedule));
    if (context.variant().kernel->sliced_keys) {
      sliced_[k] = SecretMemory(device, queue, sliced_key_bytes(context.variant()));
    }
  }
  hash_keys_ = SecretMemory(device, queue, hash_key_bytes(context.variant()));
  staged_key_ = SecretMemory(device, queue, largest_key);
}

const Memory& KeySlots::round_keys(const SecretMemory& schedules,
                                   const SecretMemory& sliced) const {
  return (context_.variant().kernel->sliced_keys ? sliced : schedules).read();
}

KeyReference KeySlots::single_key(unsigned k) const {
  KeyReference key{.rounds = key_->rounds, .keys = &round_keys(schedules_[k], sliced_[k])};
  if (!context_.variant().keys_in_memory) {
    key.single = &(key_->on_device ? expanded_by_device_->schedules : key_->schedules)[k];
  }
  return key;
}

KeyReference KeySlots::data_key() const {
  if (!many_.used) return single_key(0);
  return {.many_keys = true,
          .rounds = many_.rounds,
          .keys = &round_keys(many_.schedules, many_.sliced)};
}

KeyReference KeySlots::data_schedule() const {
  KeyReference key = data_key();
  key.keys = &(many_.used ? many_.schedules : schedules_[0]).read();
  return key;
}

KeyReference KeySlots::hash_key() const {
  KeyReference key = data_key();
  key.keys = &(many_.used ? many_.hash_keys : hash_keys_).read();
  return key;
}

KeyReference KeySlots::tweak_key() const { return single_key(1); }

KeyReference KeySlots::tweak_schedule() const {
  KeyReference key = tweak_key();
  key.keys = &schedules_[1].read();
  return key;
}

EntryArguments KeySlots::arguments(std::uint32_t count) const {
  return {.in = &staged_key_.read(),
          .out = &staged_key_.read(),
          .messages = &staged_key_.read(),
          .count = count,
          .key = data_key(),
          .scratch = &staged_key_.read()};
}

void KeySlots::copy_in(const Memory& to, std::span<const std::uint8_t> staged) {
  launcher_.copy_in(to, 0, staged_.memory(), staged.data(), staged.size(), data_key());
}

void KeySlots::expand(bool on_device, std::uint32_t count, std::span<const std::uint8_t> staged,
                      SecretMemory& keys, SecretMemory& schedules, SecretMemory& sliced) {
  const ProgramVariant& variant = context_.variant();
  Grid grid{.groups = (count + variant.group_threads - 1) / variant.group_threads,
            .threads = variant.group_threads};
  EntryArguments expansion = arguments(count);
  expansion.out = &schedules.write(count * sizeof(paraes_schedule));
  if (on_device) {
    copy_in(keys.write(staged.size()), staged);
    expansion.in = &keys.read();
    launcher_.launch("expand_keys", expansion, grid);
  } else {
    copy_in(*expansion.out, staged);
  }
  if (variant.kernel->sliced_keys) {
    expansion.in = &schedules.read();
    expansion.out = &sliced.write(count * sliced_key_bytes(variant));
    grid.groups = count;  // a thread writes single words
    launcher_.launch("slice_keys", expansion, grid);
  }
}

void KeySlots::use(const KeyMaterial& key) {
  if (holds(key.id)) return;
  // The next key may be shorter, or need fewer slots.
  forget();
  if (key.on_device && !context_.variant().keys_in_memory && !expanded_by_device_) {
    expanded_by_device_ = std::make_unique<RoundKeys>();
  }
  // Begins the phase first, because that may throw. If anything fails later, the phase that has
  // begun makes Stream::settle() wipe the key.
  timer_.begin(&PhaseTimes::key_expansion);
  key_ = &key;
  id_ = key.id;  // from here on there may be keys to wipe
  const std::span<std::uint8_t> all =
      staged_.take(context_.device(), key.count * sizeof(paraes_schedule));
  for (unsigned k = 0; k < key.count; ++k) {
    const std::span<std::uint8_t> staged =
        all.subspan(k * sizeof(paraes_schedule), sizeof(paraes_schedule));
    const std::span<const std::uint8_t> from = key.to_copy(k);
    std::memcpy(staged.data(), from.data(), from.size());
    expand(key.on_device, 1, staged.first(from.size()), staged_key_, schedules_[k], sliced_[k]);
    if (key.on_device && !context_.variant().keys_in_memory) {
      queue_.download(staged.data(), schedules_[k].read(), 0, sizeof(paraes_schedule));
      queue_.finish();
      std::memcpy(&expanded_by_device_->schedules[k], staged.data(), sizeof(paraes_schedule));
    }
  }
  if (key.hashes) {
    prepare_hash(1, 1, hash_keys_.write());
  }
  timer_.end();
}

void KeySlots::forget() noexcept {
  id_ = 0;
  key_ = nullptr;
  staged_.wipe();  // a copy that is still pending copies zeros
  for (SecretMemory* memory :
       {&schedules_[0], &schedules_[1], &sliced_[0], &sliced_[1], &hash_keys_, &staged_key_}) {
    memory->wipe();
  }
  if (expanded_by_device_) {
    secure_zero(&expanded_by_device_->schedules, sizeof expanded_by_device_->schedules);
  }
}

void KeySlots::reserve(std::size_t count, const KeyMaterial& first) {
  Device& device = context_.device();
  const ProgramVariant& variant = context_.variant();
  // Keys that the device expands also lie there.
  const std::size_t each = first.hashes ? hash_key_bytes(variant) : largest_key;
  if (count > many_.capacity) {
    std::size_t capacity = least_many_keys;
    while (capacity < count) capacity *= 2;
    many_.capacity = 0;
    many_.schedules = SecretMemory(device, queue_, capacity * sizeof(paraes_schedule));
    if (variant.kernel->sliced_keys) {
      many_.sliced = SecretMemory(device, queue_, capacity * sliced_key_bytes(variant));
    }
    many_.capacity = capacity;
  }
  if (many_.hash_keys.bytes() < many_.capacity * each) {
    many_.hash_keys = SecretMemory(device, queue_, many_.capacity * each);
  }
}

void KeySlots::use_many(std::span<const KeyMaterial* const> keys) {
  const KeyMaterial& first = *keys[0];
  reserve(keys.size(), first);
  many_.used = true;
  many_.rounds = first.rounds;
  timer_.begin(&PhaseTimes::key_expansion);
  const std::size_t size = first.to_copy(0).size();
  const std::span<std::uint8_t> staged = staged_.take(context_.device(), keys.size() * size);
  for (std::size_t k = 0; k < keys.size(); ++k) {
    std::memcpy(staged.data() + k * size, keys[k]->to_copy(0).data(), size);
  }
  const auto count = static_cast<std::uint32_t>(keys.size());
  // The keys use the memory of the hash keys, which overwrite them.
  expand(first.on_device, count, staged, many_.hash_keys, many_.schedules, many_.sliced);
  if (first.hashes) {
    constexpr std::uint32_t groups_per_processor = 4;
    const std::uint32_t processors = std::max<std::uint32_t>(context_.info().processors, 1);
    prepare_hash(count, std::min(count, groups_per_processor * processors),
                 many_.hash_keys.write(keys.size() * hash_key_bytes(context_.variant())));
  }
  timer_.end();
}

void KeySlots::prepare_hash(std::uint32_t keys, std::uint32_t groups, const Memory& to) {
  const ProgramVariant& variant = context_.variant();
  EntryArguments preparation = arguments(keys);
  preparation.key = data_schedule();
  preparation.scratch = &to;
  launcher_.launch("ghash_prepare", preparation,
                   {.groups = groups,
                    .threads = variant.hash_threads,
                    .shared_bytes = hash_key_shared_bytes(variant)});
}

void KeySlots::forget_many() noexcept {
  if (!many_.used) return;
  for (SecretMemory* memory : {&many_.schedules, &many_.sliced, &many_.hash_keys}) memory->wipe();
  queue_.try_finish();
  staged_.wipe();
  many_.used = false;
}

}  // namespace paraes::gpu
