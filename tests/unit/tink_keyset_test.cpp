// Tink keysets: what of JSON (RFC 8259) and base64 (RFC 4648) is read, and what is refused.

#include "cli/secrets/tink_keyset.hpp"

#include <gtest/gtest.h>

#include <sstream>
#include <string>

#include "paraes/error.hpp"
#include "tests/support/buffers.hpp"
#include "tests/support/hex.hpp"
#include "tests/support/message_of.hpp"

namespace paraes::cli {
namespace {

using support::caught;

// AES128_GCM_HKDF_4KB with a key that needs '+' and '/' in base64. The protocol buffer:
// params (2): segment size (1) 4096, derived key size (2) 16, hash (3) SHA256; key value (3).
const char* const value = "EgcIgCAQEBgDGhD7++/////7++/////7++//";
const char* const key_hex = "fbfbeffffffffbfbeffffffffbfbefff";
const std::string type_url = "type.googleapis.com/google.crypto.tink.AesGcmHkdfStreamingKey";

std::string row(const std::string& value_text, const std::string& id = "7") {
  return R"({"keyData":{"typeUrl":")" + type_url + R"(","value":")" + value_text +
         R"(","keyMaterialType":"SYMMETRIC"},"status":"ENABLED","keyId":)" + id +
         R"(,"outputPrefixType":"RAW"})";
}

std::string keyset(const std::string& rows, const std::string& primary = "7") {
  return R"({"primaryKeyId":)" + primary + R"(,"key":[)" + rows + "]}";
}

std::vector<TinkKey> parse(const std::string& text) {
  return parse_tink_keyset(
      SecretBytes(Bytes(reinterpret_cast<const std::uint8_t*>(text.data()), text.size())), "k");
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  for (std::size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size()) {
    text.replace(at, from.size(), to);
  }
  return text;
}

void expect_the_key(const std::string& text) {
  SCOPED_TRACE(text.substr(0, 500));
  const std::vector<TinkKey> keys = parse(text);
  ASSERT_EQ(keys.size(), 1U);
  EXPECT_EQ(support::to_hex(keys[0].value.span()), key_hex);
  EXPECT_TRUE(keys[0].primary);
  EXPECT_EQ(keys[0].parameters.segment_bytes, 4096U);
  EXPECT_EQ(keys[0].parameters.derived_key_bytes, 16U);
}

void expect_refused(const std::string& text, const std::string& why) {
  SCOPED_TRACE(text.substr(0, 500));
  const auto error = caught<InvalidArgument>([&] { return parse(text); });
  ASSERT_TRUE(error);
  const std::string said = error->what();
  EXPECT_EQ(said.find("k: not a usable Tink keyset: "), 0U) << said;
  EXPECT_NE(said.find(why), std::string::npos) << said;
  EXPECT_EQ(said.find(std::string(value).substr(14, 8)), std::string::npos) << said;
}

TEST(TinkKeyset, EscapesOfJson_AreDecoded) {
  const std::string text = value;
  expect_the_key(keyset(row(text)));
  expect_the_key(keyset(row(replaced(text, "+", "\\u002B"))));
  expect_the_key(keyset(row(replaced(text, "+", "\\u002b"))));
  expect_the_key(keyset(row(replaced(text, "/", "\\/"))));
  expect_the_key(keyset(row(replaced(text, "/", "\\u002F"))));
  std::string all;
  for (const char c : text) {
    const char digits[] = "0123456789abcdef";
    all += std::string("\\u00") + digits[c / 16] + digits[c % 16];
  }
  expect_the_key(keyset(row(all)));
  expect_the_key(replaced(keyset(row(text)), "\"value\"", "\"\\u0076alue\""));
  expect_the_key(replaced(keyset(row(text)), "\"ENABLED\"", "\"\\u0045NABLED\""));
  expect_refused(keyset(row("\\u00" + text)), "JSON");
  expect_refused(keyset(row("\\x45" + text)), "JSON");
  expect_refused(keyset(row("\\ud800" + text)), "JSON");
  expect_refused(keyset(row(text + "\n")), "JSON");
  expect_refused(keyset(row(text + "\xff")), "JSON");
  expect_refused(keyset(row(text + "\\u0000")), "base64");
  expect_refused(keyset(row(text + "\\u00e9")), "base64");
}

