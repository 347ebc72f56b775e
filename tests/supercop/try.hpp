// Shared by try_aead.cpp and try_stream.cpp: cases from standard input, and buffers with canaries.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <sstream>
#include <string>
#include <vector>

using Text = std::vector<unsigned char>;

inline std::string where;  // the case, for messages

[[noreturn]] inline void fail(const char* what) {
  std::printf("%s: %s\n", where.c_str(), what);
  std::exit(1);
}

inline void check(bool right, const char* what) {
  if (!right) fail(what);
}

// "-" is the empty text.
inline Text from_hex(const std::string& hex) {
  Text text;
  if (hex == "-") return text;
  for (std::size_t i = 0; i + 1 < hex.size(); i += 2) {
    text.push_back(static_cast<unsigned char>(std::stoul(hex.substr(i, 2), nullptr, 16)));
  }
  return text;
}

// Memory with the contents of a text, at an odd address and between canaries.
class Guarded {
 public:
  explicit Guarded(const Text& text) : bytes_(text.size()), memory_(text.size() + 2 * margin) {
    for (std::size_t i = 0; i < memory_.size(); ++i) memory_[i] = canary(i);
    if (bytes_ != 0) std::memcpy(data(), text.data(), bytes_);
  }
  explicit Guarded(std::size_t bytes) : Guarded(Text(bytes, 0xa5)) {}

  unsigned char* data() { return memory_.data() + margin; }

  [[nodiscard]] Text text() const {
    return Text(memory_.begin() + margin,
                memory_.begin() + margin + static_cast<std::ptrdiff_t>(bytes_));
  }

  [[nodiscard]] Text first(std::size_t bytes) const {
    Text all = text();
    all.resize(bytes);
    return all;
  }

  void check_canaries(const char* what) const {
    for (std::size_t i = 0; i < memory_.size(); ++i) {
      if (i >= margin && i < margin + bytes_) continue;
      check(memory_[i] == canary(i), what);
    }
  }

 private:
  static constexpr int margin = 65;
  static unsigned char canary(std::size_t i) { return static_cast<unsigned char>(i * 37 + 11); }

  std::size_t bytes_;
  std::vector<unsigned char> memory_;
};

// Calls `try_case` with the words of each line; returns the number of lines.
template <class TryCase>
int for_each_case(const TryCase& try_case) {
  std::string line;
  int count = 0;
  while (std::getline(std::cin, line)) {
    std::istringstream words(line);
    std::vector<Text> texts;
    for (std::string word; words >> word;) texts.push_back(from_hex(word));
    where = "case " + std::to_string(++count) + ", " + line.substr(0, 200);
    try_case(texts);
  }
  return count;
}
