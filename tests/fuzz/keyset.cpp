// Fuzzes Tink keysets: a text is refused with InvalidArgument, or it gives usable keys. An input
// that begins with a byte 1 has the fields of keys, which base64 would hide from libFuzzer; these
// keys are read as they were written, or refused for a reason.

#include <algorithm>
#include <optional>

#include "cli/secrets/tink_keyset.hpp"
#include "paraes/error.hpp"
#include "tests/fuzz/input.hpp"
#include "tests/fuzz/oracle.hpp"

namespace paraes::fuzz {
namespace {

using cli::TinkKey;

// Nothing if it is refused.
std::optional<std::vector<TinkKey>> keys_in(const std::string& text) {
  const Bytes bytes(reinterpret_cast<const std::uint8_t*>(text.data()), text.size());
  try {
    return cli::parse_tink_keyset(SecretBytes(bytes), "the keyset");
  } catch (const InvalidArgument&) {
    return std::nullopt;
  }
}

void check_usable(const std::vector<TinkKey>& keys) {
  require(!keys.empty() && keys.front().primary);
  for (const TinkKey& key : keys) {
    static_cast<void>(new_tink_message(key.parameters, key.value.span(), {}));
    require(key.primary == (&key == keys.data()));
  }
}

struct Written {
  std::uint64_t version = 0;
  std::uint64_t segment_bytes = 0;
  std::uint64_t derived_key_bytes = 0;
  std::uint64_t hash = 0;
  Buffer value;
  std::uint64_t id = 0;
  std::string status;

  [[nodiscard]] bool is_enabled() const { return status == "ENABLED"; }
};

// A number of the kind that a field may have, or another one.
template <std::size_t count>
std::uint64_t any_number(Input& input, const std::uint64_t (&likely)[count]) {
  return input.ConsumeBool() ? one_of(input, likely) : input.ConsumeIntegral<std::uint64_t>();
}

Written any_key(Input& input) {
  const std::string statuses[] = {"ENABLED", "ENABLED", "DISABLED", "DESTROYED", "UNKNOWN_STATUS"};
  Written key;
  if (number(input, 0, 7) == 7) key.version = input.ConsumeIntegral<std::uint64_t>();
  key.segment_bytes = any_number(input, {41, 57, 64, 4096, 1 << 20, (std::uint64_t{1} << 31) - 1});
  key.derived_key_bytes = any_number(input, {16, 32, 24});
  key.hash = any_number(input, {1, 2, 3, 4, 5});
  key.value = take(input, number(input, 0, 70));
  key.id = any_number(input, {1, 2, 3, (std::uint64_t{1} << 32) - 1});
  key.status = one_of(input, statuses);
  return key;
}

// The wire format of protocol buffers.
void append_varint(Buffer& to, std::uint64_t value) {
  for (; value >= 128; value >>= 7) to.push_back(static_cast<std::uint8_t>(value | 128));
  to.push_back(static_cast<std::uint8_t>(value));
}

void append_field(Buffer& to, unsigned field, std::uint64_t value) {
  append_varint(to, field << 3);
  append_varint(to, value);
}

void append_field(Buffer& to, unsigned field, const Buffer& value) {
  append_varint(to, field << 3 | 2);
  append_varint(to, value.size());
  to.insert(to.end(), value.begin(), value.end());
}

Buffer message_of(const Written& key) {
  Buffer parameters;
  append_field(parameters, 1, key.segment_bytes);
  append_field(parameters, 2, key.derived_key_bytes);
  append_field(parameters, 3, key.hash);
  Buffer message;
  append_field(message, 1, key.version);
  append_field(message, 2, parameters);
  append_field(message, 3, key.value);
  return message;
}

std::string row_of(const Written& key, const Buffer& message) {
  const Buffer value = base64(message);
  return R"({"keyData":{"typeUrl":"type.googleapis.com/)"
         R"(google.crypto.tink.AesGcmHkdfStreamingKey","value":")" +
         std::string(value.begin(), value.end()) +
         R"(","keyMaterialType":"SYMMETRIC"},"status":")" + key.status + R"(","keyId":)" +
         std::to_string(key.id) + R"(,"outputPrefixType":"RAW"})";
}

std::string keyset_of(std::uint64_t primary, const std::vector<std::string>& rows) {
  std::string text = R"({"primaryKeyId":)" + std::to_string(primary) + R"(,"key":[)";
  for (const std::string& row : rows) text += (&row == rows.data() ? "" : ",") + row;
  return text + "]}";
}

bool is_usable(const Written& key) {
  const std::uint64_t d = key.derived_key_bytes;
  return key.version == 0 && (key.hash == 1 || key.hash == 3 || key.hash == 4) &&
         (d == 16 || d == 32) && key.segment_bytes > d + 24 &&
         key.segment_bytes < std::uint64_t{1} << 31 && key.value.size() >= 16 &&
         key.value.size() >= d;
}

// The keys that a keyset gives, the primary key first; none if it is refused.
std::vector<Written> expected_of(std::uint64_t primary, const std::vector<Written>& written) {
  std::vector<Written> keys;
  for (const Written& key : written) {
    if (key.status == "UNKNOWN_STATUS" || key.id > UINT32_MAX) return {};
    if (!key.is_enabled()) continue;
    if (!is_usable(key)) return {};
    keys.insert(key.id == primary ? keys.begin() : keys.end(), key);
  }
  const auto is_primary = [&](const Written& key) { return key.id == primary; };
  if (primary > UINT32_MAX || std::count_if(keys.begin(), keys.end(), is_primary) != 1) return {};
  return keys;
}

void check_fields(Input& input) {
  std::vector<Written> written;
  std::vector<std::string> rows;
  for (std::size_t n = number(input, 0, 4); n != 0; --n) {
    written.push_back(any_key(input));
    rows.push_back(row_of(written.back(), message_of(written.back())));
  }
  const std::uint64_t primary =
      written.empty() ? 1 : written[number(input, 0, written.size() - 1)].id;
  const std::vector<Written> expected = expected_of(primary, written);
  const auto keys = keys_in(keyset_of(primary, rows));
  require(keys.has_value() == !expected.empty());
  for (std::size_t i = 0; keys && i < keys->size(); ++i) {
    const TinkKey& key = (*keys)[i];
    require(keys->size() == expected.size() && key.id == expected[i].id);
    require(key.parameters.segment_bytes == expected[i].segment_bytes);
    require(key.parameters.derived_key_bytes == expected[i].derived_key_bytes);
    require(key.parameters.hash == (expected[i].hash == 1   ? TinkHash::sha1
                                    : expected[i].hash == 3 ? TinkHash::sha256
                                                            : TinkHash::sha512));
    require(equal(key.value.span(), expected[i].value));
  }
  if (keys) check_usable(*keys);
  // A key of any bytes, or of those of a key that was damaged.
  Written other{.id = 1, .status = "ENABLED"};
  Buffer message = written.empty() ? Buffer() : message_of(written.front());
  damage(input, message);
  if (input.ConsumeBool()) message = input.ConsumeRemainingBytes<std::uint8_t>();
  if (const auto read = keys_in(keyset_of(1, {row_of(other, message)}))) check_usable(*read);
}

}  // namespace

void fuzz(Input& input) {
  const std::string all = input.ConsumeRemainingBytesAsString();
  if (all.starts_with('\1')) {
    Input fields(reinterpret_cast<const std::uint8_t*>(all.data()) + 1, all.size() - 1);
    check_fields(fields);
  } else if (const auto keys = keys_in(all)) {
    check_usable(*keys);
  }
}

}  // namespace paraes::fuzz