TEST(TinkKeyset, Base64AndBase64Url_WithAndWithoutPadding) {
  const std::string text = value;
  const std::string url = replaced(replaced(text, "+", "-"), "/", "_");
  expect_the_key(keyset(row(url)));
  // A field that is unknown (15, a varint) makes the message one byte, or two, longer.
  for (const char* more : {"eAE", "eIAB"}) {
    for (const std::string& whole : {text + more, url + more}) {
      expect_the_key(keyset(row(whole)));
      const std::string padded = whole + std::string((4 - whole.size() % 4) % 4, '=');
      expect_the_key(keyset(row(padded)));
      expect_the_key(keyset(row(replaced(padded, "=", "\\u003d"))));
      expect_refused(keyset(row(padded + "=")), "base64");
      expect_refused(keyset(row(padded + "====")), "base64");
    }
  }
  const std::string url_with_standard = replaced(text, "+", "-");
  for (const std::string& bad :
       {url_with_standard, text + "A", text + "=", text + "==", text + "AA=", text + "AAA==",
        "=" + text, text.substr(0, 20) + "=" + text.substr(20), text + " ", " " + text,
        text.substr(0, 20) + "!" + text.substr(21), text.substr(0, 20) + "\\n" + text.substr(20),
        text + "\\r\\n", std::string("A"), std::string("="), std::string("====")}) {
    expect_refused(keyset(row(bad)), "base64");
  }
  for (const std::string& empty : {std::string(), std::string("EgA="), std::string("AAAA")}) {
    expect_refused(keyset(row(empty)), "");
  }
}

TEST(TinkKeyset, Ids_AreIntegersOf32Bits) {
  for (const char* id : {"0", "1", "2147483648", "4294967295"}) {
    const auto keys = parse(keyset(row(value, id), id));
    ASSERT_EQ(keys.size(), 1U);
    EXPECT_EQ(std::to_string(keys[0].id), id);
  }
  std::istringstream bad(
      "4294967296 4294967303 18446744073709551615 18446744073709551616 18446744073709551623 2.2e20 "
      "1e400 -1 -4294967289 7.0 7.5 0.7e1 7e0 \"7\" null true [7] {} 07 +7 0x7 NaN \xd9\xa7");
  for (std::string id; bad >> id;) {
    expect_refused(keyset(row(value, id)), "");
    expect_refused(keyset(row(value), id), "");
  }
  expect_refused(keyset(row(value, "4294967303")), "'keyId' is not an integer from 0 to 2^32 - 1");
  expect_refused(keyset(row(value), "7.5"), "'primaryKeyId' is not an integer from 0 to 2^32 - 1");
}

TEST(TinkKeyset, NamesOfProtocolBuffers_AreReadAsTinkDoes) {
  std::string snake = keyset(row(value));
  for (const auto& [camel, other] :
       {std::pair("primaryKeyId", "primary_key_id"), std::pair("keyData", "key_data"),
        std::pair("typeUrl", "type_url"), std::pair("keyId", "key_id"),
        std::pair("keyMaterialType", "key_material_type")}) {
    snake = replaced(snake, std::string("\"") + camel + "\"", std::string("\"") + other + "\"");
  }
  expect_the_key(snake);
  expect_refused(replaced(keyset(row(value)), "\"keyId\":7", R"("keyId":7,"key_id":7)"), "both");
}

