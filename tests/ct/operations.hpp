// The operations of one kernel, for the tests that run them under valgrind or step
// by step, and those that measure their time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "src/kernels/kernel.hpp"

namespace paraes::ct {

inline constexpr std::size_t max_messages = 32;  // of operations on several
inline constexpr std::size_t max_text_bytes = max_messages * 4096;

// Values that differ from run to run. XTS keys fill `key` up to twice the key size.
struct Secrets {
  alignas(64) std::uint8_t key[64];
  alignas(64) std::uint8_t text[max_text_bytes];
  // In which byte a forged tag is wrong, and by which bits. None: comparisons get a right tag.
  std::size_t forged_byte;
  std::uint8_t forged_bits;
};

// The input of an operation: `secrets`, and values that are the same in all runs.
struct Work {
  const Kernel& kernel;
  unsigned key_bytes;
  std::size_t text_bytes;  // of a message: up to 4096 if there are several
  const Secrets& secrets;
  std::size_t messages = 7;  // more than are interleaved, and some that are left
};

// Everything that `run` reads and writes is at the same address in all runs.
struct Operation {
  const char* name;
  bool (*exists)(const Kernel&);
  void (*use_key)(const Work&);
  void (*prepare)(const Work&);  // before each run
  void (*run)(const Work&);
};

[[nodiscard]] inline bool always(const Kernel&) { return true; }
inline void nothing(const Work&) {}

// All operations of the kernels, of which each has those that exist for it; and those that test
// the tracer of tests/ct/steps.
[[nodiscard]] std::span<const Operation> operations();
[[nodiscard]] std::span<const Operation> probes();

// Returns what an operation has written, without keys and verdicts.
[[nodiscard]] std::span<const std::uint8_t> output_of(const Operation& operation, const Work& work);

}  // namespace paraes::ct
