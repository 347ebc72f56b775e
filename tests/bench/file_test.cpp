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
FileTool copy_tool() {
  return {.ciphertext = "copy",
          .command =
              [](const FileTask& task) {
                return std::vector<std::string>{"/bin/sh", "-c", R"(cp "$0" "$1" && printf 7)",
                                                task.in, task.out};
              },
          .phases =
              [](const std::string& output) {
                return PhaseNanoseconds{{"read", std::stod(output)}};
              }};
}

TEST(File, TakePhasesSumsTheCallsSinceTheLastOne) {
  const auto workspace = std::make_shared<Workspace>(workspace_root(""), 4096);
  const auto made =
      make_file_case(Row{}, FileRowJob{}, FileCheck::plaintext, copy_tool(), {}, workspace);
  Case& file_case = *made;
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
}

}  // namespace
}  // namespace paraes::bench
