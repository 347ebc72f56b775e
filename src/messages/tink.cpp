// Format tink: Tink's AES-GCM-HKDF streaming AEAD.

#include <algorithm>
#include <string>
#include <utility>

#include "paraes/error.hpp"
#include "paraes/kdf.hpp"
#include "paraes/messages.hpp"
#include "src/messages/headers.hpp"

namespace paraes {
namespace {

constexpr std::size_t prefix_bytes = 7;
constexpr std::uint64_t most_segment_bytes = (std::uint64_t{1} << 31) - 1;

// start: the header, which is length ‖ salt ‖ nonce prefix.
Message::Parts make_parts(const TinkParameters& parameters, std::vector<std::uint8_t> start,
                          Bytes key, Bytes associated_data) {
  if (key.size() < 16 || key.size() < parameters.derived_key_bytes) {
    throw InvalidArgument(
        "a Tink streaming key has at least 16 bytes and at least as many as the "
        "derived key (" +
        std::to_string(parameters.derived_key_bytes) + "), not " + std::to_string(key.size()));
  }
  if (associated_data.size() > max_context_bytes) {
    throw InvalidArgument("associated data of a file has at most " +
                          std::to_string(max_context_bytes) + " bytes, not " +
                          std::to_string(associated_data.size()));
  }
  const SegmentLayout layout = tink_layout(parameters);
  const std::size_t salt_bytes = parameters.derived_key_bytes;
  const HkdfHash hash = parameters.hash == TinkHash::sha1     ? HkdfHash::sha1
                        : parameters.hash == TinkHash::sha256 ? HkdfHash::sha256
                                                              : HkdfHash::sha512;
  SecretBytes derived(parameters.derived_key_bytes);
  hkdf(hash, key, Bytes(start).subspan(1, salt_bytes), associated_data, derived.span());
  SegmentKey secret;
  secret.key = std::move(derived);
  std::copy_n(start.end() - prefix_bytes, prefix_bytes, secret.base_nonce.begin());
  secret.nonces = SegmentCipher::Nonces::prefixed;
  return {
      .header = std::move(start), .layout = layout, .secret = std::move(secret), .commits = false};
}

}  // namespace

SegmentLayout tink_layout(const TinkParameters& parameters) {
  const std::size_t d = parameters.derived_key_bytes;
  if (d != 16 && d != 32) {
    throw InvalidArgument("a Tink derived key has 16 or 32 bytes, not " + std::to_string(d));
  }
  // The header and a tag must leave room for a byte of plaintext in segment 0.
  const std::uint64_t least = d + 8 + segment_tag_bytes + 1;
  if (parameters.segment_bytes < least || parameters.segment_bytes > most_segment_bytes) {
    throw InvalidArgument("a Tink segment has " + std::to_string(least) +
                          " to 2^31 - 1 bytes, not " + std::to_string(parameters.segment_bytes));
  }
  SegmentLayout layout;
  layout.header_bytes = parameters.header_bytes();
  layout.first_bytes = parameters.segment_bytes - layout.header_bytes - segment_tag_bytes;
  layout.segment_bytes = parameters.segment_bytes - segment_tag_bytes;
  layout.max_segments = std::uint64_t{1} << 32;
  layout.last = SegmentLayout::Last::any;
  return layout;
}

Message::Parts new_tink_message(const TinkParameters& parameters, Bytes key,
                                Bytes associated_data) {
  static_cast<void>(tink_layout(parameters));
  std::vector<std::uint8_t> start(parameters.header_bytes());
  random_bytes(start);
  start[0] = static_cast<std::uint8_t>(start.size());
  return make_parts(parameters, std::move(start), key, associated_data);
}

Message::Parts open_tink_message(const TinkParameters& parameters, Bytes header, Bytes key,
                                 Bytes associated_data) {
  static_cast<void>(tink_layout(parameters));
  check_header_size(header.size(), parameters.header_bytes());
  if (header[0] != parameters.header_bytes()) {
    throw IntegrityError("the header says that it has " + std::to_string(header[0]) +
                         " bytes, but with this key size it has " +
                         std::to_string(parameters.header_bytes()) +
                         ": wrong key size, wrong format, or a damaged header");
  }
  return make_parts(parameters, {header.begin(), header.end()}, key, associated_data);
}

}  // namespace paraes
