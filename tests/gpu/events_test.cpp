// The order of copies and kernels on PoCL, by the times of OpenCL's events. How much they overlap
// shows only the virtual clock of the stand-in drivers: PoCL copies and computes on the same cores.

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <vector>

#include "paraes/ciphers.hpp"
#include "paraes/messages.hpp"
#include "tests/support/buffers.hpp"
#include "tests/support/memory_io.hpp"
#include "tests/support/opencl_buffers.hpp"
#include "tests/support/test_device.hpp"

namespace paraes {
namespace {

using support::Buffer;
using Kind = ParaesCommand::Kind;

constexpr std::size_t launch_bytes = std::size_t{256} << 10;
constexpr std::size_t launches = 12;
constexpr unsigned streams = 3;

class Events : public testing::Test {
 protected:
  void SetUp() override { PARAES_NEEDS_DEVICE("opencl:0"); }

  static Execution execution() {
    Execution how;
    how.device = "opencl:0";
    how.kernel = "reference";
    how.gpu_tuning.streams = streams;
    how.gpu_tuning.launch_bytes = launch_bytes;
    return how;
  }

  // Expects launches of these kernels: each queue copies what describes the messages, then the
  // text, computes, and copies back, one after another; and queues do not wait for each other.
  static void expect_order(const std::vector<ParaesCommand>& commands, std::size_t kernels) {
    std::map<const void*, std::vector<ParaesCommand>> queues;
    for (const ParaesCommand& command : commands) queues[command.queue].push_back(command);
    EXPECT_GT(queues.size(), 1U);
    EXPECT_LE(queues.size(), streams);
    std::size_t downloads = 0;
    for (const auto& [queue, list] : queues) {
      for (std::size_t i = 0; i < list.size(); ++i) {
        EXPECT_LE(list[i].start, list[i].end);
        if (i > 0) {
          EXPECT_LE(list[i - 1].end, list[i].start) << "command " << i;
        }
        if (list[i].kind != Kind::download) continue;
        ++downloads;
        // Keys may come before.
        ASSERT_GE(i, kernels + 2);
        for (std::size_t k = 1; k <= kernels; ++k) EXPECT_EQ(list[i - k].kind, Kind::kernel);
        EXPECT_EQ(list[i - kernels - 1].kind, Kind::upload);
        EXPECT_GE(list[i - kernels - 1].bytes, launch_bytes);
        EXPECT_EQ(list[i - kernels - 2].kind, Kind::upload);
        EXPECT_LT(list[i - kernels - 2].bytes, launch_bytes);
      }
    }
    EXPECT_EQ(downloads, launches);
    // A text is on its way before an earlier one has come back.
    const auto is_text = [](const ParaesCommand& command) {
      return command.kind == Kind::upload && command.bytes >= launch_bytes;
    };
    const bool overlap = std::any_of(commands.begin(), commands.end(), [&](const auto& back) {
      return back.kind == Kind::download &&
             std::any_of(commands.begin(), commands.end(), [&](const auto& there) {
               return is_text(there) && there.queue != back.queue && there.queued < back.queued;
             });
    });
    EXPECT_TRUE(overlap);
  }
};

TEST_F(Events, OfAMessageInCallsFollowEachOther) {
  const Buffer key = support::make_key(32);
  Ctr ctr(key, Buffer(16), execution());
  Buffer text(launches * launch_bytes);
  paraes_record_commands();
  ctr.process(text, text);
  expect_order(paraes_recorded_commands(), 1);
}

TEST_F(Events, OfAFileFollowEachOther) {
  const Buffer key = support::make_key(32);
  const Message message(new_c2sp_message(key, {}), execution());
  // The layout of the formats ends with a segment that is not full.
  support::RandomSource source(Buffer(launches * launch_bytes - 1));
  support::RandomSink sink;
  paraes_record_commands();
  seal_message(source, message, sink);
  std::vector<ParaesCommand> commands = paraes_recorded_commands();
  // gcm_ctr, gcm_masks, ghash. The last text is shorter by a byte, which its copy rounds up.
  expect_order(commands, 3);
}

}  // namespace
}  // namespace paraes
