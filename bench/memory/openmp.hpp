// OpenMP as an executor: what the papers measured, beside the library's own threads.
#pragma once

#include <string_view>

#include "bench/memory/memory_case.hpp"

namespace paraes::bench {

inline constexpr std::string_view own_threads = "threads";
inline constexpr std::string_view openmp = "openmp";

// Our row of memory scope whose runs OpenMP spreads: the same runs, by a parallel loop.
class OpenMpCase : public MemoryCase {
 public:
  using MemoryCase::MemoryCase;
  void call() override;
  void lead_in() override;
  void rest() noexcept override;
};

}  // namespace paraes::bench
