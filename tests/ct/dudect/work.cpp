#include "tests/ct/dudect/work.hpp"

#include <algorithm>
#include <cstring>

#include "src/core/counter.hpp"

namespace paraes::dudect {
namespace {

constexpr unsigned key_bytes = 32;
constexpr std::size_t blocks = 16;
constexpr std::size_t text_bytes = 16 * blocks;

// ---- Classes of inputs

void fixed_or_random(unsigned input_class, Random& random, const Work&, Secret& secret) {
  // Random bytes are made for both classes, so that they leave the same traces in caches.
  for (std::size_t i = 0; i < secret.size(); i += 8) {
    const std::uint64_t word = random();
    std::memcpy(secret.data() + i, &word, 8);
  }
  if (input_class == 0) secret.fill(0);
}

// Tags that differ from the right one in the first byte or in the last.
void early_or_late(unsigned input_class, Random&, const Work& work, Secret& secret) {
  secret.fill(0);
  std::copy(work.tag.begin(), work.tag.end(), secret.begin());
  secret[input_class == 0 ? 0 : work.tag.size() - 1] ^= 1;
}

// ---- Preparation

void nothing(Work&) {}

void keys(Work& work) { work.use_keys(work.secret.data()); }

void hash_key(Work& work) { work.use_hash_key(work.secret.data()); }

// ---- Operations

void expand(Work& work) {
  work.row.expand(work.gcm.cipher.schedule, work.secret.data(), key_bytes);
}

void make_hash_key(Work& work) { work.row.ghash_init(work.gcm.hash, work.secret.data()); }

void expand_and_encrypt(Work& work) {
  expand(work);
  work.row.ecb_encrypt(work.gcm.cipher.schedule, work.text.data(), work.out.data(), 1);
}

template <Secret Work::*Text, std::size_t Blocks>
void ecb_encrypt(Work& work) {
  work.row.ecb_encrypt(work.gcm.cipher.schedule, (work.*Text).data(), work.out.data(), Blocks);
}

template <Secret Work::*Text, std::size_t Blocks>
void ecb_decrypt(Work& work) {
  work.row.ecb_decrypt(work.gcm.cipher.schedule, (work.*Text).data(), work.out.data(), Blocks);
}

template <Secret Work::*Text>
void cbc_encrypt(Work& work) {
  work.block.fill(0x5a);
  work.row.cbc_encrypt(work.gcm.cipher.schedule, work.block.data(), (work.*Text).data(),
                       work.out.data(), blocks);
}

template <Secret Work::*Text>
void cbc_decrypt(Work& work) {
  work.block.fill(0x5a);
  work.row.cbc_decrypt(work.gcm.cipher.schedule, work.block.data(), (work.*Text).data(),
                       work.out.data(), blocks);
}

template <Secret Work::*Text>
void ctr(Work& work) {
  work.block.fill(0x5a);
  work.row.ctr(work.gcm.cipher.schedule, work.block.data(), (work.*Text).data(), work.out.data(),
               blocks);
}

template <Secret Work::*Text, Direction Way>
void xts(Work& work) {
  xts_range(work.xts, Way, work.nonce.data(), 0, 100, (work.*Text).data(), work.out.data(), 500);
}

template <Secret Work::*Text>
void ghash(Work& work) {
  work.block.fill(0);
  work.row.ghash(work.gcm.hash, work.block.data(), (work.*Text).data(), blocks);
}

GcmMessage message(const Work& work, const Secret& text, std::size_t nonce_bytes, Secret& out) {
  return {work.nonce.data(), nonce_bytes, work.nonce.data(), 20,      text.data(),
          out.data(),        text_bytes,  nullptr,           nullptr, 16};
}

void compute(const GcmKey& key, Direction way, const GcmMessage& m, std::uint8_t tag[16]) {
  gcm_message(key, m, tag, [&](const GcmCounter& j0, std::uint8_t* state) {
    GcmCounter counter = j0;
    add_be32(counter.block, 1);
    gcm_range(key, way, counter, state, m.in, m.out, m.bytes);
  });
}

template <Secret Work::*Text, std::size_t NonceBytes>
void seal(Work& work) {
  GcmMessage m = message(work, work.*Text, NonceBytes, work.out);
  std::uint8_t tag[16];
  m.tag = tag;
  if (work.row.gcm_seal != nullptr) {
    work.row.gcm_seal(work.gcm.cipher.schedule, work.gcm.hash, m);
  } else {
    compute(work.gcm, Direction::encrypt, m, tag);
  }
}

void open(Work& work) {
  GcmMessage m = message(work, work.text, 12, work.out);
  m.expected_tag = work.secret.data();
  m.tag_bytes = 16;
  if (work.row.gcm_open != nullptr) {
    work.intact = work.row.gcm_open(work.gcm.cipher.schedule, work.gcm.hash, m);
  } else {
    std::uint8_t tag[16];
    compute(work.gcm, Direction::decrypt, m, tag);
    work.intact = verify_and_wipe_tag(tag, m);
  }
}

void compare_tags(Work& work) {
  std::uint8_t computed[16];
  std::copy(work.tag.begin(), work.tag.end(), computed);
  GcmMessage m = message(work, work.text, 12, work.out);
  m.expected_tag = work.secret.data();
  work.intact = verify_and_wipe_tag(computed, m);
}

void compare_to_the_first_difference(Work& work) {
  work.intact = true;
  for (std::size_t i = 0; i < 16; ++i) {
    const volatile std::uint8_t given = work.secret[i];
    if (given != work.tag[i]) {
      work.intact = false;
      return;
    }
  }
}

constexpr auto secret = &Work::secret;
constexpr auto text = &Work::text;
constexpr auto encrypt = Direction::encrypt;
constexpr auto decrypt = Direction::decrypt;

constexpr Operation all[] = {
    {"key schedule", fixed_or_random, nothing, expand},
    {"hash key", fixed_or_random, nothing, make_hash_key},
    {"key schedule and ECB, 1 block", fixed_or_random, nothing, expand_and_encrypt},
    {"ECB encrypt, 1 block, key", fixed_or_random, keys, ecb_encrypt<text, 1>},
    {"ECB encrypt, 1 block, text", fixed_or_random, nothing, ecb_encrypt<secret, 1>},
    {"ECB encrypt, 16 blocks, key", fixed_or_random, keys, ecb_encrypt<text, blocks>},
    {"ECB encrypt, 16 blocks, text", fixed_or_random, nothing, ecb_encrypt<secret, blocks>},
    {"ECB decrypt, 16 blocks, key", fixed_or_random, keys, ecb_decrypt<text, blocks>},
    {"ECB decrypt, 16 blocks, text", fixed_or_random, nothing, ecb_decrypt<secret, blocks>},
    {"CBC encrypt, key", fixed_or_random, keys, cbc_encrypt<text>},
    {"CBC encrypt, text", fixed_or_random, nothing, cbc_encrypt<secret>},
    {"CBC decrypt, key", fixed_or_random, keys, cbc_decrypt<text>},
    {"CBC decrypt, text", fixed_or_random, nothing, cbc_decrypt<secret>},
    {"CTR, key", fixed_or_random, keys, ctr<text>},
    {"CTR, text", fixed_or_random, nothing, ctr<secret>},
    {"XTS encrypt, key", fixed_or_random, keys, xts<text, encrypt>},
    {"XTS encrypt, text", fixed_or_random, nothing, xts<secret, encrypt>},
    {"XTS decrypt, key", fixed_or_random, keys, xts<text, decrypt>},
    {"XTS decrypt, text", fixed_or_random, nothing, xts<secret, decrypt>},
    {"GHASH, hash key", fixed_or_random, hash_key, ghash<text>},
    {"GHASH, text", fixed_or_random, nothing, ghash<secret>},
    {"GCM seal, key", fixed_or_random, keys, seal<text, 12>},
    {"GCM seal, text", fixed_or_random, nothing, seal<secret, 12>},
    {"GCM seal, key, nonce of 20 bytes", fixed_or_random, keys, seal<text, 20>},
    {"GCM open, place of the difference", early_or_late, nothing, open},
    {"comparison of tags, place of the difference", early_or_late, nothing, compare_tags},
};

constexpr Operation compare = {"comparison with early exit", early_or_late, nothing,
                               compare_to_the_first_difference};
constexpr Operation four_blocks = {"ECB encrypt, 4 blocks, text", fixed_or_random, nothing,
                                   ecb_encrypt<secret, 4>};

std::array<std::uint8_t, 64> some_key() {
  std::array<std::uint8_t, 64> key;
  for (std::size_t i = 0; i < key.size(); ++i) key[i] = static_cast<std::uint8_t>(37 * i + 11);
  return key;
}

}  // namespace

Work::Work(const Kernel& kernel)
    : row(kernel),
      gcm(kernel, some_key().data(), key_bytes),
      xts(kernel, some_key().data(), key_bytes),
      secret{},
      text{},
      out{},
      nonce{},
      block{},
      tag{} {
  for (std::size_t i = 0; i < text.size(); ++i) text[i] = static_cast<std::uint8_t>(i % 251);
  for (std::size_t i = 0; i < nonce.size(); ++i) nonce[i] = static_cast<std::uint8_t>(i);
  compute(gcm, Direction::decrypt, message(*this, text, 12, out), tag.data());
}

void Work::use_keys(const std::uint8_t* key) {
  row.expand(gcm.cipher.schedule, key, key_bytes);
  std::uint8_t h[16] = {};
  row.ecb_encrypt(gcm.cipher.schedule, h, h, 1);
  use_hash_key(h);
  row.expand(xts.data.schedule, key, key_bytes);
  row.expand(xts.tweak.schedule, key + key_bytes, key_bytes);
}

void Work::use_hash_key(const std::uint8_t h[16]) { row.ghash_init(gcm.hash, h); }

std::span<const Operation> operations() { return all; }
const Operation& early_exit() { return compare; }
const Operation& equal_blocks() { return four_blocks; }

}  // namespace paraes::dudect
