#include "cli/tink_keyset.hpp"

#include <fmt/format.h>
#include <openssl/evp.h>

#include <algorithm>
#include <cctype>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "paraes/error.hpp"

namespace paraes::cli {
namespace {

constexpr std::string_view type_url =
    "type.googleapis.com/google.crypto.tink.AesGcmHkdfStreamingKey";

[[noreturn]] void fail(std::string_view name, std::string_view why) {
  throw InvalidArgument(fmt::format("{} is not a usable Tink keyset: {}", name, why));
}

// Decodes base64.
SecretBytes decode_base64(Bytes text, std::string_view name) {
  std::size_t padding = 0;
  while (padding < text.size() && text[text.size() - 1 - padding] == '=') ++padding;
  SecretBytes bytes(text.size() / 4 * 3);
  const int n = text.empty() || text.size() % 4 != 0 || padding > 2
                    ? -1
                    : EVP_DecodeBlock(bytes.data(), text.data(), static_cast<int>(text.size()));
  if (n < 0) fail(name, "a key's value is not base64");
  bytes.truncate(static_cast<std::size_t>(n) - padding);
  return bytes;
}

// Decodes the string after every "value": and replaces it in the text by its index in the result. A
// JSON parser would make copies of the keys that are never overwritten.
std::vector<SecretBytes> take_values(MutableBytes text, std::string_view name) {
  constexpr std::string_view member = "\"value\"";
  const auto skip_space = [&](std::uint8_t* at) {
    return std::find_if(at, text.data() + text.size(),
                        [](std::uint8_t c) { return std::isspace(c) == 0; });
  };
  std::vector<SecretBytes> values;
  std::uint8_t* const end = text.data() + text.size();
  for (std::uint8_t* at = text.data();;) {
    at = std::search(at, end, member.begin(), member.end());
    if (at == end) return values;
    at = skip_space(at + member.size());
    if (at == end || *at != ':') continue;
    at = skip_space(at + 1);
    if (at == end || *at != '"') continue;
    std::uint8_t* const first = at + 1;
    std::uint8_t* const last = std::find(first, end, '"');
    if (last == end || last - first < 8) fail(name, "a key has no value");
    // JSON allows escapes, and some writers turn the '/' of base64 into "\/".
    std::uint8_t* const clean = std::remove(first, last, '\\');
    values.push_back(decode_base64({first, clean}, name));
    secure_zero(first, static_cast<std::size_t>(last - first));
    const std::string number = std::to_string(values.size() - 1);
    std::fill(first, last, ' ');
    std::copy(number.begin(), number.end(), first);
    at = last + 1;
  }
}

// Reads the fields of a protocol buffer (wire format) of the two kinds that these keys use.
class Fields {
 public:
  Fields(Bytes data, std::string_view name) : data_(data), name_(name) {}

  // The next field; false at the end.
  bool next() {
    if (data_.empty()) return false;
    const std::uint64_t tag = varint();
    number = tag >> 3;
    bytes = {};
    value = 0;
    switch (tag & 7) {
      case 0:
        value = varint();
        break;
      case 2: {
        const std::uint64_t n = varint();
        if (n > data_.size()) broken();
        bytes = data_.first(static_cast<std::size_t>(n));
        data_ = data_.subspan(static_cast<std::size_t>(n));
        break;
      }
      default:
        broken();
    }
    return true;
  }

  std::uint64_t number = 0;
  std::uint64_t value = 0;  // of a varint
  Bytes bytes;              // of a string or a message

 private:
  [[noreturn]] void broken() const { fail(name_, "a key's value is damaged"); }

  std::uint64_t varint() {
    std::uint64_t result = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
      if (data_.empty()) broken();
      const std::uint8_t byte = data_.front();
      data_ = data_.subspan(1);
      result |= std::uint64_t{byte & 0x7fU} << shift;
      if ((byte & 0x80) == 0) return result;
    }
    broken();
  }

