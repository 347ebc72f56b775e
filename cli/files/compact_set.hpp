// Sets of small values, in a few bytes for each.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <utility>
#include <vector>

#include "paraes/io.hpp"

namespace paraes::cli {

// A hash table with open addressing, at most three quarters full: `none` marks its free places and
// cannot be in the set. Hash returns 64 bits, of which the upper ones must be good.
template <class Value, Value none, class Hash, class Equal = std::equal_to<Value>>
class CompactSet {
 public:
  explicit CompactSet(Hash hash = {}, Equal equal = {})
      : hash_(std::move(hash)), equal_(std::move(equal)) {}

  // Gets the memory that the next insert needs.
  void reserve_one() {
    if (4 * (size_ + 1) > 3 * places_.size()) grow();
  }

  // Returns false if an equal value is in the set.
  bool insert(Value value) {
    reserve_one();
    Value& place = places_[find(value)];
    if (place != none) return false;
    place = value;
    ++size_;
    return true;
  }

  [[nodiscard]] bool contains(Value value) const { return equal_to(value) != none; }

  // The value of the set that equals `value`, or `none`.
  [[nodiscard]] Value equal_to(Value value) const {
    return places_.empty() ? none : places_[find(value)];
  }

 private:
  // The place of a value that equals `value`, or the free one where it belongs.
  [[nodiscard]] std::size_t find(Value value) const {
    auto at = static_cast<std::size_t>(hash_(value) >> shift_);
    while (places_[at] != none && !equal_(places_[at], value)) at = (at + 1) % places_.size();
    return at;
  }

  void grow() {
    constexpr unsigned first_bits = 4;
    const std::size_t places = places_.empty() ? std::size_t{1} << first_bits : 2 * places_.size();
    std::vector<Value> old(places, none);
    old.swap(places_);
    shift_ = old.empty() ? 64 - first_bits : shift_ - 1;
    for (const Value value : old) {
      if (value != none) places_[find(value)] = value;
    }
  }

  Hash hash_;
  Equal equal_;
  std::vector<Value> places_;  // a power of two
  unsigned shift_ = 0;         // leaves as many bits of a hash as number the places
  std::size_t size_ = 0;
};

// Spreads the lower bits of a number over the upper ones (Fibonacci hashing).
struct SpreadBits {
  [[nodiscard]] std::uint64_t operator()(std::uint64_t value) const noexcept {
    return value * 0x9e3779b97f4a7c15U;
  }
};

// A set of files, known by device and inode: about 16 bytes each.
class FileIdSet {
 public:
  // Gets the memory that inserting this file needs.
  void reserve(const FileId& id) { devices_[id.device].reserve_one(); }

  // Returns false if the file is in the set.
  bool insert(const FileId& id) { return devices_[id.device].insert(number(id)); }

  [[nodiscard]] bool contains(const FileId& id) const {
    const auto device = devices_.find(id.device);
    return device != devices_.end() && device->second.contains(number(id));
  }

 private:
  // Zero marks free places. File systems do not use it.
  [[nodiscard]] static ino_t number(const FileId& id) noexcept {
    return id.inode == 0 ? ~ino_t{0} : id.inode;
  }

  std::map<dev_t, CompactSet<ino_t, 0, SpreadBits>> devices_;
};

}  // namespace paraes::cli
