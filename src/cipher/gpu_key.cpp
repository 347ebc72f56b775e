#include "src/cipher/gpu_key.hpp"

#include <functional>

#include "src/core/key_schedule.hpp"
#include "src/kernels/registry.hpp"

namespace paraes::detail {

std::unique_ptr<gpu::KeyMaterial> make_key_material(std::initializer_list<const CipherKey*> keys,
                                                    bool hashes, KeyExpansion expansion) {
  const unsigned key_bytes = (*keys.begin())->schedule.key_bytes;
  auto material =
      std::make_unique<gpu::KeyMaterial>(key_bytes, hashes, expansion == KeyExpansion::device);
  for (const CipherKey* key : keys) {
    // CPU kernels store decryption round keys in different forms, so expand the standard ones.
    KeySchedule schedule;
    std::memcpy(schedule.encrypt, key->schedule.encrypt, sizeof schedule.encrypt);
    schedule.key_bytes = key->schedule.key_bytes;
    schedule.rounds = key->schedule.rounds;
    expand_decryption_keys(schedule);
    // The key schedule begins with the key itself (FIPS 197 section 5.2).
    material->add(schedule.encrypt[0], schedule);
  }
  return material;
}

std::unique_ptr<gpu::KeyMaterial> make_key_material(Bytes keys, unsigned count, bool hashes,
                                                    KeyExpansion expansion) {
  const std::size_t key_bytes = keys.size() / count;
  const auto expand = [&](unsigned k) {
    return std::make_unique<CipherKey>(find_kernel("auto"), keys.data() + k * key_bytes,
                                       static_cast<unsigned>(key_bytes));
  };
  const std::unique_ptr<const CipherKey> first = expand(0);
  if (count == 1) return make_key_material({first.get()}, hashes, expansion);
  return make_key_material({first.get(), expand(1).get()}, hashes, expansion);
}

DirectCopies GpuKey::direct_copies(Bytes in, Bytes out) const {
  const auto& contexts = pool_->contexts();
  if (contexts[0]->streams()[0]->transfer() != Transfer::staged) return {};
  const auto is_locked = [&](Bytes text) {
    return std::all_of(contexts.begin(), contexts.end(), [&](const auto& context) {
      return context->device().is_page_locked(text.data(), text.size());
    });
  };
  const std::less<> before;
  const bool overlap =
      before(in.data(), out.data() + out.size()) && before(out.data(), in.data() + in.size());
  DirectCopies direct{.in = is_locked(in)};
  // A launch that fails must not have overwritten what the CPU then reads.
  direct.out = !(overlap && falls_back_) && is_locked(out);
  return direct;
}

void GpuKey::add_times(const PhaseTimes& times) const {
  const std::lock_guard lock(mutex_);
  times_ += times;
}

}  // namespace paraes::detail
