// The kernels as test parameters. Tests of one that this machine cannot run are skipped and print
// the reason, so that the log has every kernel.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "paraes/ciphers.hpp"
#include "src/kernels/registry.hpp"
#include "tests/support/environment.hpp"

namespace paraes::support {

[[nodiscard]] std::vector<const Kernel*> compiled_kernels();
[[nodiscard]] std::vector<const Kernel*> kernels_where(
    const std::function<bool(const Kernel&)>& condition);

// "vaes512", or "bitslice_avx2" where a kernel has variants.
[[nodiscard]] std::string kernel_name(const Kernel& kernel);

// Empty if this machine, with the features that PARAES_CPU_MASK leaves, can run the kernel.
// Otherwise names the features that it lacks.
[[nodiscard]] std::string why_unavailable(const Kernel& kernel);

// A value for PARAES_CPU_MASK that hides as many features as possible, but none that `kernel`
// needs. Under it, the kernel's name selects it, and no wider variant.
[[nodiscard]] std::string mask_for(const Kernel& kernel);

// The value for PARAES_CPU_MASK that hides these features.
[[nodiscard]] std::string mask_text(CpuFeatureSet hidden);

// A test that runs once for every kernel, with PARAES_CPU_MASK set so that its name selects it.
class KernelTest : public ::testing::TestWithParam<const Kernel*> {
 protected:
  void SetUp() override;
  // What else a test needs, once its kernel can run.
  virtual void prepare() {}

  [[nodiscard]] const Kernel& kernel() const { return *GetParam(); }
  [[nodiscard]] Execution execution(int threads = 1) const {
    return {std::string(kernel().name), threads};
  }

 private:
  std::optional<ScopedEnvironment> mask_;
};

// Prints a line that says what a test covered, and records it in the XML report.
void report(const std::string& line);

struct KernelName {
  std::string operator()(const ::testing::TestParamInfo<const Kernel*>& info) const {
    return kernel_name(*info.param);
  }
};

}  // namespace paraes::support

// Instantiates a suite for every kernel, or for those for which `condition(kernel)` is true. Tests
// are named Suite.Test/kernel: the prefix of the instantiation is empty.
#define PARAES_FOR_EVERY_KERNEL(Suite) \
  PARAES_FOR_KERNELS(Suite, [](const ::paraes::Kernel&) { return true; })
#define PARAES_FOR_KERNELS(Suite, condition)                                                 \
  INSTANTIATE_TEST_SUITE_P(, Suite,                                                          \
                           ::testing::ValuesIn(::paraes::support::kernels_where(condition)), \
                           ::paraes::support::KernelName())

// The same for kernels that have this function. Where no kernel has AES instructions, there may be
// none.
#define PARAES_FOR_KERNELS_WITH(Suite, function)                                                  \
  PARAES_FOR_KERNELS(Suite, [](const ::paraes::Kernel& one) { return one.function != nullptr; }); \
  PARAES_MAY_LACK_KERNELS(Suite)
#if defined(__x86_64__) || defined(__AARCH64EL__)
#define PARAES_MAY_LACK_KERNELS(Suite) static_assert(true, "a semicolon follows")
#else
#define PARAES_MAY_LACK_KERNELS(Suite) GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(Suite)
#endif
