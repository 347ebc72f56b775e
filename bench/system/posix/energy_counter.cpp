#include "bench/system/energy_counter.hpp"

namespace paraes::bench {

int open_energy_counter(std::uint32_t /*type*/, std::uint64_t /*config*/, int /*cpu*/) noexcept {
  return -1;
}

}  // namespace paraes::bench
