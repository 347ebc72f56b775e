// The types of a table of flags, whose rows store what each flag is given in a struct of options.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <variant>
#include <vector>

#include "cli/arguments/flags.hpp"
#include "cli/words/choices.hpp"
#include "cli/words/numbers.hpp"
#include "cli/words/sizes.hpp"

namespace paraes::cli::flag_table {

// The verbs that have a flag, one bit each.
using Verbs = unsigned;

// Where the value of a flag goes. The type of that member says how the value is read.
template <class O>
using Member =
    std::variant<bool O::*, int O::*, unsigned O::*, std::uint64_t O::*, Transfer O::*,
                 KeyExpansion O::*, Sparse O::*, SaltedKdf O::*, Digest O::*,
                 std::vector<std::string> O::*, std::vector<std::uint8_t> O::*,
                 std::optional<int> O::*, std::optional<std::uint64_t> O::*,
                 std::optional<std::string> O::*, std::optional<std::vector<std::uint8_t>> O::*,
                 std::optional<Format> O::*, std::optional<BlockMode> O::*,
                 std::optional<TinkHash> O::*, std::optional<KeyEncoding> O::*>;

// `Target`: a pointer to a member, or any of those to members of some options.
template <class Target>
struct Value {
  Target target;
  const char* type = nullptr;  // as --help shows it; null: a switch, or the choices
  std::uint64_t least = 0;
  std::uint64_t most = 0;               // 0: a size
  std::span<const unsigned> choices{};  // of numbers; empty: any
};

constexpr auto on(auto target) { return Value<decltype(target)>{target}; }
// One of the words that the type of the member has.
constexpr auto choice(auto target) { return Value<decltype(target)>{target}; }
constexpr auto text(auto target, const char* type) { return Value<decltype(target)>{target, type}; }
constexpr auto size(auto target) { return Value<decltype(target)>{target, "SIZE"}; }
constexpr auto number(auto target, std::uint64_t least, std::uint64_t most) {
  return Value<decltype(target)>{target, "N", least, most};
}
constexpr auto number_of(auto target, std::span<const unsigned> choices) {
  return Value<decltype(target)>{target, nullptr, 0, 0, choices};
}

struct Use {
  Verbs verbs = 0;
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
  Value<Member<Options>> value;
  Use uses[3] = {};  // for different verbs
  Rule<Options> rules[3] = {};

  // Null for a verb that lacks the flag.
  [[nodiscard]] const Use* use_of(Verbs verb) const {
    const auto* const found = std::find_if(std::begin(uses), std::end(uses),
                                           [&](const Use& use) { return (use.verbs & verb) != 0; });
    return found == std::end(uses) ? nullptr : found;
  }
};

constexpr Use use(Verbs verbs, const char* help) { return {verbs, help}; }

template <class Options>
constexpr Rule<Options> rule(bool (*fits)(const Options& options, const FlagFacts& facts),
                             const char* otherwise) {
  return {fits, otherwise};
}

// `parts`: uses and rules.
template <class Options, class Target, class... Parts>
constexpr Flag<Options> row(const char* names, const char* group, Value<Target> value,
                            Parts... parts) {
  Flag<Options> flag = {
      names, group, {value.target, value.type, value.least, value.most, value.choices}};
  Use* next_use = flag.uses;
  Rule<Options>* next_rule = flag.rules;
  const auto add = [&](auto part) {
    if constexpr (std::is_same_v<decltype(part), Use>) {
      *next_use++ = part;
    } else {
      *next_rule++ = part;
    }
  };
  (add(parts), ...);
  return flag;
}

// The type of a member, or of what is in it if it is optional.
template <class T, class Options>
typename NumberInside<T>::type type_in(T Options::*);

// The type that --help shows; empty for a switch, which takes no value.
template <class Target>
std::string shown_type(const Value<Target>& value) {
  if (value.type != nullptr) return value.type;
  if (!value.choices.empty()) return fmt::format("{}", fmt::join(value.choices, "|"));
  return std::visit(
      [](auto target) -> std::string {
        using Type = decltype(type_in(target));
        if constexpr (std::is_enum_v<Type>) return type_of(choices_of(Type{}));
        return "";
      },
      value.target);
}

template <class Target>
bool repeats(const Value<Target>& value) {
  return std::visit(
      [](auto target) {
        return std::is_same_v<decltype(type_in(target)), std::vector<std::string>>;
      },
      value.target);
}

// Throws InvalidArgument, which names the flag, for a text that does not fit.
template <class Options>
void store(const Value<Member<Options>>& value, Options& options, const std::string& flag,
           const std::string& text) {
  std::visit(
      [&](auto target) {
        using Type = decltype(type_in(target));
        if constexpr (std::is_same_v<Type, bool>) {
          options.*target = true;
        } else if constexpr (std::is_same_v<Type, std::vector<std::string>>) {
          (options.*target).push_back(text);
        } else if constexpr (std::is_same_v<Type, std::string>) {
          options.*target = text;
        } else if constexpr (std::is_same_v<Type, std::vector<std::uint8_t>>) {
          options.*target = parse_hex(text, flag);
        } else if constexpr (std::is_enum_v<Type>) {
          options.*target = pick(flag, choices_of(Type{}), text);
        } else if (!value.choices.empty()) {
          options.*target = static_cast<Type>(parse_number_of(text, flag, value.choices));
        } else {
          options.*target = static_cast<Type>(
              value.most == 0 ? parse_size(text, flag)
                              : parse_number(text, flag, value.least, value.most));
        }
      },
      value.target);
}

}  // namespace paraes::cli::flag_table
