// OpenMP as an executor, as in the papers, for comparison with the library's own threads.
#pragma once

#include <memory>
#include <string_view>

#include "bench/memory/memory_case.hpp"
#include "bench/memory/openmp_functions.hpp"

namespace paraes::bench {

inline constexpr std::string_view own_threads = "threads";
inline constexpr std::string_view openmp = "openmp";

// Opens the module at the first call. Throws Skip if it is missing, needs a library that is
// missing, or lies where others could change it.
[[nodiscard]] const OpenMpFunctions& openmp_functions();

// A row of paraes in memory scope that computes the library's ranges in an OpenMP parallel loop.
class OpenMpCase : public MemoryCase {
 public:
  // Throws Skip as openmp_functions() does.
  OpenMpCase(Row row, const Job& job, std::unique_ptr<Implementation> implementation,
             std::shared_ptr<Arena> arena);
  void call() override;
  void lead_in() override;
  void rest() noexcept override;

 private:
  const OpenMpFunctions& functions_;
};

}  // namespace paraes::bench
