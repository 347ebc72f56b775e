// Tests of cases in file scope.
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "bench/file/file_case.hpp"
#include "bench/file/tools.hpp"
#include "bench/file/workspace.hpp"

namespace paraes::bench {
namespace {

// Copies the file, and reports 7 ns of reading for each execution.
class CopyTool : public FileTool {
 public:
  [[nodiscard]] std::vector<std::string> command(Direction /*direction*/,
                                                 const Workspace& /*workspace*/,
                                                 const std::string& in,
                                                 const std::string& out) const override {
    return {"/bin/sh", "-c", R"(cp "$0" "$1" && printf 7)", in, out};
  }
  [[nodiscard]] PhaseNanoseconds phases(const std::string& output) const override {
    return {{"read", std::stod(output)}};
  }
  [[nodiscard]] std::string ciphertext() const override { return "copy"; }
};

TEST(File, TakePhasesSumsTheCallsSinceTheLastOne) {
  const auto workspace = std::make_shared<Workspace>(workspace_root(""), 4096);
  FileCase file_case(Row{}, FileRowJob{}, FileCase::Check::plaintext, std::make_unique<CopyTool>(),
                     nullptr, workspace);
  file_case.set_up();
  EXPECT_FALSE(file_case.take_phases().contains("read"));
  for (const int calls : {1, 3}) {
    for (int i = 0; i < calls; ++i) {
      file_case.restore();
      file_case.call();
    }
    PhaseNanoseconds phases = file_case.take_phases();
    EXPECT_EQ(phases["read"], 7 * calls);
    EXPECT_FALSE(phases.contains("write"));
  }
  EXPECT_FALSE(file_case.take_phases().contains("read"));
  EXPECT_TRUE(file_case.verify());
  file_case.tear_down();
}

}  // namespace
}  // namespace paraes::bench
