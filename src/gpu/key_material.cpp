#include "src/gpu/key_material.hpp"

#include <atomic>
#include <cstring>

#include "paraes/secret.hpp"

namespace paraes::gpu {
namespace {

std::atomic<std::uint64_t> next_key_id = 1;

void copy_round_keys(paraes_u32 (&to)[60], const std::uint8_t (*from)[16], unsigned rounds) {
  std::memcpy(to, from, 16 * (rounds + std::size_t{1}));
}

}  // namespace

KeyMaterial::KeyMaterial(unsigned bytes, bool hash, bool device)
    : id(next_key_id++), rounds(rounds_for(bytes)), hashes(hash), on_device(device) {}

void KeyMaterial::add(const std::uint8_t* key, const KeySchedule& schedule) {
  std::memcpy(keys[count].data(), key, schedule.key_bytes);
  copy_round_keys(schedules[count].encrypt, schedule.encrypt, rounds);
  copy_round_keys(schedules[count].decrypt, schedule.decrypt, rounds);
  ++count;
}

KeyMaterial::~KeyMaterial() {
  secure_zero(schedules.data(), sizeof schedules);
  secure_zero(keys.data(), sizeof keys);
}

}  // namespace paraes::gpu
