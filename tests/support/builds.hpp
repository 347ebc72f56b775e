// The rows of the kernel table as test parameters. Tests of a row that this machine cannot run are
// skipped and print the reason, so that the log has every row.
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

using Build = const Kernel*;

[[nodiscard]] std::vector<Build> all_builds();
[[nodiscard]] std::vector<Build> builds_where(const std::function<bool(const Kernel&)>& condition);

// "vaes512", or "bitslice_avx2" where a kernel has several builds.
[[nodiscard]] std::string build_name(const Kernel& row);

// Empty if this machine, with the features that PARAES_CPU_MASK leaves, can run the row. Otherwise
// names the features that it lacks.
[[nodiscard]] std::string why_unavailable(const Kernel& row);

// A value for PARAES_CPU_MASK that hides as many features as possible, but none that `row` needs.
// Under it, the kernel's name selects this row and no wider build of the kernel.
[[nodiscard]] std::string mask_for(const Kernel& row);

// The value for PARAES_CPU_MASK that hides these features.
[[nodiscard]] std::string mask_text(CpuFeatureSet hidden);

// A test that runs once for every row, with PARAES_CPU_MASK set so that its name selects this row.
class BuildTest : public ::testing::TestWithParam<Build> {
 protected:
  void SetUp() override;

  [[nodiscard]] const Kernel& row() const { return *GetParam(); }
  [[nodiscard]] Execution execution(int threads = 1) const {
    return {std::string(row().name), threads};
  }

 private:
  std::optional<ScopedEnvironment> mask_;
};

// Prints a line that says what a test covered, and records it in the XML report.
void report(const std::string& line);

struct NameOfBuild {
  std::string operator()(const ::testing::TestParamInfo<Build>& info) const {
    return build_name(*info.param);
  }
};

}  // namespace paraes::support

// Instantiates a suite for every row, or for the rows for which `condition(row)` is true. Tests are
// named Suite.Test/build: the prefix of the instantiation is empty.
#define PARAES_FOR_EVERY_BUILD(Suite) \
  PARAES_FOR_BUILDS(Suite, [](const ::paraes::Kernel&) { return true; })
#define PARAES_FOR_BUILDS(Suite, condition)                                                 \
  INSTANTIATE_TEST_SUITE_P(, Suite,                                                         \
                           ::testing::ValuesIn(::paraes::support::builds_where(condition)), \
                           ::paraes::support::NameOfBuild())
