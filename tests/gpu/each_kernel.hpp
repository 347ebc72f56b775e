// Test suites whose parameter is the name of a GPU kernel.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "paraes/kernels.hpp"

namespace paraes::support {

inline std::vector<std::string> gpu_kernel_names() {
  std::vector<std::string> names;
  for (const KernelInfo& kernel : gpu_kernels()) names.emplace_back(kernel.name);
  return names;
}

// A hyphen cannot be in the name of a test.
inline std::string test_name_of(const testing::TestParamInfo<std::string>& kernel) {
  std::string name = kernel.param;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

}  // namespace paraes::support

#define PARAES_FOR_EACH_GPU_KERNEL(prefix, Suite)                                    \
  INSTANTIATE_TEST_SUITE_P(prefix, Suite,                                            \
                           testing::ValuesIn(::paraes::support::gpu_kernel_names()), \
                           ::paraes::support::test_name_of)
