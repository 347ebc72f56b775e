// The functions of each kernel of the kernel table, called directly. kernel.hpp documents what they
// must do.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <random>

#include "src/core/counter.hpp"
#include "tests/support/buffers.hpp"
#include "tests/support/evp_oracle.hpp"
#include "tests/support/hex.hpp"
#include "tests/support/kernels.hpp"
#include "tests/support/spec.hpp"
#include "tests/support/vector_state.hpp"

namespace paraes {
namespace {

using support::Block;
using support::Buffer;
using support::difference;
using support::make_key;
using support::pattern;
using support::PlacedBuffer;
using support::spec_ghash;

constexpr std::size_t max_blocks = 1100;

Block block_of(Bytes bytes) {
  Block block;
  std::copy(bytes.begin(), bytes.begin() + 16, block.begin());
  return block;
}

bool all_zero(const void* data, std::size_t bytes) {
  const auto* p = static_cast<const std::uint8_t*>(data);
  return std::all_of(p, p + bytes, [](std::uint8_t b) { return b == 0; });
}

GcmMessage message_of(Bytes nonce, Bytes aad, Bytes in, std::uint8_t* out, std::uint8_t* tag,
                      Bytes expected_tag) {
  return {nonce.data(), nonce.size(), aad.data(), aad.size(),          in.data(),
          out,          in.size(),    tag,        expected_tag.data(), expected_tag.size()};
}

// Seals and opens a message by seal(message) and open(message), out of place and in place.
template <class Seal, class Open>
void check_whole_message(Bytes key, Bytes nonce, Bytes aad, Bytes plain, const Seal& seal,
                         const Open& open) {
  const std::size_t bytes = plain.size();
  const support::Sealed expected = support::evp_gcm_encrypt(key, nonce, aad, plain);
  for (const bool in_place : {false, true}) {
    PlacedBuffer source(bytes, bytes % 61);
    PlacedBuffer target(bytes, bytes % 17);
    std::uint8_t* const out = in_place ? source.data() : target.data();
    std::array<std::uint8_t, 16> tag{};
    const GcmMessage message =
        message_of(nonce, aad, {source.data(), bytes}, out, tag.data(), expected.tag);
    source.fill(plain);
    seal(message);
    ASSERT_EQ(difference({out, bytes}, expected.text), "");
    ASSERT_EQ(tag, expected.tag);
    source.fill(expected.text);
    ASSERT_TRUE(open(message));
    ASSERT_EQ(difference({out, bytes}, plain), "");
    ASSERT_TRUE(source.margins_intact() && target.margins_intact()) << "wrote outside the output";
  }
}

// Calls check(aad, bytes) for associated data of every size, with texts of some sizes.
template <class Check>
void check_associated_data(const Check& check) {
  const Buffer aad = pattern(1100, 9);
  for (std::size_t n = 0; n <= aad.size(); ++n) {
    for (const std::size_t bytes : {0, 5, 16, 80, 600}) {
      ASSERT_NO_FATAL_FAILURE(check(Bytes(aad).first(n), bytes)) << n << " and " << bytes;
    }
  }
}

// Opens a message by open(message) with tags of every size, and with each of their bits changed.
template <class Open>
void check_tags(Bytes key, Bytes plain, const Open& open) {
  const Buffer nonce = pattern(12, 4);
  const support::Sealed sealed = support::evp_gcm_encrypt(key, nonce, {}, plain);
  Buffer out(plain.size());
  for (const std::size_t tag_bytes : {4, 8, 12, 13, 14, 15, 16}) {
    for (std::size_t bit = 0; bit < 8 * tag_bytes; ++bit) {
      Buffer tag(sealed.tag.begin(), sealed.tag.begin() + static_cast<std::ptrdiff_t>(tag_bytes));
      const GcmMessage message = message_of(nonce, {}, sealed.text, out.data(), nullptr, tag);
      ASSERT_TRUE(open(message)) << tag_bytes;
      tag[bit / 8] ^= static_cast<std::uint8_t>(1U << (bit % 8));
      ASSERT_FALSE(open(message)) << tag_bytes << ", bit " << bit;
    }
  }
}

class KernelFunctions : public support::KernelTest {
 protected:
  void prepare() override { expand(make_key(32)); }

