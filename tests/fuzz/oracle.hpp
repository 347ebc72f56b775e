// Messages of the formats c2sp, paraes and tink as docs/formats.md describes them, made with
// OpenSSL and none of paraes' code, for any salt.
#pragma once

#include <array>

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
};

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

// The same as what paraes works on.
[[nodiscard]] Message::Parts parts_of(const Derived& derived);

}  // namespace paraes::fuzz
