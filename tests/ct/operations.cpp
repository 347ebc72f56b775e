#include "tests/ct/operations.hpp"

#include <algorithm>
#include <optional>
#include <string_view>

#include "src/core/counter.hpp"
#include "src/modes/ctr.hpp"
#include "src/modes/gcm.hpp"
#include "src/modes/xts.hpp"

namespace paraes::ct {
namespace {

constexpr Direction encrypt = Direction::encrypt;
constexpr Direction decrypt = Direction::decrypt;

alignas(64) std::uint8_t out[max_text_bytes];
alignas(64) std::uint8_t sealed[max_text_bytes];
std::optional<CipherKey> cipher_key;
std::optional<XtsKey> xts_key;
std::optional<GcmKey> gcm_key;
KeySchedule schedule;
GhashKey hash_key;
alignas(64) std::uint8_t chain[16];
alignas(64) std::uint8_t tag[16];
alignas(64) std::uint8_t computed[16];

// The last byte wraps within the longer texts.
constexpr std::uint8_t public_counter[16] = {0xf0, 0xf1, 0xf2, 0xf3, 0xf4, 0xf5, 0xf6, 0xf7,
                                             0xf8, 0xf9, 0xfa, 0xfb, 0xfc, 0xfd, 0xfe, 0xe3};
constexpr std::uint8_t nonce[60] = {1, 2, 3, 5, 8, 13, 21, 34, 55, 89};
constexpr std::uint8_t aad[21] = {7, 77};
constexpr std::size_t unit_bytes = 48;

// ---- Keys

void use_cipher_key(const Work& work) {
  cipher_key.emplace(work.kernel, work.secrets.key, work.key_bytes);
}

void use_xts_key(const Work& work) {
  xts_key.emplace(work.kernel, work.secrets.key, work.key_bytes);
}

void use_gcm_key(const Work& work) {
  gcm_key.emplace(work.kernel, work.secrets.key, work.key_bytes);
}

void expand(const Work& work) { work.kernel.expand(schedule, work.secrets.key, work.key_bytes); }

// The hash key and its powers, with the key schedule before them: use_gcm_key. Every run begins
// without one.
void forget_gcm_key(const Work&) { gcm_key.reset(); }

// ---- ECB, CBC, CTR

using EcbOperation = decltype(Kernel::ecb_encrypt) Kernel::*;
using ChainOperation = decltype(Kernel::cbc_decrypt) Kernel::*;

template <EcbOperation Member>
void ecb(const Work& work) {
  (work.kernel.*Member)(cipher_key->schedule, work.secrets.text, out, work.text_bytes / 16);
}

void begin_chain(const Work&) { std::copy_n(public_counter, 16, chain); }

template <ChainOperation Member>
void cbc(const Work& work) {
  (work.kernel.*Member)(cipher_key->schedule, chain, work.secrets.text, out, work.text_bytes / 16);
}

template <bool NonTemporal>
void ctr(const Work& work) {
  ctr_range(*cipher_key, public_counter, 0, work.secrets.text, out, work.text_bytes, NonTemporal);
}

// ---- XTS

// One data unit of the whole text, or several.
template <Direction Way, bool Several, bool NonTemporal>
void xts(const Work& work) {
  xts_range(*xts_key, Way, public_counter, 0, Several ? unit_bytes : 0, work.secrets.text, out,
            work.text_bytes, NonTemporal);
}

// ---- GCM

// The hash key alone, which is the first block of the key.
void use_hash_key(const Work& work) { work.kernel.ghash_init(hash_key, work.secrets.key); }

void use_key_for_hash(const Work& work) {
  use_gcm_key(work);
  work.kernel.ghash_init(gcm_key->hash, work.secrets.key);
}

void ghash(const Work& work) {
  work.kernel.ghash(gcm_key->hash, chain, work.secrets.text, work.text_bytes / 16);
}

GcmMessage message(const Work& work, std::size_t nonce_bytes, const std::uint8_t* in,
                   std::uint8_t* to) {
  return {nonce, nonce_bytes, aad, sizeof aad, in, to, work.text_bytes, tag, tag, 16};
}

// Composed of ranges, as long messages are, and all messages of kernels without operations for
// whole ones.
void crypt_ranges(Direction way, const GcmMessage& whole, bool nontemporal,
                  std::uint8_t result[16]) {
  gcm_message(*gcm_key, whole, result, [&](const GcmCounter& j0, std::uint8_t* state) {
    GcmCounter counter = j0;
    add_be32(counter.block, 1);
    gcm_range(*gcm_key, way, counter, state, whole.in, whole.out, whole.bytes, nontemporal);
  });
}

void seal(const Kernel& kernel, const GcmMessage& whole) {
  if (kernel.gcm_seal != nullptr) {
    kernel.gcm_seal(gcm_key->cipher.schedule, gcm_key->hash, whole);
  } else {
    crypt_ranges(encrypt, whole, false, whole.tag);
  }
}

template <std::size_t NonceBytes>
void gcm_seal(const Work& work) {
  seal(work.kernel, message(work, NonceBytes, work.secrets.text, out));
}

template <std::size_t NonceBytes>
void seal_before(const Work& work) {
  seal(work.kernel, message(work, NonceBytes, work.secrets.text, sealed));
}

// Forged tags are checked in full, and their first 13 bytes alone.
template <std::size_t NonceBytes, std::size_t TagBytes = 16>
void gcm_open(const Work& work) {
  GcmMessage whole = message(work, NonceBytes, sealed, out);
  whole.tag_bytes = TagBytes;
  if (work.kernel.gcm_open != nullptr) {
    static_cast<void>(work.kernel.gcm_open(gcm_key->cipher.schedule, gcm_key->hash, whole));
  } else {
    crypt_ranges(decrypt, whole, false, computed);
    static_cast<void>(verify_and_wipe_tag(computed, whole));
  }
}

ShortGcmKey short_keys[8];

// Four side by side, and one alone.
void expand_short_keys(const Work& work) {
  const std::uint8_t* bytes[5];
  for (std::size_t k = 0; k < 5; ++k) bytes[k] = work.secrets.key + (k % 2 == 0 ? 0 : 32);
  work.kernel.gcm_expand(short_keys, bytes, work.key_bytes, 5, ShortGcmKey::max_powers);
}

void gcm_seal_short(const Work& work) {
  work.kernel.gcm_seal_short(short_keys[0], message(work, 12, work.secrets.text, out));
}

void seal_short_before(const Work& work) {
  expand_short_keys(work);
  work.kernel.gcm_seal_short(short_keys[0], message(work, 12, work.secrets.text, sealed));
  tag[work.secrets.forged_byte % 16] ^= work.secrets.forged_bits | 1U;
}

void gcm_open_short(const Work& work) {
  static_cast<void>(work.kernel.gcm_open_short(short_keys[0], message(work, 12, sealed, out)));
}

template <std::size_t TagBytes>
void forge(const Work& work) {
  seal_before<12>(work);
  tag[work.secrets.forged_byte % TagBytes] ^= work.secrets.forged_bits | 1U;
}

template <Direction Way, std::size_t NonceBytes, bool NonTemporal>
void gcm_ranges(const Work& work) {
  crypt_ranges(Way, message(work, NonceBytes, work.secrets.text, out), NonTemporal, computed);
}

// The comparison alone, of a right tag or a forged one.
template <std::size_t TagBytes>
void make_tags(const Work& work) {
  std::copy_n(work.secrets.text, 16, tag);
  std::copy_n(tag, 16, computed);
  computed[work.secrets.forged_byte % TagBytes] ^= work.secrets.forged_bits;
}

template <std::size_t TagBytes>
void compare_tags(const Work&) {
  GcmMessage whole = {nonce, 12, aad, sizeof aad, nullptr, nullptr, 0, tag, tag, TagBytes};
  static_cast<void>(verify_and_wipe_tag(computed, whole));
}

// Several messages at once: runs of four under each of two keys, every third of half the size.
GcmJob jobs[max_messages];
std::uint8_t tags[max_messages][16];
// Each is at `stride` bytes after the one before; all have one input if that is 0.
void set_jobs(const Work& work, const std::uint8_t* in, std::size_t stride, std::uint8_t* to) {
  for (std::size_t i = 0; i < work.messages; ++i) {
    GcmJob& job = jobs[i];
    job.key = &short_keys[i / 4 % 2];
    job.nonce = {i + 1, 0};
    job.message = {reinterpret_cast<const std::uint8_t*>(job.nonce.data()),
                   12,
                   nullptr,
                   0,
                   in + i * stride,
                   to + i * 4096,
                   i % 3 == 2 ? work.text_bytes / 2 : work.text_bytes,
                   tags[i],
                   tags[i],
                   16};
  }
}

void prepare_seal_many(const Work& work) { set_jobs(work, work.secrets.text, 0, out); }

void gcm_seal_many(const Work& work) { work.kernel.gcm_seal_many(jobs, work.messages); }

void prepare_open_many(const Work& work) {
  set_jobs(work, work.secrets.text, 0, sealed);
  gcm_seal_many(work);
  tags[2][work.secrets.forged_byte % 16] ^= work.secrets.forged_bits | 1U;
  set_jobs(work, sealed, 4096, out);
}

void gcm_open_many(const Work& work) { work.kernel.gcm_open_many(jobs, work.messages); }

// Joins the hashes of ranges, of which two have the same size.
PartialHash ranges[3];

void prepare_ranges(const Work& work) {
  const std::uint64_t blocks[3] = {1024, 1024, 77};
  for (std::size_t i = 0; i < 3; ++i) {
    std::copy_n(work.secrets.text + 16 * i, 16, ranges[i].hash);
    ranges[i].blocks = blocks[i];
  }
  std::copy_n(work.secrets.text + 48, 16, chain);
}

void join(const Work&) { join_hashes(*gcm_key, ranges, chain); }

// ---- The table

template <auto Member>
bool has(const Kernel& kernel) {
  return kernel.*Member != nullptr;
}

constexpr Operation all[] = {
    {"expand", always, nothing, nothing, expand},
    {"ghash-key", always, nothing, nothing, use_hash_key},
    {"gcm-expand", always, nothing, forget_gcm_key, use_gcm_key},
    {"ecb-encrypt", always, use_cipher_key, nothing, ecb<&Kernel::ecb_encrypt>},
    {"ecb-decrypt", always, use_cipher_key, nothing, ecb<&Kernel::ecb_decrypt>},
    {"cbc-encrypt", always, use_cipher_key, begin_chain, cbc<&Kernel::cbc_encrypt>},
    {"cbc-decrypt", always, use_cipher_key, begin_chain, cbc<&Kernel::cbc_decrypt>},
    {"ctr", always, use_cipher_key, nothing, ctr<false>},
    {"xts-encrypt", always, use_xts_key, nothing, xts<encrypt, false, false>},
    {"xts-decrypt", always, use_xts_key, nothing, xts<decrypt, false, false>},
    {"xts-units-encrypt", always, use_xts_key, nothing, xts<encrypt, true, false>},
    {"xts-units-decrypt", always, use_xts_key, nothing, xts<decrypt, true, false>},
    {"ghash", always, use_key_for_hash, begin_chain, ghash},
    {"gcm-seal", always, use_gcm_key, nothing, gcm_seal<12>},
    {"gcm-open", always, use_gcm_key, seal_before<12>, gcm_open<12>},
    {"gcm-seal-nonce-8", always, use_gcm_key, nothing, gcm_seal<8>},
    {"gcm-open-nonce-8", always, use_gcm_key, seal_before<8>, gcm_open<8>},
    {"gcm-seal-nonce-60", always, use_gcm_key, nothing, gcm_seal<60>},
    {"gcm-open-nonce-60", always, use_gcm_key, seal_before<60>, gcm_open<60>},
    {"gcm-open-forged", always, use_gcm_key, forge<16>, gcm_open<12>},
    {"gcm-open-forged-tag-13", always, use_gcm_key, forge<13>, gcm_open<12, 13>},
    {"gcm-ranges-encrypt", has<&Kernel::gcm_seal>, use_gcm_key, nothing,
     gcm_ranges<encrypt, 12, false>},
    {"gcm-ranges-decrypt", has<&Kernel::gcm_seal>, use_gcm_key, nothing,
     gcm_ranges<decrypt, 12, false>},
    {"gcm-ranges-encrypt-nonce-60", has<&Kernel::gcm_seal>, use_gcm_key, nothing,
     gcm_ranges<encrypt, 60, false>},
    {"gcm-ranges-decrypt-nonce-60", has<&Kernel::gcm_seal>, use_gcm_key, nothing,
     gcm_ranges<decrypt, 60, false>},
    {"gcm-expand-short", has<&Kernel::gcm_expand>, nothing, nothing, expand_short_keys},
    {"gcm-seal-short", has<&Kernel::gcm_expand>, expand_short_keys, nothing, gcm_seal_short},
    {"gcm-open-short", has<&Kernel::gcm_expand>, expand_short_keys, seal_short_before,
     gcm_open_short},
    {"gcm-seal-many", has<&Kernel::gcm_seal_many>, expand_short_keys, prepare_seal_many,
     gcm_seal_many},
    {"gcm-open-many", has<&Kernel::gcm_open_many>, expand_short_keys, prepare_open_many,
     gcm_open_many},
    {"gcm-join", always, use_gcm_key, prepare_ranges, join},
    {"tag-compare", always, nothing, make_tags<16>, compare_tags<16>},
    {"tag-compare-4", always, nothing, make_tags<4>, compare_tags<4>},
    {"ecb-encrypt-nontemporal", has<&Kernel::ecb_encrypt_nontemporal>, use_cipher_key, nothing,
     ecb<&Kernel::ecb_encrypt_nontemporal>},
    {"ecb-decrypt-nontemporal", has<&Kernel::ecb_decrypt_nontemporal>, use_cipher_key, nothing,
     ecb<&Kernel::ecb_decrypt_nontemporal>},
    {"cbc-decrypt-nontemporal", has<&Kernel::cbc_decrypt_nontemporal>, use_cipher_key, begin_chain,
     cbc<&Kernel::cbc_decrypt_nontemporal>},
    {"ctr-nontemporal", has<&Kernel::ctr_nontemporal>, use_cipher_key, nothing, ctr<true>},
    {"xts-encrypt-nontemporal", has<&Kernel::xts_encrypt_nontemporal>, use_xts_key, nothing,
     xts<encrypt, false, true>},
    {"xts-decrypt-nontemporal", has<&Kernel::xts_decrypt_nontemporal>, use_xts_key, nothing,
     xts<decrypt, false, true>},
    {"gcm-encrypt-nontemporal", has<&Kernel::gcm_encrypt_nontemporal>, use_gcm_key, nothing,
     gcm_ranges<encrypt, 12, true>},
    {"gcm-decrypt-nontemporal", has<&Kernel::gcm_decrypt_nontemporal>, use_gcm_key, nothing,
     gcm_ranges<decrypt, 12, true>},
};

}  // namespace

std::span<const Operation> operations() { return all; }

std::span<const std::uint8_t> output_of(const Operation& operation, const Work& work) {
  const std::string_view name = operation.name;
  if (name == "ghash" || name == "gcm-join") return chain;
  if (name.ends_with("expand") || name == "ghash-key" || name.starts_with("tag-")) return {};
  return {out, work.text_bytes};
}

}  // namespace paraes::ct
