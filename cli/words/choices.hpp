// The words that flags take. Parsers look them up, --help lists them, and completions offer them.
#pragma once

#include <fmt/format.h>

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/words/errors.hpp"
#include "cli/words/spelling.hpp"
#include "paraes/devices.hpp"
#include "paraes/keys.hpp"
#include "paraes/messages.hpp"
#include "paraes/streams.hpp"

namespace paraes::cli {

enum class Format { paraes, c2sp, tink, raw, openssl };

// Whether decryption makes holes of zeros.
enum class Sparse { automatic, never };

template <class T>
struct Word {
  std::string_view word;
  T value;
};

// The words of an enumeration whose names the library lists.
template <class T, std::size_t n>
constexpr std::array<Word<T>, n> named(const std::array<std::string_view, n>& names) {
  std::array<Word<T>, n> words = {};
  for (std::size_t i = 0; i < n; ++i) words.at(i) = {names.at(i), static_cast<T>(i)};
  return words;
}

// The words of the values of a type.
constexpr auto choices_of(Format) { return named<Format>(format_names); }
constexpr auto choices_of(BlockMode) { return named<BlockMode>(block_mode_names); }
constexpr auto choices_of(SaltedKdf) { return named<SaltedKdf>(salted_kdf_names); }
constexpr auto choices_of(Digest) { return named<Digest>(digest_names); }
constexpr auto choices_of(Transfer) { return named<Transfer>(transfer_names); }
constexpr auto choices_of(KeyExpansion) { return named<KeyExpansion>(key_expansion_names); }
constexpr std::array<Word<TinkHash>, 3> choices_of(TinkHash) {
  return {{{"SHA1", TinkHash::sha1}, {"SHA256", TinkHash::sha256}, {"SHA512", TinkHash::sha512}}};
}
constexpr std::array<Word<Sparse>, 2> choices_of(Sparse) {
  return {{{"auto", Sparse::automatic}, {"never", Sparse::never}}};
}
constexpr std::array<Word<KeyEncoding>, 2> choices_of(KeyEncoding) {
  return {{{"raw", KeyEncoding::raw}, {"hex", KeyEncoding::hex}}};
}

template <class T, std::size_t n>
std::vector<std::string> words_of(const std::array<Word<T>, n>& choices) {
  std::vector<std::string> words;
  words.reserve(n);
  for (const Word<T>& choice : choices) words.emplace_back(choice.word);
  return words;
}

// For --help: "staged|mapped", or "staged,mapped" if the flag takes a list.
template <class T, std::size_t n>
std::string type_of(const std::array<Word<T>, n>& choices, const char* separator = "|") {
  return fmt::format("{}", fmt::join(words_of(choices), separator));
}

template <class T, std::size_t n>
std::optional<T> find_choice(const std::array<Word<T>, n>& choices, std::string_view word) {
  for (const Word<T>& choice : choices) {
    if (word == choice.word) return choice.value;
  }
  return std::nullopt;
}

// Throws InvalidArgument, which lists the words that `flag` takes, if `word` is none of them.
template <class T, std::size_t n>
T pick(std::string_view flag, const std::array<Word<T>, n>& choices, std::string_view word) {
  if (const std::optional<T> value = find_choice(choices, word)) return *value;
  throw refusal("{} is {}, not '{}'", flag, listed(words_of(choices), "or"), word);
}

[[nodiscard]] inline std::string_view format_name(Format format) {
  return format_names.at(static_cast<std::size_t>(format));
}

[[nodiscard]] inline bool is_authenticated(Format format) {
  return static_cast<std::size_t>(format) < authenticated_formats;
}

}  // namespace paraes::cli
