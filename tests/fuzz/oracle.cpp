#include "tests/fuzz/oracle.hpp"

#include <openssl/evp.h>
#include <openssl/hmac.h>

#include <algorithm>
#include <stdexcept>
#include <string_view>

#include "tests/support/evp_oracle.hpp"

namespace paraes::fuzz {
namespace {

using support::Buffer;

void append(Buffer& to, const auto& bytes) { to.insert(to.end(), bytes.begin(), bytes.end()); }

Buffer hmac(const EVP_MD* hash, Bytes key, Bytes data) {
  Buffer mac(EVP_MAX_MD_SIZE);
  unsigned bytes = 0;
  if (HMAC(hash, key.data(), static_cast<int>(key.size()), data.data(), data.size(), mac.data(),
           &bytes) == nullptr) {
    throw std::runtime_error("oracle: HMAC failed");
  }
  mac.resize(bytes);
  return mac;
}

// HKDF-Expand (RFC 5869 section 2.3).
Buffer expand(const EVP_MD* hash, Bytes prk, Bytes info, std::size_t bytes) {
  Buffer all;
  Buffer block;
  for (std::uint8_t i = 1; all.size() < bytes; ++i) {
    append(block, info);
    block.push_back(i);
    block = hmac(hash, prk, block);
    append(all, block);
  }
  all.resize(bytes);
  return all;
}

}  // namespace

std::uint64_t max_segments_of(const Derived& derived) {
  return std::uint64_t{1} << (derived.is_tink ? 32 : 38);
}

Derived derive_c2sp(Bytes key, Bytes salt, Bytes context) {
  Buffer info;
  append(info, std::string_view("c2sp.org/chunked-encryption@v1+"));
  append(info, std::string_view(key.size() == 32 ? "AEAD_AES_256_GCM" : "AEAD_AES_128_GCM"));
  info.push_back(0);
  append(info, salt);
  append(info, context);
  const Buffer all = expand(EVP_sha512(), key, info, key.size() + 12 + 32);
  Derived derived;
  derived.header.assign(salt.begin(), salt.end());
  append(derived.header, Bytes(all).last(32));
  derived.key.assign(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(key.size()));
  std::copy_n(all.begin() + static_cast<std::ptrdiff_t>(key.size()), 12,
              derived.base_nonce.begin());
  derived.first_bytes = derived.segment_bytes = 16384;
  derived.max_segments = max_segments_of(derived);
  return derived;
}

Derived derive_tink(const TinkParameters& parameters, Bytes key, Bytes header,
                    Bytes associated_data) {
  const EVP_MD* hash = parameters.hash == TinkHash::sha1     ? EVP_sha1()
                       : parameters.hash == TinkHash::sha256 ? EVP_sha256()
                                                             : EVP_sha512();
  const std::size_t key_bytes = parameters.derived_key_bytes;
  Derived derived;
  derived.is_tink = true;
  derived.header.assign(header.begin(), header.end());
  derived.key =
      expand(hash, hmac(hash, header.subspan(1, key_bytes), key), associated_data, key_bytes);
  std::copy_n(header.begin() + 1 + static_cast<std::ptrdiff_t>(key_bytes), 7,
              derived.base_nonce.begin());
  derived.segment_bytes = static_cast<std::size_t>(parameters.segment_bytes) - 16;
  derived.first_bytes = derived.segment_bytes - (key_bytes + 8);
  derived.max_segments = max_segments_of(derived);
  return derived;
}

std::array<std::uint8_t, 12> nonce_of(const Derived& derived, std::uint64_t index, bool last) {
  std::array<std::uint8_t, 12> nonce = derived.base_nonce;
  if (derived.is_tink) {
    for (unsigned i = 0; i < 4; ++i)
      nonce[7 + i] = static_cast<std::uint8_t>(index >> (24 - 8 * i));
    nonce[11] = last ? 1 : 0;
  } else {
    for (unsigned i = 0; i < 8; ++i) {
      nonce[4 + i] ^= static_cast<std::uint8_t>(index >> (56 - 8 * i));
    }
  }
  return nonce;
}

std::vector<std::size_t> segments_of(const Derived& derived, std::size_t bytes) {
  std::vector<std::size_t> sizes;
  for (;;) {
    const std::size_t full = sizes.empty() ? derived.first_bytes : derived.segment_bytes;
    // In c2sp, the last segment is never full.
    if (derived.is_tink ? bytes <= full : bytes < full) break;
    sizes.push_back(full);
    bytes -= full;
  }
  sizes.push_back(bytes);
  return sizes;
}

Buffer seal_by_evp(const Derived& derived, Bytes plain) {
  const std::vector<std::size_t> sizes = segments_of(derived, plain.size());
  Buffer sealed;
  sealed.reserve(plain.size() + sizes.size() * segment_tag_bytes);
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    const support::Sealed segment = support::evp_gcm_encrypt(
        derived.key, nonce_of(derived, i, i + 1 == sizes.size()), {}, plain.first(sizes[i]));
    append(sealed, segment.text);
    append(sealed, segment.tag);
    plain = plain.subspan(sizes[i]);
  }
  return sealed;
}

