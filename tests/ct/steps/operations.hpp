// The operations of one row of the kernel table that are traced step by step.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "src/kernels/kernel.hpp"

namespace paraes::steps {

inline constexpr std::size_t max_text_bytes = 8192;

// What differs from run to run. XTS keys fill `key` up to twice the key size.
struct Secrets {
  std::uint8_t key[64];
  std::uint8_t text[max_text_bytes];
};

// What is the same in all runs.
struct Shape {
  unsigned key_bytes;
  std::size_t text_bytes;
};

struct Operation {
  const char* name;
  bool (*exists)(const Kernel&);
  // Runs the operation between two marks (see mark.hpp).
  void (*run)(const Kernel&, const Shape&, const Secrets&);
};

// All operations of the kernels, and those that test the tracer. A row has those that exist for it.
[[nodiscard]] std::span<const Operation> operations();
[[nodiscard]] std::span<const Operation> probes();

}  // namespace paraes::steps
