#include "tests/ct/steps/operations.hpp"

#include <algorithm>
#include <optional>

#include "src/core/counter.hpp"
#include "src/modes/ctr.hpp"
#include "src/modes/gcm.hpp"
#include "src/modes/xts.hpp"
#include "tests/ct/steps/mark.hpp"

namespace paraes::steps {
namespace {

constexpr Direction encrypt = Direction::encrypt;
constexpr Direction decrypt = Direction::decrypt;

// Everything that the operations read and write is at the same address in all runs.
alignas(64) std::uint8_t out[max_text_bytes];
alignas(64) std::uint8_t sealed[max_text_bytes];
std::optional<CipherKey> cipher_key;
std::optional<XtsKey> xts_key;
std::optional<GcmKey> gcm_key;
alignas(64) std::uint8_t tag[16];

// The last byte wraps within the longer texts.
constexpr std::uint8_t public_counter[16] = {0xf0, 0xf1, 0xf2, 0xf3, 0xf4, 0xf5, 0xf6, 0xf7,
                                             0xf8, 0xf9, 0xfa, 0xfb, 0xfc, 0xfd, 0xfe, 0xe3};
constexpr std::uint8_t nonce[60] = {1, 2, 3, 5, 8, 13, 21, 34, 55, 89};
constexpr std::uint8_t aad[21] = {7, 77};
constexpr std::size_t unit_bytes = 48;

bool always(const Kernel&) { return true; }

// Marks both ends of `body`.
template <class Body>
void traced(const Body& body) {
  mark();
  body();
  mark();
}

// ---- Keys

void expand(const Kernel& row, const Shape& shape, const Secrets& secrets) {
  static KeySchedule schedule;
  traced([&] { row.expand(schedule, secrets.key, shape.key_bytes); });
}

// The hash key and its powers, with the key schedule before them.
void expand_gcm(const Kernel& row, const Shape& shape, const Secrets& secrets) {
  gcm_key.reset();  // every run begins without one
  traced([&] { gcm_key.emplace(row, secrets.key, shape.key_bytes); });
}

// ---- ECB, CBC, CTR

using EcbOperation = decltype(Kernel::ecb_encrypt) Kernel::*;
using ChainOperation = decltype(Kernel::cbc_decrypt) Kernel::*;

template <EcbOperation Member>
void ecb(const Kernel& row, const Shape& shape, const Secrets& secrets) {
  cipher_key.emplace(row, secrets.key, shape.key_bytes);
  traced([&] { (row.*Member)(cipher_key->schedule, secrets.text, out, shape.text_bytes / 16); });
}

template <ChainOperation Member>
void cbc(const Kernel& row, const Shape& shape, const Secrets& secrets) {
  cipher_key.emplace(row, secrets.key, shape.key_bytes);
  std::uint8_t chain[16];
  std::copy_n(public_counter, 16, chain);
  traced([&] {
    (row.*Member)(cipher_key->schedule, chain, secrets.text, out, shape.text_bytes / 16);
  });
}

template <bool NonTemporal>
void ctr(const Kernel& row, const Shape& shape, const Secrets& secrets) {
  cipher_key.emplace(row, secrets.key, shape.key_bytes);
  traced([&] {
    ctr_range(*cipher_key, public_counter, 0, secrets.text, out, shape.text_bytes, NonTemporal);
  });
}

// ---- XTS

// One data unit of the whole text, or several.
template <Direction Way, bool Several, bool NonTemporal>
void xts(const Kernel& row, const Shape& shape, const Secrets& secrets) {
  xts_key.emplace(row, secrets.key, shape.key_bytes);
  traced([&] {
    xts_range(*xts_key, Way, public_counter, 0, Several ? unit_bytes : 0, secrets.text, out,
              shape.text_bytes, NonTemporal);
  });
}

// ---- GCM

GcmMessage message(const Shape& shape, std::size_t nonce_bytes, const std::uint8_t* in,
                   std::uint8_t* to) {
  return {nonce, nonce_bytes, aad, sizeof aad, in, to, shape.text_bytes, tag, tag, 16};
}

// Composed of ranges, as long messages are, and all messages of kernels without operations for
// whole ones.
void crypt_ranges(Direction way, const GcmMessage& whole, bool nontemporal,
                  std::uint8_t computed[16]) {
  gcm_message(*gcm_key, whole, computed, [&](const GcmCounter& j0, std::uint8_t* state) {
    GcmCounter counter = j0;
    add_be32(counter.block, 1);
    gcm_range(*gcm_key, way, counter, state, whole.in, whole.out, whole.bytes, nontemporal);
  });
}

void seal(const Kernel& row, const GcmMessage& whole) {
  if (row.gcm_seal != nullptr) {
    row.gcm_seal(gcm_key->cipher.schedule, gcm_key->hash, whole);
  } else {
    crypt_ranges(encrypt, whole, false, whole.tag);
  }
}

void open(const Kernel& row, const GcmMessage& whole) {
  if (row.gcm_open != nullptr) {
    static_cast<void>(row.gcm_open(gcm_key->cipher.schedule, gcm_key->hash, whole));
  } else {
    std::uint8_t computed[16];
    crypt_ranges(decrypt, whole, false, computed);
    static_cast<void>(verify_and_wipe_tag(computed, whole));
  }
}

template <std::size_t NonceBytes>
void gcm_seal(const Kernel& row, const Shape& shape, const Secrets& secrets) {
  gcm_key.emplace(row, secrets.key, shape.key_bytes);
  const GcmMessage whole = message(shape, NonceBytes, secrets.text, out);
  traced([&] { seal(row, whole); });
}

template <std::size_t NonceBytes>
void gcm_open(const Kernel& row, const Shape& shape, const Secrets& secrets) {
  gcm_key.emplace(row, secrets.key, shape.key_bytes);
  seal(row, message(shape, NonceBytes, secrets.text, sealed));
  const GcmMessage whole = message(shape, NonceBytes, sealed, out);
  traced([&] { open(row, whole); });
}

template <Direction Way, std::size_t NonceBytes, bool NonTemporal>
void gcm_ranges(const Kernel& row, const Shape& shape, const Secrets& secrets) {
  gcm_key.emplace(row, secrets.key, shape.key_bytes);
  const GcmMessage whole = message(shape, NonceBytes, secrets.text, out);
  std::uint8_t computed[16];
  traced([&] { crypt_ranges(Way, whole, NonTemporal, computed); });
}

// The tag is wrong in one byte, which depends on the secrets. It is checked in full, and its first
// 13 bytes alone.
template <std::size_t TagBytes>
void gcm_open_forged(const Kernel& row, const Shape& shape, const Secrets& secrets) {
  gcm_key.emplace(row, secrets.key, shape.key_bytes);
  seal(row, message(shape, 12, secrets.text, sealed));
  tag[secrets.key[0] % TagBytes] ^= secrets.key[1] | 1U;
  GcmMessage whole = message(shape, 12, sealed, out);
  whole.tag_bytes = TagBytes;
  traced([&] { open(row, whole); });
}

// The comparison alone, of a right tag if the first bit of the key says so, else a wrong one.
template <std::size_t TagBytes>
void compare_tags(const Kernel&, const Shape&, const Secrets& secrets) {
  std::copy_n(secrets.text, 16, tag);
  std::uint8_t computed[16];
  std::copy_n(tag, 16, computed);
  if (secrets.key[0] < 0x80) computed[secrets.key[1] % TagBytes] ^= secrets.key[2] | 1U;
  GcmMessage whole = message({16, 0}, 12, nullptr, nullptr);
  whole.tag_bytes = TagBytes;
  traced([&] { static_cast<void>(verify_and_wipe_tag(computed, whole)); });
}

// Several messages at once: more than are interleaved, and some that are left.
constexpr std::size_t most_jobs = 7;
GcmJob jobs[most_jobs];
std::uint8_t tags[most_jobs][16];

void set_jobs(const Shape& shape, const std::uint8_t* in, std::uint8_t* to) {
  const std::size_t stride = max_text_bytes / most_jobs;
  for (std::size_t i = 0; i < most_jobs; ++i) {
    GcmJob& job = jobs[i];
    job.schedule = &gcm_key->cipher.schedule;
    job.hash = &gcm_key->hash;
    job.nonce = {i, 0};
    job.message = {reinterpret_cast<const std::uint8_t*>(job.nonce.data()),
                   12,
                   nullptr,
                   0,
                   in + i * stride,
                   to + i * stride,
                   std::min(shape.text_bytes, stride),
                   tags[i],
                   tags[i],
                   16};
  }
}

void gcm_seal_many(const Kernel& row, const Shape& shape, const Secrets& secrets) {
  gcm_key.emplace(row, secrets.key, shape.key_bytes);
  set_jobs(shape, secrets.text, out);
  traced([&] { row.gcm_seal_many(jobs, most_jobs); });
}

void gcm_open_many(const Kernel& row, const Shape& shape, const Secrets& secrets) {
  gcm_key.emplace(row, secrets.key, shape.key_bytes);
  set_jobs(shape, secrets.text, sealed);
  row.gcm_seal_many(jobs, most_jobs);
  tags[2][secrets.key[0] % 16] ^= secrets.key[1] | 1U;
  set_jobs(shape, sealed, out);
  traced([&] { row.gcm_open_many(jobs, most_jobs); });
}

// Joins the hashes of ranges, of which two have the same size.
void join(const Kernel& row, const Shape& shape, const Secrets& secrets) {
  gcm_key.emplace(row, secrets.key, shape.key_bytes);
  static PartialHash ranges[3];
  const std::uint64_t blocks[3] = {1024, 1024, 77};
  for (std::size_t i = 0; i < 3; ++i) {
    std::copy_n(secrets.text + 16 * i, 16, ranges[i].hash);
    ranges[i].blocks = blocks[i];
  }
  std::uint8_t state[16];
  std::copy_n(secrets.text + 48, 16, state);
  traced([&] { join_hashes(*gcm_key, ranges, state); });
}

// ---- The table

template <auto Member>
bool has(const Kernel& row) {
  return row.*Member != nullptr;
}

constexpr Operation all[] = {
    {"expand", always, expand},
    {"gcm-expand", always, expand_gcm},
    {"ecb-encrypt", always, ecb<&Kernel::ecb_encrypt>},
    {"ecb-decrypt", always, ecb<&Kernel::ecb_decrypt>},
    {"cbc-encrypt", always, cbc<&Kernel::cbc_encrypt>},
    {"cbc-decrypt", always, cbc<&Kernel::cbc_decrypt>},
    {"ctr", always, ctr<false>},
    {"xts-encrypt", always, xts<encrypt, false, false>},
    {"xts-decrypt", always, xts<decrypt, false, false>},
    {"xts-units-encrypt", always, xts<encrypt, true, false>},
    {"xts-units-decrypt", always, xts<decrypt, true, false>},
    {"gcm-seal", always, gcm_seal<12>},
    {"gcm-open", always, gcm_open<12>},
    {"gcm-seal-nonce-8", always, gcm_seal<8>},
    {"gcm-open-nonce-8", always, gcm_open<8>},
    {"gcm-seal-nonce-60", always, gcm_seal<60>},
    {"gcm-open-nonce-60", always, gcm_open<60>},
    {"gcm-open-forged", always, gcm_open_forged<16>},
    {"gcm-open-forged-tag-13", always, gcm_open_forged<13>},
    {"gcm-ranges-encrypt", has<&Kernel::gcm_seal>, gcm_ranges<encrypt, 12, false>},
    {"gcm-ranges-decrypt", has<&Kernel::gcm_seal>, gcm_ranges<decrypt, 12, false>},
    {"gcm-ranges-encrypt-nonce-60", has<&Kernel::gcm_seal>, gcm_ranges<encrypt, 60, false>},
    {"gcm-ranges-decrypt-nonce-60", has<&Kernel::gcm_seal>, gcm_ranges<decrypt, 60, false>},
    {"gcm-seal-many", has<&Kernel::gcm_seal_many>, gcm_seal_many},
    {"gcm-open-many", has<&Kernel::gcm_open_many>, gcm_open_many},
    {"gcm-join", always, join},
    {"tag-compare", always, compare_tags<16>},
    {"tag-compare-4", always, compare_tags<4>},
    {"ecb-encrypt-nontemporal", has<&Kernel::ecb_encrypt_nontemporal>,
     ecb<&Kernel::ecb_encrypt_nontemporal>},
    {"ecb-decrypt-nontemporal", has<&Kernel::ecb_decrypt_nontemporal>,
     ecb<&Kernel::ecb_decrypt_nontemporal>},
    {"cbc-decrypt-nontemporal", has<&Kernel::cbc_decrypt_nontemporal>,
     cbc<&Kernel::cbc_decrypt_nontemporal>},
    {"ctr-nontemporal", has<&Kernel::ctr_nontemporal>, ctr<true>},
    {"xts-encrypt-nontemporal", has<&Kernel::xts_encrypt_nontemporal>, xts<encrypt, false, true>},
    {"xts-decrypt-nontemporal", has<&Kernel::xts_decrypt_nontemporal>, xts<decrypt, false, true>},
    {"gcm-encrypt-nontemporal", has<&Kernel::gcm_encrypt_nontemporal>,
     gcm_ranges<encrypt, 12, true>},
    {"gcm-decrypt-nontemporal", has<&Kernel::gcm_decrypt_nontemporal>,
     gcm_ranges<decrypt, 12, true>},
};

}  // namespace

std::span<const Operation> operations() { return all; }

}  // namespace paraes::steps
