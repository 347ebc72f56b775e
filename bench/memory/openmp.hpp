// OpenMP as an executor, as in the papers, for comparison with the library's own threads.
#pragma once

#include <string_view>

#include "bench/memory/memory_case.hpp"

namespace paraes::bench {

inline constexpr std::string_view own_threads = "threads";
inline constexpr std::string_view openmp = "openmp";

// A row of paraes in memory scope that computes the library's ranges in an OpenMP parallel loop.
class OpenMpCase : public MemoryCase {
 public:
  using MemoryCase::MemoryCase;
  void call() override;
  void lead_in() override;
  void rest() noexcept override;
};

}  // namespace paraes::bench
