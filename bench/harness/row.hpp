// The axes of one result, with the names and values of the JSON schema.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "paraes/ciphers.hpp"
#include "paraes/streams.hpp"

namespace paraes::bench {

// The modes of BlockMode, and GCM.
enum class Mode : std::uint8_t { ecb, cbc, ctr, xts, gcm };
inline constexpr Mode all_modes[] = {Mode::ecb, Mode::cbc, Mode::ctr, Mode::xts, Mode::gcm};

[[nodiscard]] constexpr std::string_view to_string(Mode mode) {
  return mode == Mode::gcm ? "gcm" : block_mode_names.at(static_cast<unsigned>(mode));
}
[[nodiscard]] constexpr std::string_view to_string(Direction direction) {
  return direction == Direction::encrypt ? "encrypt" : "decrypt";
}

// The keys of many messages.
enum class Keys {
  one,   // the job's key, for all
  each,  // a message_key() each, expanded before
  once,  // the same, expanded in the call
};

// Empty strings and optionals are null in the JSON.
struct Row {
  std::string rival = {};  // empty for paraes itself
  std::string device = "cpu";
  std::string kernel = {};  // the one that ran, never auto; empty for a rival
  std::optional<Mode> mode = {};
  std::optional<int> key_bits = {};
  std::optional<Direction> direction = {};
  int threads = 1;  // 0 on a GPU
  // "threads" or "openmp", in memory scope with several CPU threads; else empty.
  std::string executor = {};
  int ranks = 1;
  std::uint64_t bytes = 0;  // of plaintext in one call
  std::uint64_t messages = 1;
  // "one" key for all of many messages, or "each" its own; in memory scope on the CPU, else empty.
  std::string keys = {};
  std::string scope = "memory";
  std::string format = {};  // in file scope only
  bool in_place = false;
  // "warm" if what a call touches fits in the last-level cache, else "cold"; empty in GPU memory.
  // File scope does not compute it: always "warm".
  std::string cache = "warm";
  std::string key_expansion = {};
  std::optional<unsigned> group_threads = {};  // of a GPU's kernels, where --group-threads set them
  std::string gpu_tuning = {};                 // of a GPU, as --gpu-tuning has it
  std::string transfer = {};
  std::string traffic = {};  // what a rival on a GPU does with the text; else empty
  std::string distribution = {};
  bool overlap = false;

  bool operator==(const Row&) const = default;

  // The name of the kernel or of the rival.
  [[nodiscard]] const std::string& who() const { return rival.empty() ? kernel : rival; }
};

}  // namespace paraes::bench