// Members that no keyset has are ignored, also with a value in them.
TEST(TinkKeyset, UnknownMembers_AreIgnored) {
  const std::string text = keyset(row(value));
  expect_the_key("{\"value\":\"AAAA\"," + text.substr(1));
  expect_the_key("{\"note\":\"\\\"value\\\":\\\"AAAA\\\"\"," + text.substr(1));
  expect_the_key("{\"old\":{\"value\":\"AAAA\",\"key\":[]}," + text.substr(1));
  expect_the_key(" \r\n\t" + text + " \r\n\t");
}

TEST(TinkKeyset, MembersThatOccurTwice_AreRefused) {
  const std::string text = keyset(row(value));
  for (const std::string& twice :
       {replaced(text, "{\"primaryKeyId\":7", "{\"primaryKeyId\":8,\"primaryKeyId\":7"),
        replaced(text, "\"value\"", "\"value\":\"AAAA\",\"value\""),
        replaced(text, "\"value\"", "\"\\u0076alue\":\"AAAA\",\"value\""),
        replaced(text, "\"status\"", "\"status\":\"DISABLED\",\"status\""),
        replaced(text, "{\"primary", "{\"a\":[{\"b\":1,\"b\":1}],\"primary")}) {
    expect_refused(twice, "twice");
  }
}

TEST(TinkKeyset, TextBeforeOrAfterTheObject_IsRefused) {
  const std::string text = keyset(row(value));
  for (const std::string& more : {std::string("}"), std::string("{}"), std::string(","),
                                  std::string("x"), std::string("\0", 1), std::string("\0x", 2),
                                  std::string("\x1a"), "\n" + text, std::string("\xef\xbb\xbf")}) {
    expect_refused(text + more, "JSON");
    expect_refused(more + text, "JSON");
  }
  expect_refused("[" + text + "]", "JSON");
  expect_refused("/* */" + text, "JSON");
  expect_refused("", "JSON");
  for (std::size_t n = 0; n < text.size(); ++n) expect_refused(text.substr(0, n), "JSON");
}

TEST(TinkKeyset, MembersOfAnotherType_AreRefused) {
  const std::string text = keyset(row(value));
  for (const char* other : {"null", "7", "7.5", "true", "[]", "{}", "\"x\"", "[null]", "[[]]"}) {
    expect_refused(replaced(text, "\"" + std::string(value) + "\"", other), "");
    expect_refused(replaced(text, "\"ENABLED\"", other), "");
    expect_refused(replaced(text, "\"" + type_url + "\"", other), "");
    expect_refused(std::string("{\"primaryKeyId\":7,\"key\":") + other + "}", "");
    expect_refused(keyset(std::string(R"({"status":"ENABLED","keyId":7,"keyData":)") + other + "}"),
                   "");
    expect_refused(keyset(std::string(other) + "," + row(value)), "");
  }
  for (const char* status : {"\"enabled\"", "\"UNKNOWN_STATUS\"", "1", "\"\""}) {
    expect_refused(replaced(text, "\"ENABLED\"", status), "status");
  }
  expect_refused(replaced(text, "value", "velue"), "'value' is missing");
  expect_refused(replaced(text, "\"primaryKeyId\"", "\"x\""), "'primaryKeyId' is missing");
  // Nothing of a name of another type that a terminal could execute.
  expect_refused(replaced(text, type_url, "\\u001b[31m"), "another type");
}

// As deep as a keyset of 64 KiB can be.
TEST(TinkKeyset, DeepNesting_IsRefusedOrIgnored) {
  const std::string text = keyset(row(value));
  const std::size_t depth = 32000;
  const std::string lists = std::string(depth, '[') + std::string(depth, ']');
  expect_the_key("{\"x\":" + lists + "," + text.substr(1));
  expect_refused(keyset(std::string(60000, '[')), "JSON");
  expect_refused(keyset(lists), "");
  std::string objects;
  for (std::size_t i = 0; i < 10000; ++i) objects += "{\"a\":";
  expect_the_key("{\"x\":" + objects + "1" + std::string(10000, '}') + "," + text.substr(1));
}

}  // namespace
}  // namespace paraes::cli