  Bytes data_;
  std::string_view name_;
};

TinkHash parse_hash(std::uint64_t number, std::string_view name) {
  switch (number) {
    case 1:
      return TinkHash::sha1;
    case 3:
      return TinkHash::sha256;
    case 4:
      return TinkHash::sha512;
    default:
      fail(name, fmt::format("hash type {} is not SHA1, SHA256 or SHA512", number));
  }
}

// google.crypto.tink.AesGcmHkdfStreamingKey: version 1, params 2, key_value 3; the params:
// ciphertext_segment_size 1, derived_key_size 2, hkdf_hash_type 3.
TinkKey parse_key(Bytes message, std::string_view name) {
  TinkKey key;
  key.parameters = {.segment_bytes = 0, .derived_key_bytes = 0, .hash = TinkHash::sha256};
  std::uint64_t hash = 0;
  for (Fields fields(message, name); fields.next();) {
    if (fields.number == 1 && fields.value != 0) {
      fail(name, fmt::format("key version {} is unknown", fields.value));
    }
    if (fields.number == 3) key.value = SecretBytes(fields.bytes);
    if (fields.number != 2) continue;
    for (Fields params(fields.bytes, name); params.next();) {
      if (params.number == 1) key.parameters.segment_bytes = params.value;
      if (params.number == 2) key.parameters.derived_key_bytes = params.value;
      if (params.number == 3) hash = params.value;
    }
  }
  key.parameters.hash = parse_hash(hash, name);
  try {
    static_cast<void>(tink_layout(key.parameters));
  } catch (const InvalidArgument& error) {
    fail(name, error.what());
  }
  if (key.value.size() < 16 || key.value.size() < key.parameters.derived_key_bytes) {
    fail(name, fmt::format("a key has only {} bytes", key.value.size()));
  }
  return key;
}

}  // namespace

std::vector<TinkKey> parse_tink_keyset(SecretBytes contents, std::string_view name) {
  const std::vector<SecretBytes> values = take_values(contents.span(), name);
  std::vector<TinkKey> keys;
  try {
    const Bytes text = contents.span();
    const auto json = nlohmann::json::parse(text.begin(), text.end());
    if (json.contains("encryptedKeyset")) {
      fail(name,
           "it is encrypted; paraes needs a cleartext keyset (`tinkey convert-keyset` writes one)");
    }
    const auto primary = json.at("primaryKeyId").get<std::uint32_t>();
    for (const auto& row : json.at("key")) {
      // A key that is not enabled may be of any type, or have no data.
      if (row.at("status").get<std::string>() != "ENABLED") continue;
      const auto& data = row.at("keyData");
      if (data.at("typeUrl").get<std::string>() != type_url) {
        fail(name, fmt::format("it has a key of type {}, not of AES-GCM-HKDF streaming",
                               data.at("typeUrl").get<std::string>()));
      }
      const std::size_t index = std::stoul(data.at("value").get<std::string>());
      TinkKey key = parse_key(values.at(index).span(), name);
      key.id = row.at("keyId").get<std::uint32_t>();
      key.primary = key.id == primary;
      keys.push_back(std::move(key));
    }
  } catch (const nlohmann::json::exception&) {
    // The text of this exception could quote the keyset.
    fail(name, "it is not JSON with primaryKeyId, key, keyData, typeUrl, value, status and keyId");
  } catch (const std::logic_error&) {
    fail(name, "a key has no value");
  }
  if (std::count_if(keys.begin(), keys.end(), [](const TinkKey& key) { return key.primary; }) > 1) {
    fail(name, "it has several primary keys");
  }
  std::stable_partition(keys.begin(), keys.end(), [](const TinkKey& key) { return key.primary; });
  if (keys.empty() || !keys.front().primary) fail(name, "its primary key is missing or disabled");
  return keys;
}

}  // namespace paraes::cli
