// The rows of the kernel table, one test parameter each. A row that this machine cannot run is a
// skipped test that says why, so that no row goes missing in silence.
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

// Empty if this machine (under the PARAES_CPU_MASK of the test run) can run the row, else what it
// lacks.
[[nodiscard]] std::string why_unavailable(const Kernel& row);

// A mask for PARAES_CPU_MASK under which as few features as possible beside those that `row` needs
// are left, so that its name selects this row and no wider build.
[[nodiscard]] std::string mask_for(const Kernel& row);

// The features of this test run; `hidden` as a list for PARAES_CPU_MASK.
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

// Prints a line that says what a test covered; it also goes to the XML report.
void report(const std::string& line);

struct NameOfBuild {
  std::string operator()(const ::testing::TestParamInfo<Build>& info) const {
    return build_name(*info.param);
  }
};

}  // namespace paraes::support

// Instantiates a suite for every row, or for those that `condition`, a function of the row, holds
// for.
#define PARAES_FOR_EVERY_BUILD(Suite) \
  PARAES_FOR_BUILDS(Suite, [](const ::paraes::Kernel&) { return true; })
#define PARAES_FOR_BUILDS(Suite, condition)                                                 \
  INSTANTIATE_TEST_SUITE_P(Kernels, Suite,                                                  \
                           ::testing::ValuesIn(::paraes::support::builds_where(condition)), \
                           ::paraes::support::NameOfBuild())