  void expand(const Buffer& key) {
    key_ = key;
    kernel().expand(schedule_, key.data(), static_cast<unsigned>(key.size()));
  }

  KeySchedule schedule_;
  Buffer key_;
  const Buffer in_ = pattern(16 * max_blocks);
};

// Functions that not every kernel has. Where one is missing, src/modes composes it from others.
class KernelXts : public KernelFunctions {};
class XtsTweaks : public KernelFunctions {};
class FusedGcm : public KernelFunctions {};

class WholeMessageGcm : public KernelFunctions {
 protected:
  void prepare() override {
    expand(make_key(32));
    const Block h = block_of(support::evp_ecb(Direction::encrypt, key_, Buffer(16)));
    kernel().ghash_init(hash_, h.data());
    std::copy(h.begin(), h.end(), hash_.h);
  }

  void check(Bytes nonce, Bytes aad, std::size_t bytes) {
    check_whole_message(
        key_, nonce, aad, Bytes(in_).first(bytes),
        [&](const GcmMessage& message) { kernel().gcm_seal(schedule_, hash_, message); },
        [&](const GcmMessage& message) { return kernel().gcm_open(schedule_, hash_, message); });
  }

  GhashKey hash_;
};

class ManyMessagesGcm : public support::KernelTest {
 protected:
  struct Key {
    Buffer bytes;
    ShortGcmKey expanded;
  };

  void prepare() override {
    for (std::size_t k = 0; k < keys_.size(); ++k) {
      Key& key = keys_[k];
      key.bytes = make_key(k % 3 == 0 ? 16 : k % 3 == 1 ? 32 : 24, static_cast<unsigned>(k));
      const std::uint8_t* const bytes = key.bytes.data();
      kernel().gcm_expand(&key.expanded, &bytes, static_cast<unsigned>(key.bytes.size()), 1,
                          ShortGcmKey::max_powers);
    }
  }

  // Seals and opens messages of these sizes under these keys, then opens them with one bit of each
  // third tag changed.
  void check(const std::vector<std::size_t>& sizes, const std::vector<std::size_t>& keys) {
    const std::size_t count = sizes.size();
    std::vector<std::unique_ptr<PlacedBuffer>> plain;
    std::vector<std::unique_ptr<PlacedBuffer>> sealed;
    std::vector<support::Sealed> expected;
    std::vector<GcmJob> jobs(count);
    for (std::size_t i = 0; i < count; ++i) {
      GcmJob& job = jobs[i];
      const Key& key = keys_[keys[i]];
      job.key = &key.expanded;
      const Buffer nonce = pattern(12, static_cast<unsigned>(i));
      job.nonce = {};
      std::memcpy(job.nonce.data(), nonce.data(), 12);
      const Buffer text = pattern(sizes[i], static_cast<unsigned>(3 * i));
      expected.push_back(support::evp_gcm_encrypt(key.bytes, nonce, {}, text));
      plain.push_back(std::make_unique<PlacedBuffer>(sizes[i], i));
      plain.back()->fill(text);
      sealed.push_back(std::make_unique<PlacedBuffer>(sizes[i] + 16, 5 * i));
      std::uint8_t* const tag = sealed.back()->data() + sizes[i];
      job.message = message_of({reinterpret_cast<const std::uint8_t*>(job.nonce.data()), 12}, {},
                               plain.back()->span(), sealed.back()->data(), tag, {tag, 16});
    }
    EXPECT_FALSE(
        support::leaves_upper_halves_in_use([&] { kernel().gcm_seal_many(jobs.data(), count); }));
    for (std::size_t i = 0; i < count; ++i) {
      const Bytes out = sealed[i]->span();
      ASSERT_EQ(difference(out.first(sizes[i]), expected[i].text), "") << "message " << i;
      ASSERT_EQ(difference(out.last(16), expected[i].tag), "") << "message " << i;
      jobs[i].message.in = sealed[i]->data();
      jobs[i].message.out = plain[i]->data();
      std::fill(plain[i]->span().begin(), plain[i]->span().end(), std::uint8_t{0});
    }
    for (const bool damaged : {false, true}) {
      for (std::size_t i = 0; damaged && i < count; i += 3) {
        sealed[i]->span()[sizes[i] + i % 16] ^= static_cast<std::uint8_t>(1U << (i % 8));
      }
      EXPECT_FALSE(
          support::leaves_upper_halves_in_use([&] { kernel().gcm_open_many(jobs.data(), count); }));
      for (std::size_t i = 0; i < count; ++i) {
        ASSERT_EQ(jobs[i].intact, !damaged || i % 3 != 0) << "message " << i;
        ASSERT_EQ(difference(plain[i]->span(), pattern(sizes[i], static_cast<unsigned>(3 * i))),
                  "");
        ASSERT_TRUE(plain[i]->margins_intact() && sealed[i]->margins_intact()) << "message " << i;
      }
    }
  }