bool Opened::opens(std::size_t offset, std::size_t bytes) const {
  return std::all_of(segments.begin(), segments.end(), [&](const Segment& segment) {
    const std::size_t from = std::max(offset, segment.offset);
    const std::size_t to = std::min(offset + bytes, segment.offset + segment.bytes);
    return segment.opens || from >= to;
  });
}

Opened open_by_evp(const Derived& derived, Bytes segments, std::uint64_t first, bool to_end) {
  Opened opened;
  Bytes rest = segments;
  const auto take = [&](std::size_t sealed_bytes, bool last) {
    const std::uint64_t index = first + opened.segments.size();
    const std::size_t bytes = sealed_bytes - segment_tag_bytes;
    const auto open_as = [&](bool is_last) {
      return support::evp_gcm_decrypt(derived.key, nonce_of(derived, index, is_last), {},
                                      rest.first(bytes), rest.subspan(bytes, segment_tag_bytes));
    };
    std::optional<Buffer> plain = open_as(last);
    opened.ends = plain.has_value();
    if (!plain) plain = open_as(!last);
    opened.segments.push_back({.offset = opened.plain.size(),
                               .bytes = bytes,
                               .opens = opened.ends,
                               .opens_otherwise = plain.has_value() && !opened.ends});
    append(opened.plain, plain.value_or(Buffer(bytes)));
    rest = rest.subspan(sealed_bytes);
  };
  const auto may_follow = [&] { return first + opened.segments.size() < derived.max_segments; };
  while (may_follow()) {
    const bool is_first = first + opened.segments.size() == 0;
    const std::size_t full =
        (is_first ? derived.first_bytes : derived.segment_bytes) + segment_tag_bytes;
    // In c2sp, the last segment is never full.
    const bool may_be_last = to_end && derived.is_tink;
    if (may_be_last ? rest.size() <= full : rest.size() < full) break;
    take(full, false);
  }
  if (to_end && rest.size() >= segment_tag_bytes && may_follow()) {
    take(rest.size(), true);
  } else if (to_end || !rest.empty()) {
    opened.ends = false;
  }
  return opened;
}

Buffer base64(Bytes data) {
  Buffer text(4 * ((data.size() + 2) / 3) + 1);  // with a zero at its end
  EVP_EncodeBlock(text.data(), data.data(), static_cast<int>(data.size()));
  text.pop_back();
  return text;
}

Message::Parts parts_of(const Derived& derived) {
  Message::Parts parts;
  parts.header = derived.header;
  parts.layout.header_bytes = derived.header.size();
  parts.layout.first_bytes = derived.first_bytes;
  parts.layout.segment_bytes = derived.segment_bytes;
  parts.layout.max_segments = derived.max_segments;
  parts.layout.last = derived.is_tink ? SegmentLayout::Last::any : SegmentLayout::Last::shorter;
  parts.secret.key = SecretBytes(Bytes(derived.key));
  parts.secret.base_nonce = derived.base_nonce;
  parts.secret.nonces =
      derived.is_tink ? SegmentCipher::Nonces::prefixed : SegmentCipher::Nonces::counted;
  parts.commits = !derived.is_tink;
  return parts;
}

}  // namespace paraes::fuzz
