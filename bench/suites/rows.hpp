// What the suites have in common.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "bench/axes.hpp"
#include "bench/harness/variant.hpp"
#include "bench/memory/job.hpp"
#include "paraes/kernels.hpp"

namespace paraes::bench {

// The row of a job on the CPU, without its kernel.
[[nodiscard]] Row row_of(const Job& job);

// Throws Skip for a job that no implementation can do.
void refuse(const Job& job);

// Throws Skip for what cannot be spread over a GPU.
void refuse_serial(Mode mode, Direction direction);

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

// Lists all rows of a device in a scope as skipped.
void skip_device(Plan& plan, const std::string& device, const std::string& scope,
                 const std::string& reason);

// The GPUs among the devices that are there. The others are listed as skipped.
[[nodiscard]] std::vector<std::string> present_gpus(const Axes& axes, const std::string& scope,
                                                    Plan& plan);

// Lists rows by OpenMP as skipped, where the threads are the library's own for `reason`.
void skip_openmp(const Axes& axes, const std::string& scope, const std::string& reason, Plan& plan);

// Lists the rows of the CPU as skipped that would have a GPU expand keys.
void skip_device_keys_of_cpu(const Axes& axes, const std::string& scope, Plan& plan);

}  // namespace paraes::bench
