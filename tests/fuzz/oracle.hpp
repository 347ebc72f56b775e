// Messages of the formats c2sp, paraes and tink as docs/formats.md describes them, made with
// OpenSSL and none of paraes' code, for any salt.
#pragma once

#include <array>
#include <optional>
#include <vector>

#include "paraes/messages.hpp"
#include "tests/support/buffers.hpp"

namespace paraes::fuzz {

// The derived key of a message and how its segments lie.
struct Derived {
  support::Buffer header;
  support::Buffer key;
  std::array<std::uint8_t, 12> base_nonce{};
  bool is_tink = false;
  std::size_t first_bytes = 0;    // plaintext of a full first segment
  std::size_t segment_bytes = 0;  // of another full segment
  std::uint64_t max_segments = 0;
};

// The most that the format allows.
[[nodiscard]] std::uint64_t max_segments_of(const Derived& derived);

// salt: 24 bytes. The header is salt ‖ commitment.
[[nodiscard]] Derived derive_c2sp(Bytes key, Bytes salt, Bytes context);

// header: length ‖ salt ‖ nonce prefix.
[[nodiscard]] Derived derive_tink(const TinkParameters& parameters, Bytes key, Bytes header,
                                  Bytes associated_data);

[[nodiscard]] std::array<std::uint8_t, 12> nonce_of(const Derived& derived, std::uint64_t index,
                                                    bool last);

// The plaintext in segments: how many bytes each has. There is one at least.
[[nodiscard]] std::vector<std::size_t> segments_of(const Derived& derived, std::size_t bytes);

// The segments, without the header.
[[nodiscard]] support::Buffer seal_by_evp(const Derived& derived, Bytes plain);

// The plaintext that OpenSSL finds in a message that may have been changed. It alone says what is
// intact: a changed message can be valid under the same key again, because libFuzzer finds the
// bytes of others in its inputs.
struct Opened {
  struct Segment {
    std::size_t offset = 0;        // in the plaintext
    std::size_t bytes = 0;         // of its plaintext
    bool opens = false;            // as its place in a message of this size says
    bool opens_otherwise = false;  // as the last one, or as one that others follow
  };
  std::vector<Segment> segments;  // those that fit the size, even if no message has it
  support::Buffer plain;          // zeros where a segment opens in neither way
  bool ends = false;              // the last one opens as the last one, and nothing follows it

  [[nodiscard]] bool intact() const { return ends && opens(0, plain.size()); }
  // Whether every segment with bytes in this range of the plaintext opens.
  [[nodiscard]] bool opens(std::size_t offset, std::size_t bytes) const;
};

// Takes the segments from number `first` on, without the header, up to the end of the message or,
// if not `to_end`, to some before it.
[[nodiscard]] Opened open_by_evp(const Derived& derived, Bytes segments, std::uint64_t first = 0,
                                 bool to_end = true);

// By EVP_EncodeBlock.
[[nodiscard]] support::Buffer base64(Bytes data);

// Returns the parts of a message as paraes uses them.
[[nodiscard]] Message::Parts parts_of(const Derived& derived);

}  // namespace paraes::fuzz
