#include "cli/secrets/tink_keyset.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>

#include "cli/words/errors.hpp"
#include "cli/words/json_input.hpp"
#include "paraes/error.hpp"

namespace paraes::cli {
namespace {

constexpr std::string_view type_url =
    "type.googleapis.com/google.crypto.tink.AesGcmHkdfStreamingKey";

[[noreturn]] void fail(std::string_view name, std::string_view why) {
  throw refusal("{}: not a usable Tink keyset: {}", name, why);
}

// Gives strings the memory of SecretBytes, which holds its own SecretBytes in front.
template <class T>
struct SecretAllocator {
  using value_type = T;

  SecretAllocator() noexcept = default;
  template <class Other>
  explicit SecretAllocator(const SecretAllocator<Other>&) noexcept {}

  [[nodiscard]] T* allocate(std::size_t count) {
    SecretBytes memory(front + count * sizeof(T));
    std::uint8_t* const data = memory.data();
    new (data) SecretBytes(std::move(memory));
    return reinterpret_cast<T*>(data + front);
  }
  void deallocate(T* elements, std::size_t) noexcept {
    auto* const memory =
        reinterpret_cast<SecretBytes*>(reinterpret_cast<std::uint8_t*>(elements) - front);
    const SecretBytes released(std::move(*memory));
  }
  template <class Other>
  bool operator==(const SecretAllocator<Other>&) const noexcept {
    return true;
  }

 private:
  static constexpr std::size_t front = 64;
  static_assert(sizeof(SecretBytes) <= front && alignof(T) <= front);
};

using SecretString = std::basic_string<char, std::char_traits<char>, SecretAllocator<char>>;
using KeysetJson = nlohmann::basic_json<UniqueMembers, std::vector, SecretString>;

// Reads the members of a message of Tink from JSON. Protocol buffers have two names for a member,
// in camelCase and in snake_case, and Tink's readers accept both.
class Members {
 public:
  Members(const KeysetJson& object, std::string_view name) : object_(object), name_(name) {
    if (!object.is_object()) fail(name, "one of its messages is not a JSON object");
  }

  [[nodiscard]] const KeysetJson* find(const char* camel, const char* snake) const {
    const auto first = object_.find(camel);
    const auto second = std::string_view(camel) == snake ? object_.end() : object_.find(snake);
    if (first != object_.end() && second != object_.end()) {
      fail(name_, fmt::format("it has both '{}' and '{}'", camel, snake));
    }
    if (first != object_.end()) return &*first;
    return second != object_.end() ? &*second : nullptr;
  }

  [[nodiscard]] const KeysetJson& at(const char* camel, const char* snake) const {
    const KeysetJson* const value = find(camel, snake);
    if (value == nullptr) fail(name_, fmt::format("'{}' is missing", camel));
    return *value;
  }

  [[nodiscard]] std::string_view text(const char* camel, const char* snake) const {
    const auto* const value = at(camel, snake).get_ptr<const SecretString*>();
    if (value == nullptr) fail(name_, fmt::format("'{}' is not a string", camel));
    return *value;
  }

  [[nodiscard]] std::uint32_t id(const char* camel, const char* snake) const {
    const auto value = whole_number(at(camel, snake), UINT32_MAX);
    if (!value) fail(name_, fmt::format("'{}' is not an integer from 0 to 2^32 - 1", camel));
    return static_cast<std::uint32_t>(*value);
  }

 private:
  const KeysetJson& object_;
  std::string_view name_;
};

// Whether `text` can be shown: it looks like the name of a type of key, and not like a key.
bool is_type_name(std::string_view text) {
  return text.starts_with("type.googleapis.com/") && text.size() < 200 &&
         std::all_of(text.begin(), text.end(), [](char c) { return c > ' ' && c <= '~'; });
}

// Decodes base64 or base64url (RFC 4648 sections 4 and 5), with padding or without.
SecretBytes decode_base64(std::string_view text, std::string_view name) {
  constexpr std::string_view alphabet =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  const auto refuse = [&] { fail(name, "a key's value is not base64"); };
  std::size_t digits = text.size();
  while (digits != 0 && text.size() - digits < 2 && text[digits - 1] == '=') --digits;
  const bool padded = digits != text.size();
  if (digits % 4 == 1 || (padded && text.size() % 4 != 0)) refuse();
  bool standard = false;
  bool url = false;
  SecretBytes bytes(digits / 4 * 3 + digits % 4);
  std::size_t size = 0;
  std::uint32_t held = 0;  // the last `bits` of it are not in `bytes` yet
  unsigned bits = 0;
  for (const char c : text.substr(0, digits)) {
    const std::size_t digit = alphabet.find(c == '-' ? '+' : c == '_' ? '/' : c);
    if (digit == std::string_view::npos) refuse();
    standard = standard || c == '+' || c == '/';
    url = url || c == '-' || c == '_';
    held = held << 6 | static_cast<std::uint32_t>(digit);
    bits += 6;
    if (bits >= 8) {
      bits -= 8;
      bytes.data()[size++] = static_cast<std::uint8_t>(held >> bits);
    }
  }
  if (standard && url) refuse();
  bytes.truncate(size);
  return bytes;
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
  if (number == 1) return TinkHash::sha1;
  if (number == 3) return TinkHash::sha256;
  if (number == 4) return TinkHash::sha512;
  fail(name, fmt::format("hash type {} is not SHA1, SHA256 or SHA512", number));
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
  KeysetJson json;
  try {
    json = parse_json_object<KeysetJson>(
        {reinterpret_cast<const char*>(contents.data()), contents.size()});
  } catch (const InvalidArgument& error) {
    fail(name, error.what());
  }
  const Members keyset(json, name);
  if (keyset.find("encryptedKeyset", "encrypted_keyset") != nullptr) {
    fail(name,
         "it is encrypted; paraes needs a cleartext keyset (`tinkey convert-keyset` writes one)");
  }
  const std::uint32_t primary = keyset.id("primaryKeyId", "primary_key_id");
  const KeysetJson& rows = keyset.at("key", "key");
  if (!rows.is_array()) fail(name, "'key' is not a list");
  std::vector<TinkKey> keys;
  for (const KeysetJson& row : rows) {
    const Members members(row, name);
    const std::uint32_t id = members.id("keyId", "key_id");
    const std::string_view status = members.text("status", "status");
    // A key that is not enabled may be of any type, or have no data.
    if (status == "DISABLED" || status == "DESTROYED") continue;
    if (status != "ENABLED") fail(name, "a status is not ENABLED, DISABLED or DESTROYED");
    const Members data(members.at("keyData", "key_data"), name);
    if (const std::string_view type = data.text("typeUrl", "type_url"); type != type_url) {
      fail(name, fmt::format("it has a key of {}, not of AES-GCM-HKDF streaming",
                             is_type_name(type) ? fmt::format("type {}", type) : "another type"));
    }
    const SecretBytes value = decode_base64(data.text("value", "value"), name);
    TinkKey key = parse_key(value.span(), name);
    key.id = id;
    key.primary = id == primary;
    keys.push_back(std::move(key));
  }
  if (std::count_if(keys.begin(), keys.end(), [](const TinkKey& key) { return key.primary; }) > 1) {
    fail(name, "it has several primary keys");
  }
  std::stable_partition(keys.begin(), keys.end(), [](const TinkKey& key) { return key.primary; });
  if (keys.empty() || !keys.front().primary) fail(name, "its primary key is missing or disabled");
  return keys;
}

}  // namespace paraes::cli