  std::array<Key, 7> keys_;
};

TEST_P(KernelFunctions, KeyExpansion_ReplacesAnEarlierKey) {
  for (const std::size_t bytes : {32, 16, 24, 16, 32}) {
    expand(make_key(bytes, static_cast<unsigned>(bytes) + 40));
    ASSERT_EQ(schedule_.key_bytes, bytes);
    ASSERT_EQ(schedule_.rounds, bytes / 4 + 6);
    const Buffer cipher = support::evp_ecb(Direction::encrypt, key_, Bytes(in_).first(160));
    Buffer out(160);
    kernel().ecb_encrypt(schedule_, in_.data(), out.data(), 10);
    ASSERT_EQ(difference(out, cipher), "");
    kernel().ecb_decrypt(schedule_, out.data(), out.data(), 10);
    ASSERT_EQ(difference(out, Bytes(in_).first(160)), "");
  }
}

// Data units with gaps of `gap` bytes between them, which the function must not change. With a
// single unit, the test also checks the tweak that the function leaves.
TEST_P(KernelXts, MatchesOpenSslForManyUnitsAndStrides) {
  const Buffer keys = make_key(64, 50);
  expand(Buffer(keys.begin(), keys.begin() + 32));
  const Bytes tweak_key = Bytes(keys).last(32);
  struct XtsForm {
    decltype(Kernel::xts_encrypt) encrypt, decrypt;
    bool in_place;
    const char* name;
  };
  std::vector<XtsForm> forms = {{kernel().xts_encrypt, kernel().xts_decrypt, true, ""}};
  if (kernel().xts_encrypt_nontemporal != nullptr) {
    forms.push_back({kernel().xts_encrypt_nontemporal, kernel().xts_decrypt_nontemporal, false,
                     ", non-temporal stores"});
  }
  for (std::size_t blocks : {0, 1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 32, 33, 40, 64, 65, 256}) {
    for (std::size_t units : {0, 1, 2, 3, 4, 5, 7, 8, 9, 16, 17, 33}) {
      if (units * blocks > 4500) continue;
      for (std::size_t gap : {0, 16, 1, 37}) {
        const std::size_t stride = 16 * blocks + gap;
        const Buffer plain = pattern(units * stride, 3);
        Buffer tweaks;
        Buffer tweaks_after;
        Buffer cipher(plain);
        for (std::size_t u = 0; u < units; ++u) {
          const Buffer number = pattern(16, static_cast<unsigned>(u * 31));
          const Buffer encrypted = support::evp_ecb(Direction::encrypt, tweak_key, number);
          tweaks.insert(tweaks.end(), encrypted.begin(), encrypted.end());
          Block after = block_of(encrypted);
          for (std::size_t b = 0; b < blocks; ++b) after = support::spec_next_tweak(after);
          tweaks_after.insert(tweaks_after.end(), after.begin(), after.end());
          if (blocks == 0) continue;
          const Buffer unit = support::evp_xts_unit(Direction::encrypt, keys, number,
                                                    Bytes(plain).subspan(u * stride, 16 * blocks));
          std::copy(unit.begin(), unit.end(),
                    cipher.begin() + static_cast<std::ptrdiff_t>(u * stride));
        }
        for (const XtsForm& form : forms) {
          for (const std::size_t misalignment : {0, 16, 48, 5}) {
            const auto check = [&](auto crypt, const Buffer& from, const Buffer& to,
                                   bool in_place) {
              PlacedBuffer in(plain.size(), 3);
              PlacedBuffer out(plain.size(), misalignment);
              in.fill(from);
              out.fill(from);  // the gaps then hold the same bytes as in `to`
              Buffer running(tweaks);
              crypt(schedule_, running.data(), in_place ? out.data() : in.data(), out.data(), units,
                    stride, blocks);
              const auto context = [&] {
                return std::to_string(units) + " units of " + std::to_string(blocks) +
                       " blocks, gap " + std::to_string(gap) + form.name +
                       (in_place ? ", in place" : "") + (&from == &plain ? "" : ", decryption");
              };
              ASSERT_EQ(difference(out.span(), to), "") << context();
              if (units == 1) {
                ASSERT_EQ(running, tweaks_after) << context();
              }
              ASSERT_TRUE(out.margins_intact()) << context();
            };
            ASSERT_NO_FATAL_FAILURE(check(form.encrypt, plain, cipher, false));
            ASSERT_NO_FATAL_FAILURE(check(form.decrypt, cipher, plain, false));
            if (!form.in_place) continue;
            ASSERT_NO_FATAL_FAILURE(check(form.encrypt, plain, cipher, true));
          }
        }
      }
    }
  }
}

// Numbers of units that carry out of each byte, each half, and the whole.
TEST_P(XtsTweaks, MatchEcbOfConsecutiveNumbersAndKeepToTheirRoom) {
  std::vector<Buffer> firsts = {Buffer(16), pattern(16, 9)};
  for (std::size_t ones = 1; ones <= 16; ++ones) {
    for (const std::uint8_t low : {0xff, 0xc0}) {
      Buffer number(16, 0x5a);
      std::fill_n(number.begin(), ones, 0xff);
      number[0] = low;
      firsts.push_back(number);
    }
  }
  for (const std::size_t key_bytes : {16, 24, 32}) {
    expand(make_key(key_bytes, 51));
    for (const Buffer& first : firsts) {
      Buffer numbers;
      Buffer next(first);
      for (std::size_t units = 1; units <= 80; ++units) {
        numbers.insert(numbers.end(), next.begin(), next.end());
        for (std::size_t i = 0; i < 16 && ++next[i] == 0; ++i) {
        }
        const std::size_t groups = (units + xts_tweak_group - 1) / xts_tweak_group;
        PlacedBuffer number(16, units % 16);
        PlacedBuffer tweaks(16 * (units == 1 ? 1 : groups * xts_tweak_group), units % 7);
        number.fill(first);
        kernel().xts_tweaks(schedule_, number.data(), tweaks.data(), units);
        ASSERT_EQ(difference(tweaks.span().first(16 * units),
                             support::evp_ecb(Direction::encrypt, key_, numbers)),
                  "")
            << units << " units from " << support::to_hex(first);
        ASSERT_TRUE(tweaks.margins_intact()) << units << " units";
      }
    }
  }
}

TEST_P(KernelFunctions, Ghash_MatchesSp80038dForEveryBlockCount) {
  const Block keys[] = {block_of(make_key(16, 60)), block_of(make_key(16, 61)),
                        Block{0x80},  // 1 in GF(2^128)
                        Block{}, block_of(Buffer(16, 0xff))};
  for (const Block& h : keys) {
    GhashKey key;
    kernel().ghash_init(key, h.data());
    Block expected = block_of(pattern(16, 9));
    const Block start = expected;
    for (std::size_t blocks = 0; blocks <= 300; ++blocks) {
      Block state = start;
      PlacedBuffer data(16 * blocks, blocks);
      data.fill(Bytes(in_).first(16 * blocks));
      kernel().ghash(key, state.data(), data.data(), blocks);
      ASSERT_EQ(support::to_hex(state), support::to_hex(expected)) << blocks << " blocks";
      expected = spec_ghash(h, expected, Bytes(in_).subspan(16 * blocks, 16));
    }
  }
}

// CTR with inc32 (SP 800-38D section 6.2), which keeps the upper 96 bits of the counter: OpenSSL's
// CTR up to the wrap of the low 32 bits, and once more from the wrap on.
Buffer inc32_ctr(Bytes key, const Buffer& counter, Bytes in) {
  const std::uint64_t until_wrap = (std::uint64_t{1} << 32) - load_be32(counter.data() + 12);
  const auto first = static_cast<std::size_t>(std::min<std::uint64_t>(16 * until_wrap, in.size()));
  Buffer out = support::evp_ctr(key, counter, in.first(first));
  Buffer wrapped(counter);
  std::fill(wrapped.begin() + 12, wrapped.end(), std::uint8_t{0});
  const Buffer rest = support::evp_ctr(key, wrapped, in.subspan(first));
  out.insert(out.end(), rest.begin(), rest.end());
  return out;
}

TEST_P(FusedGcm, MatchesCtrAndGhashForEveryBlockCount) {
  constexpr std::size_t max_count = 200;
  for (const std::size_t key_bytes : {16, 24, 32}) {
    expand(make_key(key_bytes, 70));
    const Block h = block_of(support::evp_ecb(Direction::encrypt, key_, Buffer(16)));
    GhashKey hash;
    kernel().ghash_init(hash, h.data());
    std::copy(h.begin(), h.end(), hash.h);
    for (const std::uint32_t start :
         {2U, 0U, 0xffffff80U, 0xffffffffU, 0xffffff7fU, 31U, 34U, 0xffffff02U, 0xffffffe2U}) {
      Buffer initial = pattern(16, 0xfa);
      initial[11] = 0xff;  // a carry out of the low 32 bits would show
      store_be32(initial.data() + 12, start);
      const Bytes text = Bytes(in_).first(16 * max_count);
      const Buffer cipher = inc32_ctr(key_, initial, text);
      Block expected_state = block_of(pattern(16, 1));
      const Block first_state = expected_state;
      for (std::size_t blocks = 0; blocks <= max_count; ++blocks) {
        Buffer expected_counter(initial);
        add_be32(expected_counter.data(), static_cast<std::uint32_t>(blocks));
        const std::size_t n = 16 * blocks;
        for (const bool in_place : {false, true}) {
          for (const auto fused :
               {kernel().gcm_encrypt, kernel().gcm_decrypt, kernel().gcm_encrypt_nontemporal,
                kernel().gcm_decrypt_nontemporal}) {
            const bool encrypting =
                fused == kernel().gcm_encrypt || fused == kernel().gcm_encrypt_nontemporal;
            if (fused == nullptr) continue;  // no non-temporal stores
            if (in_place && fused != kernel().gcm_encrypt && fused != kernel().gcm_decrypt)
              continue;
            const Bytes from = encrypting ? text.first(n) : Bytes(cipher).first(n);
            const Bytes to = encrypting ? Bytes(cipher).first(n) : text.first(n);
            PlacedBuffer in(n, blocks % 64);
            PlacedBuffer out(n, 16 * (blocks % 4) + (blocks % 8 == 7 ? 3 : 0));
            in.fill(from);
            std::uint8_t* const target = in_place ? in.data() : out.data();
            GcmCounter counter{.block = {}, .secret = blocks % 3 == 2};
            std::copy(initial.begin(), initial.end(), counter.block);
            Block state = first_state;
            fused(schedule_, hash, counter, state.data(), in.data(), target, blocks);
            const auto context = [&] {
              return std::to_string(blocks) + " blocks from counter " + std::to_string(start) +
                     (encrypting ? ", encryption" : ", decryption") +
                     (in_place ? ", in place" : "");
            };
            ASSERT_EQ(difference({target, n}, to), "") << context();
            ASSERT_EQ(difference(Bytes(counter.block), expected_counter), "") << context();
            ASSERT_EQ(support::to_hex(state), support::to_hex(expected_state)) << context();
            ASSERT_TRUE(in.margins_intact() && out.margins_intact()) << context();
          }
        }
        if (blocks < max_count) {
          expected_state = spec_ghash(h, expected_state, Bytes(cipher).subspan(n, 16));
        }
      }
    }
  }
}

TEST_P(WholeMessageGcm, HashesAssociatedDataOfEverySize) {
  check_associated_data([&](Bytes aad, std::size_t bytes) { check(pattern(12, 4), aad, bytes); });
}

TEST_P(WholeMessageGcm, TakesNoncesOfEverySize) {
  const Buffer aad = pattern(21);
  for (std::size_t n = 1; n <= max_library_nonce_bytes; ++n) {
    const Buffer nonce = pattern(n, 4);
    for (const std::size_t bytes : {0, 16, 333, 512, 1500}) {
      ASSERT_NO_FATAL_FAILURE(check(nonce, aad, bytes)) << n << " and " << bytes;
    }
  }
}

// With a nonce of 128 bits, J0 is a hash, so any counter can be first. The test tries nonces until
// the counter wraps within the text.
TEST_P(WholeMessageGcm, WrapsTheCounterAfter32Bits) {
  constexpr std::uint32_t max_count = max_blocks - 70;
  Buffer nonce(16);
  std::uint32_t until_wrap = UINT32_MAX;
  for (std::uint32_t i = 0; until_wrap > max_count; ++i) {
    store_be32(nonce.data(), i);
    std::array<std::uint8_t, 32> hashed{};
    std::copy(nonce.begin(), nonce.end(), hashed.begin());
    hashed[31] = 128;
    Block j0{};
    kernel().ghash(hash_, j0.data(), hashed.data(), 2);
    until_wrap = 0 - load_be32(j0.data() + 12);
  }
  for (const std::size_t blocks : {until_wrap - 1, until_wrap, until_wrap + 1, until_wrap + 70}) {
    ASSERT_NO_FATAL_FAILURE(check(nonce, {}, 16 * blocks - 3));
  }
}

TEST_P(WholeMessageGcm, OpenChecksTagsOfEverySize) {
  check_tags(key_, Bytes(in_).first(40), [&](const GcmMessage& message) {
    return kernel().gcm_open(schedule_, hash_, message);
  });
}

class ShortKeyGcm : public support::KernelTest {
 protected:
  static constexpr unsigned all_powers = ShortGcmKey::max_powers;

