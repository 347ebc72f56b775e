// What the suites of jobs in memory have in common.
#pragma once

#include <map>
#include <string>

#include "axes.hpp"
#include "harness/variant.hpp"
#include "memory/job.hpp"
#include "paraes/kernels.hpp"

namespace paraes::bench {

// The row of a job on the CPU, without its kernel.
[[nodiscard]] Row row_of(const Job& job);

// Throws Skip for a job that no implementation can do.
void refuse(const Job& job);

// Kernels of one kind of device by name.
class KernelTable {
 public:
  explicit KernelTable(const std::vector<KernelInfo>& list, std::string kind);
  // Throws Skip if there is no such kernel, or this machine cannot run it.
  void require(const std::string& name) const;

 private:
  std::map<std::string, KernelInfo, std::less<>> infos_;
  std::string kind_;
};

[[nodiscard]] bool has(const std::vector<std::string>& list, std::string_view word);

// Why a device cannot be used here; empty if it can.
[[nodiscard]] std::string why_missing(const std::string& device);

}  // namespace paraes::bench
