// The types of a table of flags, whose rows store what each flag is given in a struct of options.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>
#include <vector>

#include "cli/arguments/flags.hpp"
#include "cli/words/choices.hpp"
#include "cli/words/numbers.hpp"
#include "cli/words/sizes.hpp"

namespace paraes::cli::flag_table {

// The verbs that have a flag, one bit each.
using Verbs = unsigned;

// What a flag is given, and where that goes in the options.
template <class Options>
struct Value {
  std::string (*type)() = nullptr;  // as --help shows it; null: a switch, which is given nothing
  void (*store)(Options& options, const std::string& flag, const std::string& text) = nullptr;
  bool (*given)(const Options& options) = nullptr;
  bool repeats = false;
};

template <class Options>
struct Use {
  Verbs verbs = 0;
  Value<Options> value;
  const char* help = nullptr;
};

// When a flag has no effect, or contradicts another. In `otherwise`, {flag} stands for it, {format}
// for the format's name, {mode} for the mode's, {descriptor} for FlagFacts::descriptor, and {to}
// for "to-" or nothing.
template <class Options>
struct Rule {
  bool (*fits)(const Options& options, const FlagFacts& facts) = nullptr;
  const char* otherwise = nullptr;
};

template <class Options>
struct Flag {
  const char* names = nullptr;  // as CLI11 takes them: the short one first
  const char* group = nullptr;
  std::array<Use<Options>, 4> uses;  // for different verbs
  std::array<Rule<Options>, 4> rules = {};
};

template <class T>
struct MemberOf;
template <class T, class Options>
struct MemberOf<T Options::*> {
  using Class = Options;
  using Type = T;
};
template <auto member>
using ClassOf = typename MemberOf<decltype(member)>::Class;

template <auto member>
bool is_given(const ClassOf<member>& options) {
  using Type = typename MemberOf<decltype(member)>::Type;
  const Type& value = options.*member;
  if constexpr (std::is_same_v<Type, bool>) {
    return value;
  } else if constexpr (std::is_same_v<Type, std::vector<std::string>>) {
    return !value.empty();
  } else if constexpr (std::is_arithmetic_v<Type>) {
    return value != Type{};
  } else {
    return value.has_value();
  }
}

// The kinds of values. `read` returns what the text means, or throws InvalidArgument.
template <auto member, auto read>
void store(ClassOf<member>& options, const std::string& flag, const std::string& text) {
  options.*member = read(flag, text);
}

template <auto member, auto type, auto read>
constexpr Value<ClassOf<member>> value_of() {
  return {type, store<member, read>, is_given<member>};
}

template <auto member>
constexpr Value<ClassOf<member>> on() {
  return {nullptr,
          [](ClassOf<member>& options, const std::string&, const std::string&) {
            options.*member = true;
          },
          is_given<member>};
}

// A word in --help, as the parameter of a template.
template <std::size_t n>
struct Name {
  constexpr Name(const char (&text)[n]) {  // NOLINT(google-explicit-constructor)
    std::copy_n(text, n, letters.begin());
  }
  std::array<char, n> letters{};
};
template <Name name>
std::string type_named() {
  return name.letters.data();
}

inline std::string as_it_is(const std::string&, const std::string& given) { return given; }

template <auto member, Name type>
constexpr Value<ClassOf<member>> text() {
  return value_of<member, type_named<type>, as_it_is>();
}

template <auto member, Name type>
constexpr Value<ClassOf<member>> list() {
  return {type_named<type>,
          [](ClassOf<member>& options, const std::string&, const std::string& given) {
            (options.*member).push_back(given);
          },
          is_given<member>, true};
}

inline std::vector<std::uint8_t> read_hex(const std::string& flag, const std::string& given) {
  return parse_hex(given, flag);
}

template <auto member>
constexpr Value<ClassOf<member>> hex() {
  return value_of<member, type_named<"HEX">, read_hex>();
}

template <auto member, std::uint64_t least, std::uint64_t most>
constexpr Value<ClassOf<member>> number() {
  return {type_named<"N">,
          [](ClassOf<member>& options, const std::string& flag, const std::string& given) {
            using Type = typename NumberInside<typename MemberOf<decltype(member)>::Type>::type;
            options.*member = static_cast<Type>(parse_number(given, flag, least, most));
          },
          is_given<member>};
}

template <auto& choices>
std::string type_of_numbers() {
  return fmt::format("{}", fmt::join(choices, "|"));
}

template <auto& choices>
unsigned read_number_of(const std::string& flag, const std::string& given) {
  return parse_number_of(given, flag, choices);
}

template <auto member, auto& choices>
constexpr Value<ClassOf<member>> number_of() {
  return value_of<member, type_of_numbers<choices>, read_number_of<choices>>();
}

inline std::uint64_t read_size(const std::string& flag, const std::string& given) {
  return parse_size(given, flag);
}

template <auto member>
constexpr Value<ClassOf<member>> size() {
  return value_of<member, type_named<"SIZE">, read_size>();
}

template <auto& choices>
std::string type_of_choices() {
  return type_of(choices);
}

template <auto& choices>
auto read_choice(const std::string& flag, const std::string& given) {
  return pick(flag, choices, given);
}

// `shown`: the words for --help. Others among `choices` are understood, and refused by a rule.
template <auto member, auto& choices, auto& shown = choices>
constexpr Value<ClassOf<member>> choice() {
  return value_of<member, type_of_choices<shown>, read_choice<choices>>();
}

template <class Options>
constexpr Use<Options> use(Verbs verbs, Value<Options> value, const char* help) {
  return {verbs, value, help};
}

template <class Options>
constexpr Rule<Options> rule(bool (*fits)(const Options& options, const FlagFacts& facts),
                             const char* otherwise) {
  return {fits, otherwise};
}

// `parts`: uses and rules.
template <class Options, class... Parts>
constexpr Flag<Options> row(const char* names, const char* group, Parts... parts) {
  Flag<Options> flag = {names, group, {}, {}};
  std::size_t uses = 0;
  std::size_t rules = 0;
  const auto add = [&](auto part) {
    if constexpr (std::is_same_v<decltype(part), Use<Options>>) {
      flag.uses.at(uses++) = part;
    } else {
      flag.rules.at(rules++) = part;
    }
  };
  (add(parts), ...);
  return flag;
}

}  // namespace paraes::cli::flag_table
