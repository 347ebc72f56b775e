// NVRTC and hipRTC, which need no GPU. Tests of a compiler that is not installed are skipped.

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <initializer_list>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "paraes/error.hpp"
#include "src/gpu/runtime/cuda_api.hpp"
#include "src/gpu/runtime/runtime.hpp"
#include "tests/gpu/expect_has.hpp"
#include "tests/support/message_of.hpp"

namespace paraes::gpu {
namespace {

constexpr const char* program = R"(
#if defined PARAES_CUDA == defined PARAES_HIP
#error this is neither CUDA nor HIP
#endif
extern "C" __global__ void paraes_test(unsigned* data) {
  data[blockIdx.x * blockDim.x + threadIdx.x] ^= PARAES_TEST_MASK;
}
)";
const std::vector<std::string> options = {"-DPARAES_TEST_MASK=0x5aU"};

constexpr const char* wrong_program = R"(
extern "C" __global__ void paraes_test(unsigned* data) { data[0] = paraes_no_such_name; }
)";

bool is_elf(const Binary& binary) {
  return binary.size() > 64 && std::string(binary.begin(), binary.begin() + 4) == "\177ELF";
}

// The field e_machine.
unsigned machine_of(const Binary& binary) { return binary[18] | unsigned{binary[19]} << 8; }

using support::message_of;

class WithCompiler : public testing::Test {
 protected:
  WithCompiler(std::unique_ptr<Compiler> (*opener)(), const char* name, unsigned machine)
      : opener_(opener), name_(name), machine_(machine) {}

  void SetUp() override {
    try {
      compiler_ = opener_();
    } catch (const Unavailable& error) {
      GTEST_SKIP() << error.what();
    }
    std::printf("%s\n", compiler_->name().c_str());
    EXPECT_EQ(compiler_->name().rfind(name_ + " ", 0), 0U);
  }

  void expect_machine_code(std::initializer_list<const char*> targets) const {
    for (const char* target : targets) {
      const Binary binary = compiler_->compile(program, options, target);
      EXPECT_TRUE(is_elf(binary)) << target;
      EXPECT_EQ(machine_of(binary), machine_) << target;
      EXPECT_HAS(std::string(binary.begin(), binary.end()), "paraes_test") << target;
    }
  }

  // Several threads compile at the same time.
  void expect_threads(const std::string& target, bool same) const {
    std::vector<Binary> binaries(4);
    std::vector<std::thread> threads;
    for (Binary& binary : binaries) {
      threads.emplace_back([&] { binary = compiler_->compile(program, options, target); });
    }
    for (std::thread& thread : threads) thread.join();
    for (const Binary& binary : binaries) {
      EXPECT_TRUE(is_elf(binary));
      EXPECT_TRUE(!same || binary == binaries[0]);
    }
  }

  [[nodiscard]] std::string refusal(const char* source, const std::string& target,
                                    const std::vector<std::string>& with = options) const {
    return message_of<DeviceError>(
        [&] { static_cast<void>(compiler_->compile(source, with, target)); });
  }

  [[nodiscard]] std::string target_refusal(const std::string& target) const {
    return message_of<InvalidArgument>(
        [&] { static_cast<void>(compiler_->compile(program, options, target)); });
  }

  std::unique_ptr<Compiler> compiler_;

 private:
  std::unique_ptr<Compiler> (*opener_)();
  std::string name_;
  unsigned machine_;
};

// ---- NVRTC

class Nvrtc : public WithCompiler {
 protected:
  Nvrtc() : WithCompiler(open_nvrtc, "NVRTC", 190) {}  // EM_CUDA
};

TEST_F(Nvrtc, CompilesMachineCode) {
  expect_machine_code({"sm_75", "sm_90", "sm_120"});
  EXPECT_NE(compiler_->compile(program, options, "sm_75"),
            compiler_->compile(program, options, "sm_90"));
}

TEST_F(Nvrtc, ErrorNamesTheUnknownTarget) {
  for (const char* target : {"sm_01", "sm_9999", "compute_90", "sm_", "sm_90x", "gfx90a", ""}) {
    const std::string message = target_refusal(target);
    EXPECT_HAS(message, compiler_->name() + " does not know the target " + target);
  }
  EXPECT_HAS(target_refusal("sm_01"), "sm_90");
}

TEST_F(Nvrtc, ErrorShowsTheMessagesOfTheCompiler) {
  const std::string message = refusal(wrong_program, "sm_90");
  EXPECT_HAS(message, "nvrtcCompileProgram failed: NVRTC_ERROR_COMPILATION (6)");
  EXPECT_HAS(message, "paraes_no_such_name");
  EXPECT_HAS(refusal(program, "sm_90", {"--no-such-option"}), "--no-such-option");
}

