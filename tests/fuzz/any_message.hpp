// Messages with a key, nonces and sizes of segments that the input chooses.
#pragma once

#include "paraes/error.hpp"
#include "tests/fuzz/input.hpp"
#include "tests/fuzz/oracle.hpp"

namespace paraes::fuzz {

// In one of the two ways in which formats arrange segments, but with segments of any size, and any
// number of them at most: the formats would need long texts for a few segments.
[[nodiscard]] inline Derived any_derived(Input& input) {
  constexpr std::size_t segment_sizes[] = {1,    15,    16,    17,     100,   1000,
                                           4080, 16384, 70000, 140000, 300000};
  Derived derived;
  derived.is_tink = input.ConsumeBool();
  derived.header = take(input, number(input, 0, 100));
  derived.key = take(input, one_of<std::size_t>(input, {16, 32}));
  const Buffer nonce = take(input, 12);
  std::copy(nonce.begin(), nonce.end(), derived.base_nonce.begin());
  derived.segment_bytes =
      input.ConsumeBool() ? one_of(input, segment_sizes) : number(input, 1, 5000);
  derived.first_bytes =
      derived.is_tink ? number(input, 1, derived.segment_bytes) : derived.segment_bytes;
  derived.max_segments = input.ConsumeBool() ? max_segments_of(derived) : number(input, 1, 40);
  return derived;
}

// A text of at most `most` bytes, and of at most 200 segments, often with no part of one.
[[nodiscard]] inline Buffer any_text(Input& input, const Derived& derived, std::size_t most) {
  std::size_t bytes = size_of_text(input, std::min(most, 200 * derived.segment_bytes));
  if (input.ConsumeBool() && bytes >= derived.first_bytes) {
    bytes -= (bytes - derived.first_bytes) % derived.segment_bytes;
  }
  return text(input, bytes);
}

// Whether a message with this layout can have so many bytes.
[[nodiscard]] inline bool is_size_of_message(const SegmentLayout& layout, std::uint64_t bytes) {
  return !throws<IntegrityError>([&] { static_cast<void>(layout.extent_of(bytes)); });
}

[[nodiscard]] inline Buffer joined(Bytes a, Bytes b) {
  Buffer all(a.begin(), a.end());
  all.insert(all.end(), b.begin(), b.end());
  return all;
}

}  // namespace paraes::fuzz
