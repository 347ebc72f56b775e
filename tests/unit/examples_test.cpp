// The worked examples of the standards, for every build of every kernel. They are part of this
// file, so that these tests need no downloaded vectors.

#include <gtest/gtest.h>

#include "paraes/error.hpp"
#include "tests/support/buffers.hpp"
#include "tests/support/builds.hpp"
#include "tests/support/hex.hpp"

namespace paraes {
namespace {

using support::Buffer;
using support::from_hex;
using support::to_hex;

class PublishedExamples : public support::BuildTest {
 protected:
  // Both directions, out of place; then encryption in place.
  template <class Encrypt, class Decrypt>
  void check(std::string_view plain, std::string_view cipher, Encrypt encrypt, Decrypt decrypt) {
    const Buffer in = from_hex(plain);
    Buffer out(in.size());
    encrypt(in, out);
    EXPECT_EQ(to_hex(out), cipher);
    Buffer back(in.size());
    decrypt(out, back);
    EXPECT_EQ(to_hex(back), plain);
    encrypt(back, back);
    EXPECT_EQ(to_hex(back), cipher) << "in place";
  }
};

// SP 800-38A appendix F uses the same keys and the same four blocks throughout.
constexpr std::string_view keys_38a[] = {
    "2b7e151628aed2a6abf7158809cf4f3c",
    "8e73b0f7da0e6452c810f32b809079e562f8ead2522c6b7b",
    "603deb1015ca71be2b73aef0857d77811f352c073b6108d72d9810a30914dff4",
};
constexpr std::string_view plain_38a =
    "6bc1bee22e409f96e93d7e117393172aae2d8a571e03ac9c9eb76fac45af8e51"
    "30c81c46a35ce411e5fbc1191a0a52eff69f2445df4f9b17ad2b417be66c3710";

TEST_P(PublishedExamples, Ecb_MatchesFips197AndSp80038a) {
  const struct {
    std::string_view key, plain, cipher;
  } cases[] = {
      // FIPS 197 appendix B
      {"2b7e151628aed2a6abf7158809cf4f3c", "3243f6a8885a308d313198a2e0370734",
       "3925841d02dc09fbdc118597196a0b32"},
      // FIPS 197 appendix C
      {"000102030405060708090a0b0c0d0e0f", "00112233445566778899aabbccddeeff",
       "69c4e0d86a7b0430d8cdb78070b4c55a"},
      {"000102030405060708090a0b0c0d0e0f1011121314151617", "00112233445566778899aabbccddeeff",
       "dda97ca4864cdfe06eaf70a0ec0d7191"},
      {"000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f",
       "00112233445566778899aabbccddeeff", "8ea2b7ca516745bfeafc49904b496089"},
      // SP 800-38A
      {keys_38a[0], plain_38a,
       "3ad77bb40d7a3660a89ecaf32466ef97f5d3d58503b9699de785895a96fdbaaf"
       "43b1cd7f598ece23881b00e3ed0306887b0c785e27e8ad3f8223207104725dd4"},
      {keys_38a[1], plain_38a,
       "bd334f1d6e45f25ff712a214571fa5cc974104846d0ad3ad7734ecb3ecee4eef"
       "ef7afd2270e2e60adce0ba2face6444e9a4b41ba738d6c72fb16691603c18e0e"},
      {keys_38a[2], plain_38a,
       "f3eed1bdb5d2a03c064b5a7e3db181f8591ccb10d410ed26dc5ba74a31362870"
       "b6ed21b99ca6f4f9f153e7b1beafed1d23304b7a39f9f3ff067d8d8f9e24ecc7"},
  };
  for (const auto& c : cases) {
    Ecb ecb(from_hex(c.key), execution());
    check(
        c.plain, c.cipher, [&](Bytes in, MutableBytes out) { ecb.encrypt(in, out); },
        [&](Bytes in, MutableBytes out) { ecb.decrypt(in, out); });
  }
}

TEST_P(PublishedExamples, Cbc_MatchesSp80038a) {
  constexpr std::string_view ciphers[] = {
      "7649abac8119b246cee98e9b12e9197d5086cb9b507219ee95db113a917678b2"
      "73bed6b8e3c1743b7116e69e222295163ff1caa1681fac09120eca307586e1a7",
      "4f021db243bc633d7178183a9fa071e8b4d9ada9ad7dedf4e5e738763f69145a"
      "571b242012fb7ae07fa9baac3df102e008b0e27988598881d920a9e64f5615cd",
      "f58c4c04d6e5f1ba779eabfb5f7bfbd69cfc4e967edb808d679f777bc6702c7d"
      "39f23369a9d9bacfa530e26304231461b2eb05e2c39be9fcda6c19078c6a9d1b",
  };
  const Buffer iv = from_hex("000102030405060708090a0b0c0d0e0f");
  for (int i = 0; i < 3; ++i) {
    Cbc cbc(from_hex(keys_38a[i]), iv, execution());
    check(
        plain_38a, ciphers[i],
        [&](Bytes in, MutableBytes out) {
          cbc.reset(iv);
          cbc.encrypt(in, out);
        },
        [&](Bytes in, MutableBytes out) {
          cbc.reset(iv);
          cbc.decrypt(in, out);
        });
  }
}

TEST_P(PublishedExamples, Ctr_MatchesSp80038a) {
  constexpr std::string_view ciphers[] = {
      "874d6191b620e3261bef6864990db6ce9806f66b7970fdff8617187bb9fffdff"
      "5ae4df3edbd5d35e5b4f09020db03eab1e031dda2fbe03d1792170a0f3009cee",
      "1abc932417521ca24f2b0459fe7e6e0b090339ec0aa6faefd5ccc2c6f4ce8e94"
      "1e36b26bd1ebc670d1bd1d665620abf74f78a7f6d29809585a97daec58c6b050",
      "601ec313775789a5b7a7f504bbf3d228f443e3ca4d62b59aca84e990cacaf5c5"
      "2b0930daa23de94ce87017ba2d84988ddfc9c58db67aada613c2dd08457941a6",
  };
  for (int i = 0; i < 3; ++i) {
    Ctr ctr(from_hex(keys_38a[i]), from_hex("f0f1f2f3f4f5f6f7f8f9fafbfcfdfeff"), execution());
    const auto process = [&](Bytes in, MutableBytes out) {
      ctr.seek(0);
      ctr.process(in, out);
    };
    check(plain_38a, ciphers[i], process, process);
  }
}

// IEEE 1619 annex B. Vector 1 is left out: the halves of its key are equal, which Xts refuses.
TEST_P(PublishedExamples, Xts_MatchesIeee1619) {
  const struct {
    std::string_view key, number, plain, cipher;
  } cases[] = {
      // Vectors 2 and 3
      {"1111111111111111111111111111111122222222222222222222222222222222",
       "33333333330000000000000000000000",
       "4444444444444444444444444444444444444444444444444444444444444444",
       "c454185e6a16936e39334038acef838bfb186fff7480adc4289382ecd6d394f0"},
      {"fffefdfcfbfaf9f8f7f6f5f4f3f2f1f022222222222222222222222222222222",
       "33333333330000000000000000000000",
       "4444444444444444444444444444444444444444444444444444444444444444",
       "af85336b597afc1a900b2eb21ec949d292df4c047e0b21532186a5971a227a89"},
      // Vectors 15 to 18: ciphertext stealing
      {"fffefdfcfbfaf9f8f7f6f5f4f3f2f1f0bfbebdbcbbbab9b8b7b6b5b4b3b2b1b0",
       "9a785634120000000000000000000000", "000102030405060708090a0b0c0d0e0f10",
       "6c1625db4671522d3d7599601de7ca09ed"},
      {"fffefdfcfbfaf9f8f7f6f5f4f3f2f1f0bfbebdbcbbbab9b8b7b6b5b4b3b2b1b0",
       "9a785634120000000000000000000000", "000102030405060708090a0b0c0d0e0f1011",
       "d069444b7a7e0cab09e24447d24deb1fedbf"},
      {"fffefdfcfbfaf9f8f7f6f5f4f3f2f1f0bfbebdbcbbbab9b8b7b6b5b4b3b2b1b0",
       "9a785634120000000000000000000000", "000102030405060708090a0b0c0d0e0f101112",
       "e5df1351c0544ba1350b3363cd8ef4beedbf9d"},
      {"fffefdfcfbfaf9f8f7f6f5f4f3f2f1f0bfbebdbcbbbab9b8b7b6b5b4b3b2b1b0",
       "9a785634120000000000000000000000", "000102030405060708090a0b0c0d0e0f10111213",
       "9d84c813f719aa2c7be3f66171c7c5c2edbf9dac"},
  };
  for (const auto& c : cases) {
    Xts xts(from_hex(c.key), 0, execution());
    const Buffer number = from_hex(c.number);
    check(
        c.plain, c.cipher, [&](Bytes in, MutableBytes out) { xts.encrypt(number, in, out); },
        [&](Bytes in, MutableBytes out) { xts.decrypt(number, in, out); });
  }
}

// SP 800-38D has no examples. These are test cases of the proposal that it is based on (McGrew and
// Viega, The Galois/Counter Mode of Operation, appendix B).
TEST_P(PublishedExamples, Gcm_MatchesMcGrewAndViega) {
  constexpr std::string_view plain =
      "d9313225f88406e5a55909c5aff5269a86a7a9531534f7da2e4c303d8a318a72"
      "1c3c0c95956809532fcf0e2449a6b525b16aedf5aa0de657ba637b39";
  constexpr std::string_view aad = "feedfacedeadbeeffeedfacedeadbeefabaddad2";
  const struct {
    std::string_view key, nonce, aad, plain, cipher, tag;
  } cases[] = {
      // 1, 2
      {"00000000000000000000000000000000", "000000000000000000000000", "", "", "",
       "58e2fccefa7e3061367f1d57a4e7455a"},
      {"00000000000000000000000000000000", "000000000000000000000000", "",
       "00000000000000000000000000000000", "0388dace60b6a392f328c2b971b2fe78",
       "ab6e47d42cec13bdf53a67b21257bddf"},
      // 4, 5: a nonce of 12 bytes and one of 8
      {"feffe9928665731c6d6a8f9467308308", "cafebabefacedbaddecaf888", aad, plain,
       "42831ec2217774244b7221b784d0d49ce3aa212f2c02a4e035c17e2329aca12e"
       "21d514b25466931c7d8f6a5aac84aa051ba30b396a0aac973d58e091",
       "5bc94fbc3221a5db94fae95ae7121a47"},
      {"feffe9928665731c6d6a8f9467308308", "cafebabefacedbad", aad, plain,
       "61353b4c2806934a777ff51fa22a4755699b2a714fcdc6f83766e5f97b6c7423"
       "73806900e49f24b22b097544d4896b424989b5e1ebac0f07c23f4598",
       "3612d2e79e3b0785561be14aaca2fccb"},
      // 16: AES-256
      {"feffe9928665731c6d6a8f9467308308feffe9928665731c6d6a8f9467308308",
       "cafebabefacedbaddecaf888", aad, plain,
       "522dc1f099567d07f47f37a32a84427d643a8cdcbfe5c0c97598a2bd2555d1aa"
       "8cb08e48590dbb3da7b08b1056828838c5f61e6393ba7a0abcc9f662",
       "76fc6ece0f4e1768cddf8853bb2d551b"},
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(c.tag);
    const Buffer key = from_hex(c.key);
    const Buffer nonce = from_hex(c.nonce);
    Gcm gcm(key, execution());
    Buffer out = from_hex(c.plain);
    std::array<std::uint8_t, 16> tag;
    gcm.encrypt(nonce, from_hex(c.aad), out, out, tag);
    EXPECT_EQ(to_hex(out), c.cipher);
    EXPECT_EQ(to_hex(tag), c.tag);
    ASSERT_NO_THROW(gcm.decrypt(nonce, from_hex(c.aad), out, out, from_hex(c.tag)));
    EXPECT_EQ(to_hex(out), c.plain);
  }
}

PARAES_FOR_EVERY_BUILD(PublishedExamples);

}  // namespace
}  // namespace paraes