  void expand(ShortGcmKey& to, const Buffer& key) {
    const std::uint8_t* const bytes = key.data();
    kernel().gcm_expand(&to, &bytes, static_cast<unsigned>(key.size()), 1, all_powers);
  }

  // A message of the first bytes of text_.
  void check(const Buffer& key, Bytes aad, std::size_t bytes) {
    ShortGcmKey expanded;
    expand(expanded, key);
    const auto seal = [&](const GcmMessage& message) {
      EXPECT_FALSE(
          support::leaves_upper_halves_in_use([&] { kernel().gcm_seal_short(expanded, message); }));
    };
    const auto open = [&](const GcmMessage& message) {
      return kernel().gcm_open_short(expanded, message);
    };
    check_whole_message(key, pattern(12, 4), aad, Bytes(text_).first(bytes), seal, open);
  }

  const Buffer text_ = pattern(70000);
};

// Side by side or alone, and with fewer powers, keys are the same.
TEST_P(ShortKeyGcm, ExpandsSeveralKeysAsEachAlone) {
  for (const std::size_t key_bytes : {16, 24, 32}) {
    for (const std::size_t count : {0, 1, 3, 4, 5, 8, 11}) {
      for (const unsigned powers : {2U, 3U, 4U, 5U, 9U, 17U, 33U, all_powers}) {
        std::vector<Buffer> keys;
        std::vector<const std::uint8_t*> bytes;
        for (std::size_t k = 0; k < count; ++k) {
          keys.push_back(make_key(key_bytes, static_cast<unsigned>(k)));
          bytes.push_back(keys[k].data());
        }
        std::vector<ShortGcmKey> expanded(count + 1);
        std::memset(static_cast<void*>(&expanded[count]), 0x5a, sizeof(ShortGcmKey));
        kernel().gcm_expand(expanded.data(), bytes.data(), static_cast<unsigned>(key_bytes), count,
                            powers);
        for (std::size_t k = 0; k < count; ++k) {
          ShortGcmKey alone;
          expand(alone, keys[k]);
          KeySchedule schedule;
          kernel().expand(schedule, keys[k].data(), static_cast<unsigned>(key_bytes));
          ASSERT_EQ(expanded[k].rounds, schedule.rounds);
          ASSERT_EQ(expanded[k].key_bytes, key_bytes);
          ASSERT_EQ(difference({expanded[k].encrypt[0], sizeof schedule.encrypt},
                               {schedule.encrypt[0], sizeof schedule.encrypt}),
                    "");
          ASSERT_EQ(difference({expanded[k].powers_end() - std::size_t{16} * powers, 16 * powers},
                               {alone.powers_end() - std::size_t{16} * powers, 16 * powers}),
                    "");
          ASSERT_TRUE(all_zero(expanded[k].powers_end(), 48));
        }
        const auto* const behind = reinterpret_cast<const std::uint8_t*>(&expanded[count]);
        ASSERT_TRUE(std::all_of(behind, behind + sizeof(ShortGcmKey), [](std::uint8_t b) {
          return b == 0x5a;
        })) << "wrote behind the last key";
      }
    }
  }
}

TEST_P(ShortKeyGcm, MatchesOpenSslForEverySize) {
  for (const std::size_t key_bytes : {16, 24, 32}) {
    const Buffer key = make_key(key_bytes);
    for (std::size_t bytes = 0; bytes <= 1800; ++bytes) {
      ASSERT_NO_FATAL_FAILURE(check(key, {}, bytes)) << bytes;
    }
    // The last byte of the counter wraps at 4064 bytes, and again after each 4096.
    for (const std::size_t around : {4064, 4096, 8160, 16384, 69600}) {
      for (std::size_t bytes = around - 70; bytes <= around + 70; ++bytes) {
        ASSERT_NO_FATAL_FAILURE(check(key, {}, bytes)) << bytes;
      }
    }
  }
}

TEST_P(ShortKeyGcm, HashesAssociatedDataOfEverySize) {
  check_associated_data([&](Bytes aad, std::size_t bytes) { check(make_key(32), aad, bytes); });
}

TEST_P(ShortKeyGcm, OpenChecksTagsOfEverySize) {
  const Buffer key = make_key(16);
  ShortGcmKey expanded;
  expand(expanded, key);
  for (const std::size_t bytes : {0, 16, 40, 700}) {
    check_tags(key, Bytes(text_).first(bytes), [&](const GcmMessage& message) {
      return kernel().gcm_open_short(expanded, message);
    });
  }
}

// Lists of every size up to 40, whose messages have sizes at random, with one key or a key each.
// Runs of equal and of short sizes are those that kernels interleave.
TEST_P(ManyMessagesGcm, MatchOpenSsl) {
  std::mt19937 random(19);
  const auto below = [&](std::size_t n) { return static_cast<std::size_t>(random() % n); };
  for (std::size_t count = 0; count <= 40; ++count) {
    for (const std::size_t most : {1, 16, 48, 64, 65, 300, 1500}) {
      for (const bool equal_sizes : {false, true}) {
        std::vector<std::size_t> sizes(count, most);
        for (std::size_t& bytes : sizes) bytes = equal_sizes ? most : below(most + 1);
        std::vector<std::size_t> keys(count);
        const bool one_key = below(2) == 0;
        const std::size_t first = below(keys_.size());
        for (std::size_t& key : keys) key = one_key ? first : below(keys_.size());
        ASSERT_NO_FATAL_FAILURE(check(sizes, keys)) << count << " messages of up to " << most;
      }
    }
  }
}

PARAES_FOR_EVERY_KERNEL(KernelFunctions);
PARAES_FOR_KERNELS_WITH(KernelXts, xts_encrypt);
PARAES_FOR_KERNELS_WITH(XtsTweaks, xts_tweaks);
PARAES_FOR_KERNELS_WITH(FusedGcm, gcm_encrypt);
PARAES_FOR_KERNELS_WITH(WholeMessageGcm, gcm_seal);
PARAES_FOR_KERNELS_WITH(ShortKeyGcm, gcm_expand);
PARAES_FOR_KERNELS_WITH(ManyMessagesGcm, gcm_seal_many);

}  // namespace
}  // namespace paraes
