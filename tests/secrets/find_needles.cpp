// Finds needles of eight bytes at any address of a block of memory: a library for memory.py, which
// would take minutes for the same.

#include <cstdint>
#include <cstring>
#include <unordered_map>
#include <vector>

namespace {

// Most windows of a memory differ from all needles already in their lowest bits.
class Needles {
 public:
  Needles(const std::uint64_t* values, std::size_t count) : maybe_(std::size_t{1} << bits) {
    for (std::size_t i = 0; i < count; ++i) {
      index_.emplace(values[i], i);
      maybe_[slot(values[i])] = 1;
    }
  }

  // The index of the needle `value`, or -1.
  [[nodiscard]] std::int64_t find(std::uint64_t value) const {
    if (maybe_[slot(value)] == 0) return -1;
    const auto found = index_.find(value);
    return found == index_.end() ? -1 : static_cast<std::int64_t>(found->second);
  }

 private:
  static constexpr unsigned bits = 18;
  static std::size_t slot(std::uint64_t value) { return value & ((std::size_t{1} << bits) - 1); }

  std::vector<std::uint8_t> maybe_;
  std::unordered_map<std::uint64_t, std::size_t> index_;
};

}  // namespace

#define PARAES_EXPORT extern "C" __attribute__((visibility("default")))

PARAES_EXPORT void* make_needles(const std::uint64_t* values, std::size_t count) {
  return new Needles(values, count);
}

PARAES_EXPORT void free_needles(void* needles) { delete static_cast<Needles*>(needles); }

// Writes the offset and the needle's index of each hit, at most `room` of them; returns how many
// there are.
PARAES_EXPORT std::size_t find_needles(const void* needles, const std::uint8_t* memory,
                                       std::size_t bytes, std::uint64_t* offsets,
                                       std::int64_t* indices, std::size_t room) {
  std::size_t hits = 0;
  for (std::size_t at = 0; at + 8 <= bytes; ++at) {
    std::uint64_t window = 0;
    std::memcpy(&window, memory + at, sizeof window);
    if (window == 0) continue;
    const std::int64_t index = static_cast<const Needles*>(needles)->find(window);
    if (index < 0) continue;
    if (hits < room) {
      offsets[hits] = at;
      indices[hits] = index;
    }
    ++hits;
  }
  return hits;
}