TEST_F(Nvrtc, CompilesOnSeveralThreads) { expect_threads("sm_90", true); }

TEST_F(Nvrtc, OpensTheReleaseThatTheDriverAccepts) {
  const auto compiler = driver::open_nvrtc_for(12990);
  if (compiler->name().rfind("NVRTC 12.", 0) != 0) {
    GTEST_SKIP() << "there is only " << compiler->name();
  }
  EXPECT_TRUE(is_elf(compiler->compile(program, options, "sm_90")));
}

// ---- hipRTC

class HipRtc : public WithCompiler {
 protected:
  HipRtc() : WithCompiler(open_hiprtc, "hipRTC", 224) {}  // EM_AMDGPU
};

TEST_F(HipRtc, CompilesMachineCode) {
  expect_machine_code({"gfx90a", "gfx906", "gfx1030", "gfx90a:sramecc+:xnack-"});
}

// hipRTC 5.2 aborts for unknown targets: gfx942 is newer than it, and the others do not exist.
TEST_F(HipRtc, ErrorNamesTheUnknownTarget) {
  std::vector<std::string> targets = {"gfx1", "sm_90", "", "gfx90a --evil"};
  if (compiler_->name().rfind("hipRTC 5.2", 0) == 0) targets.insert(targets.begin(), "gfx942");
  for (const std::string& target : targets) {
    const std::string message = target_refusal(target);
    EXPECT_EQ(message.rfind(compiler_->name() + " does not know the target " + target, 0), 0U)
        << message;
    std::printf("%s\n", message.c_str());
  }
}

TEST_F(HipRtc, ErrorShowsTheMessagesOfTheCompiler) {
  const std::string message = refusal(wrong_program, "gfx90a");
  EXPECT_HAS(message, "hiprtcCompileProgram failed: HIPRTC_ERROR_COMPILATION (6)");
  EXPECT_HAS(message, "paraes_no_such_name");
}

int handled = 0;

// The child is a copy of this process. It must not run the handlers of this process or write its
// buffers.
TEST_F(HipRtc, ChildRunsNoHandlerOfItsParent) {
  const auto folder = std::filesystem::temp_directory_path() / "paraes-rtc-test";
  std::filesystem::create_directory(folder);
  const std::string path = folder / std::to_string(getpid());
  // Output that waits in a buffer, and a handler that an abort of the child would run.
  std::FILE* const file = std::fopen(path.c_str(), "w");
  ASSERT_NE(file, nullptr);
  struct sigaction before {};
  struct sigaction action {};
  action.sa_handler = [](int) {
    ++handled;
    static_cast<void>(!write(STDERR_FILENO, "HANDLED\n", 8));
    _exit(77);
  };
  sigaction(SIGABRT, &action, &before);
  testing::internal::CaptureStderr();
  std::fputs("once", file);
  EXPECT_TRUE(is_elf(compiler_->compile(program, options, "gfx90a")));
  const std::string message = target_refusal("gfx1");
  const std::string output = testing::internal::GetCapturedStderr();
  struct sigaction now {};
  sigaction(SIGABRT, &before, &now);
  EXPECT_EQ(now.sa_handler, action.sa_handler) << "the handler of the parent is gone";
  EXPECT_EQ(output, "");
  EXPECT_LACKS(message, "HANDLED");
  EXPECT_EQ(handled, 0);
  std::fclose(file);
  std::ifstream again(path);
  std::string contents;
  std::getline(again, contents);
  EXPECT_EQ(contents, "once");
  std::filesystem::remove_all(folder);
  EXPECT_EQ(waitpid(-1, nullptr, WNOHANG), -1) << "a child was left behind";
  EXPECT_EQ(errno, ECHILD);
}

// A program may ignore SIGCHLD, and then the system removes its children.
TEST_F(HipRtc, WorksIfTheProgramIgnoresItsChildren) {
  struct sigaction before {};
  struct sigaction ignore {};
  ignore.sa_handler = SIG_IGN;
  sigaction(SIGCHLD, &ignore, &before);
  EXPECT_TRUE(is_elf(compiler_->compile(program, options, "gfx90a")));
  EXPECT_NE(target_refusal("gfx1"), "");
  sigaction(SIGCHLD, &before, nullptr);
}

TEST_F(HipRtc, CompilesOnSeveralThreads) { expect_threads("gfx90a", false); }

}  // namespace
}  // namespace paraes::gpu
