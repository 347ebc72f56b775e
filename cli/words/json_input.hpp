// Reads JSON that paraes has not written itself, strictly by RFC 8259. What is read may be secret:
// no part of it stays in freed memory unless the strings of the `Json` type leave it there.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "paraes/error.hpp"

namespace paraes::cli {

// The character type that the JSON library sees. The library copies each token, also to quote it in
// its exceptions. The copies of a token overwrite themselves, and the quotes show asterisks.
class HiddenCharacter {
 public:
  explicit HiddenCharacter(char character) noexcept : character_(character) {}
  HiddenCharacter(const HiddenCharacter&) noexcept = default;
  HiddenCharacter& operator=(const HiddenCharacter&) noexcept = default;
  ~HiddenCharacter() { *static_cast<volatile char*>(&character_) = 0; }

  operator char() const noexcept { return '*'; }  // NOLINT(google-explicit-constructor)
  bool operator==(const HiddenCharacter& other) const noexcept = default;

 private:
  char character_;
};

// Goes through a text.
class HiddenText {
 public:
  using iterator_category = std::input_iterator_tag;
  using value_type = HiddenCharacter;
  using difference_type = std::ptrdiff_t;
  using pointer = void;
  using reference = std::uint8_t;

  explicit HiddenText(const char* at) noexcept : at_(at) {}
  std::uint8_t operator*() const noexcept { return static_cast<std::uint8_t>(*at_); }
  HiddenText& operator++() noexcept {
    ++at_;
    return *this;
  }
  HiddenText operator++(int) noexcept { return HiddenText(at_++); }
  bool operator==(const HiddenText& other) const noexcept = default;

 private:
  const char* at_;
};

// The members of an object of nlohmann::basic_json, which adds them with operator[]. A name that
// occurs twice is an error, because readers disagree about its value (RFC 8259 section 4).
template <class Name, class Value, class Compare, class Allocator>
struct UniqueMembers : std::map<Name, Value, Compare, Allocator> {
  using std::map<Name, Value, Compare, Allocator>::map;

  Value& operator[](const Name& name) {
    const auto [place, is_new] = this->try_emplace(name);
    if (!is_new) throw InvalidArgument("a member of an object occurs twice");
    return place->second;
  }
};

// Json: a nlohmann::basic_json with UniqueMembers. Throws InvalidArgument for anything but a JSON
// object.
template <class Json>
[[nodiscard]] Json parse_json_object(std::string_view text) {
  // The library takes a zero byte for the end of the text, and skips a byte order mark.
  if (text.find('\0') == std::string_view::npos && text.rfind("\xef\xbb\xbf", 0) != 0) {
    try {
      Json json = Json::parse(HiddenText(text.data()), HiddenText(text.data() + text.size()));
      if (json.is_object()) return json;
    } catch (const nlohmann::json::exception&) {  // NOLINT(bugprone-empty-catch): see below
    }
  }
  throw InvalidArgument("it is not a JSON object, with nothing before and behind it");
}

// An integer from 0 to `most`, written as such: not a fraction, an exponent or a string. nlohmann's
// get() casts any number to any type.
template <class Json>
[[nodiscard]] std::optional<std::uint64_t> whole_number(const Json& json, std::uint64_t most) {
  const auto* number = json.template get_ptr<const typename Json::number_unsigned_t*>();
  return number == nullptr || *number > most ? std::nullopt : std::optional(*number);
}

}  // namespace paraes::cli

template <>
struct std::char_traits<paraes::cli::HiddenCharacter> : std::char_traits<char> {
  using char_type = paraes::cli::HiddenCharacter;
  static char_type to_char_type(int_type character) noexcept {
    return char_type(static_cast<char>(character));
  }
  static int_type to_int_type(std::uint8_t character) noexcept { return character; }
};
