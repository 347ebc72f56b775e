// One line of a benchmark: what ran, in the words of the JSON schema.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "paraes/ciphers.hpp"

namespace paraes::bench {

enum class Mode : std::uint8_t { ecb, cbc, ctr, xts, gcm };

[[nodiscard]] std::string_view to_string(Mode mode);
[[nodiscard]] std::string_view to_string(Direction direction);

// Empty strings and optionals are null in the JSON.
struct Row {
  std::string rival;  // empty for ours
  std::string device = "cpu";
  std::string kernel;  // what ran, never auto; empty for a rival
  std::optional<Mode> mode;
  std::optional<int> key_bits;
  std::optional<Direction> direction;
  int threads = 1;  // 0 on a GPU
  // What spreads the work over the threads: in memory scope on several threads of the CPU.
  std::string executor;
  int ranks = 1;
  std::uint64_t bytes = 0;  // of plaintext in one run
  std::uint64_t messages = 1;
  std::string scope = "memory";
  std::string format;  // in file scope only
  bool in_place = false;
  std::string cache = "warm";
  std::string key_expansion;
  std::string transfer;
  std::string distribution;
  bool overlap = false;

  // The kernel or the rival's name.
  [[nodiscard]] const std::string& who() const { return rival.empty() ? kernel : rival; }
};

}  // namespace paraes::bench
