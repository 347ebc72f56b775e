// No part of a Tink key, decoded or in base64, stays in memory that is freed, whether its keyset is
// accepted or refused.

#include <gtest/gtest.h>

#include <string>

#include "cli/secrets/tink_keyset.hpp"
#include "paraes/error.hpp"
#include "tests/support/buffers.hpp"
#include "tests/support/freed_memory.hpp"
#include "tests/support/hex.hpp"
#include "tests/support/message_of.hpp"

namespace paraes::cli {
namespace {

// A protocol buffer as in tink_keyset_test.cpp, with a key of 32 bytes.
const std::string value = "EgcIgCAQEBgDGiDzlXBoVdLQY7+4hGK/4QjRcQ2UtPZCv5xF8xP3mYqaDA==";
constexpr const char* key_hex = "f395706855d2d063bfb88462bfe108d1710d94b4f642bf9c45f313f7998a9a0c";

std::string keyset(const std::string& value_text) {
  return R"({"primaryKeyId":7,"key":[{"keyData":{"typeUrl":)"
         R"("type.googleapis.com/google.crypto.tink.AesGcmHkdfStreamingKey","value":")" +
         value_text + R"(","keyMaterialType":"SYMMETRIC"},"status":"ENABLED","keyId":7}]})";
}

SecretBytes secret(const std::string& text) {
  return SecretBytes(Bytes(reinterpret_cast<const std::uint8_t*>(text.data()), text.size()));
}

// Every 16 bytes of the key and of its base64.
void watch_for_the_key() {
  support::forget_needles();
  const support::Buffer key = support::from_hex(key_hex);
  for (std::size_t at = 0; at + 16 <= key.size(); ++at) support::add_needle(key.data() + at);
  for (std::size_t at = 12; at + 16 <= value.size() - 2; ++at) {
    support::add_needle(reinterpret_cast<const std::uint8_t*>(value.data()) + at);
  }
}

TEST(TinkKeyset, ThatIsRead_LeavesNoKeyInFreedMemory) {
  watch_for_the_key();
  SecretBytes contents = secret(keyset(value));
  support::watching = true;
  std::vector<TinkKey> keys = parse_tink_keyset(std::move(contents), "k");
  support::watching = false;
  ASSERT_EQ(keys.size(), 1U);
  EXPECT_EQ(support::to_hex(keys[0].value.span()), key_hex);
  EXPECT_EQ(support::needles_in_arena(), 17U) << "only the key that is returned";
  support::expect_nothing_left([&] { keys.clear(); });
  EXPECT_GE(support::blocks_freed, 10U) << "the test saw no block freed";
}

TEST(TinkKeyset, ThatIsRefused_LeavesNoKeyInFreedMemory) {
  const std::string whole = keyset(value);
  const std::size_t at = whole.find(value);
  std::vector<std::string> texts = {
      keyset(value + "\" \"" + value),            // two strings
      keyset(value + "\\x"),                      // no such escape
      keyset(value + "\\ud800"),                  // half a character
      keyset(value + "\n"),                       // a control character
      keyset(value + "\xff"),                     // no UTF-8
      keyset(value + "!"),                        // no base64
      keyset(value + "\",\"value\":\"" + value),  // twice
      keyset("\":true,\"" + value + "\":\"x"),    // the name of a member
      keyset(value + "\",\"a\":{\"" + value + "\":1,\"" + value + "\":2},\"b\":\""),
      whole + value,
      whole + "\"" + value + "\"",
      "\"" + value + "\"",
      "{\"primaryKeyId\":\"" + value + "\"" + whole.substr(17),
      "{\"encryptedKeyset\":\"" + value + "\"}",
      "{\"a\":-" + value + "}",
  };
  for (const std::string& other : {std::string("7.5"), "\"" + value + "\"", std::string("[]")}) {
    for (const char* name : {"status", "keyId", "typeUrl", "keyData", "key"}) {
      std::string text = whole;
      text.insert(text.find("\"" + std::string(name) + "\"") + 1, "x");
      text.insert(text.size() - 3, ",\"" + std::string(name) + "\":" + other);
      texts.push_back(text);
    }
  }
  for (std::size_t n = at + 16; n < whole.size(); n += 7) texts.push_back(whole.substr(0, n));
  for (const std::string& text : texts) {
    SCOPED_TRACE(text);
    watch_for_the_key();
    SecretBytes contents = secret(text);
    support::watching = true;
    const auto error = support::caught<InvalidArgument>(
        [&] { return parse_tink_keyset(std::move(contents), "k"); });
    support::watching = false;
    ASSERT_TRUE(error);
    EXPECT_EQ(std::string(error->what()).find(value.substr(20, 8)), std::string::npos)
        << error->what();
    EXPECT_EQ(support::leaks, 0U);
    EXPECT_EQ(support::needles_in_arena(), 0U);
  }
}

}  // namespace
}  // namespace paraes::cli
