// NVRTC and hipRTC, which need no GPU. Tests of a compiler that is not installed are skipped.

#include <gtest/gtest.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "paraes/error.hpp"
#include "src/gpu/runtime/cuda_api.hpp"
#include "src/gpu/runtime/runtime.hpp"
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

std::unique_ptr<Compiler> open(std::unique_ptr<Compiler> (*opener)()) {
  try {
    return opener();
  } catch (const Unavailable& error) {
    std::fprintf(stderr, "skipped: %s\n", error.what());
    return nullptr;
  }
}

#define NEEDS_COMPILER(compiler) \
  if (!(compiler)) GTEST_SKIP() << "the compiler is not installed"

bool is_elf(const Binary& binary) {
  return binary.size() > 64 && binary[0] == 0x7f && binary[1] == 'E' && binary[2] == 'L' &&
         binary[3] == 'F';
}

// The field e_machine.
unsigned machine_of(const Binary& binary) { return binary[18] | unsigned{binary[19]} << 8; }

using support::message_of;

std::string refusal(Compiler& compiler, const char* source, const std::string& target) {
  return message_of<DeviceError>(
      [&] { static_cast<void>(compiler.compile(source, options, target)); });
}

std::string target_refusal(Compiler& compiler, const std::string& target) {
  return message_of<InvalidArgument>(
      [&] { static_cast<void>(compiler.compile(program, options, target)); });
}

// ---- NVRTC

TEST(Nvrtc, CompilesMachineCode) {
  const auto compiler = open(open_nvrtc);
  NEEDS_COMPILER(compiler);
  std::printf("%s\n", compiler->name().c_str());
  EXPECT_EQ(compiler->name().rfind("NVRTC ", 0), 0U);
  for (const char* target : {"sm_75", "sm_90", "sm_120"}) {
    const Binary binary = compiler->compile(program, options, target);
    EXPECT_TRUE(is_elf(binary)) << target;
    EXPECT_EQ(machine_of(binary), 190U) << target;  // EM_CUDA
    const std::string text(binary.begin(), binary.end());
    EXPECT_NE(text.find("paraes_test"), std::string::npos) << target;
  }
  EXPECT_NE(compiler->compile(program, options, "sm_75"),
            compiler->compile(program, options, "sm_90"));
}

TEST(Nvrtc, ErrorNamesTheUnknownTarget) {
  const auto compiler = open(open_nvrtc);
  NEEDS_COMPILER(compiler);
  for (const char* target : {"sm_01", "sm_9999", "compute_90", "sm_", "sm_90x", "gfx90a", ""}) {
    const std::string message = target_refusal(*compiler, target);
    EXPECT_NE(message.find(compiler->name() + " does not know the target " + target),
              std::string::npos)
        << message;
  }
  EXPECT_NE(target_refusal(*compiler, "sm_01").find("sm_90"), std::string::npos);
}

TEST(Nvrtc, ErrorShowsTheMessagesOfTheCompiler) {
  const auto compiler = open(open_nvrtc);
  NEEDS_COMPILER(compiler);
  const std::string message = refusal(*compiler, wrong_program, "sm_90");
  EXPECT_NE(message.find("nvrtcCompileProgram failed: NVRTC_ERROR_COMPILATION (6)"),
            std::string::npos)
      << message;
  EXPECT_NE(message.find("paraes_no_such_name"), std::string::npos) << message;
  const std::vector<std::string> unknown = {"--no-such-option"};
  EXPECT_NE(message_of<DeviceError>([&] {
              static_cast<void>(compiler->compile(program, unknown, "sm_90"));
            }).find("--no-such-option"),
            std::string::npos);
}

TEST(Nvrtc, CompilesOnSeveralThreads) {
  const auto compiler = open(open_nvrtc);
  NEEDS_COMPILER(compiler);
  std::vector<Binary> binaries(4);
  std::vector<std::thread> threads;
  for (Binary& binary : binaries) {
    threads.emplace_back([&] { binary = compiler->compile(program, options, "sm_90"); });
  }
  for (std::thread& thread : threads) thread.join();
  for (const Binary& binary : binaries) EXPECT_EQ(binary, binaries[0]);
}

TEST(Nvrtc, OpensTheReleaseThatTheDriverAccepts) {
  std::unique_ptr<Compiler> compiler;
  try {
    compiler = driver::open_nvrtc_for(12990);
  } catch (const Unavailable&) {
  }
  NEEDS_COMPILER(compiler);
  if (compiler->name().rfind("NVRTC 12.", 0) != 0) {
    GTEST_SKIP() << "there is only " << compiler->name();
  }
  EXPECT_TRUE(is_elf(compiler->compile(program, options, "sm_90")));
}

TEST(Nvrtc, ErrorSaysWhatToInstall) {
  setenv("PARAES_NVRTC", "/nowhere/libnvrtc.so", 1);
  const std::string message = message_of<Unavailable>([] { static_cast<void>(open_nvrtc()); });
  unsetenv("PARAES_NVRTC");
  EXPECT_NE(message.find("/nowhere/libnvrtc.so"), std::string::npos) << message;
  EXPECT_NE(message.find("nvidia-cuda-nvrtc"), std::string::npos) << message;
}

// ---- hipRTC

TEST(HipRtc, CompilesMachineCode) {
  const auto compiler = open(open_hiprtc);
  NEEDS_COMPILER(compiler);
  std::printf("%s\n", compiler->name().c_str());
  EXPECT_EQ(compiler->name().rfind("hipRTC ", 0), 0U);
  for (const char* target : {"gfx90a", "gfx906", "gfx1030", "gfx90a:sramecc+:xnack-"}) {
    const Binary binary = compiler->compile(program, options, target);
    EXPECT_TRUE(is_elf(binary)) << target;
    EXPECT_EQ(machine_of(binary), 224U) << target;  // EM_AMDGPU
    const std::string text(binary.begin(), binary.end());
    EXPECT_NE(text.find("paraes_test"), std::string::npos) << target;
  }
}

// hipRTC 5.2 aborts for unknown targets: gfx942 is newer than it, and the others do not exist.
TEST(HipRtc, ErrorNamesTheUnknownTarget) {
  const auto compiler = open(open_hiprtc);
  NEEDS_COMPILER(compiler);
  std::vector<std::string> targets = {"gfx1", "sm_90", "", "gfx90a --evil"};
  if (compiler->name().rfind("hipRTC 5.2", 0) == 0) targets.insert(targets.begin(), "gfx942");
  for (const std::string& target : targets) {
    const std::string message = target_refusal(*compiler, target);
    EXPECT_EQ(message.rfind(compiler->name() + " does not know the target " + target, 0), 0U)
        << message;
    std::printf("%s\n", message.c_str());
  }
}

TEST(HipRtc, ErrorShowsTheMessagesOfTheCompiler) {
  const auto compiler = open(open_hiprtc);
  NEEDS_COMPILER(compiler);
  const std::string message = refusal(*compiler, wrong_program, "gfx90a");
  EXPECT_NE(message.find("hiprtcCompileProgram failed: HIPRTC_ERROR_COMPILATION (6)"),
            std::string::npos)
      << message;
  EXPECT_NE(message.find("paraes_no_such_name"), std::string::npos) << message;
}

int handled = 0;

// The child is a copy of this process. It must not run the handlers of this process or write its
// buffers.
TEST(HipRtc, ChildRunsNoHandlerOfItsParent) {
  const auto compiler = open(open_hiprtc);
  NEEDS_COMPILER(compiler);
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
  EXPECT_TRUE(is_elf(compiler->compile(program, options, "gfx90a")));
  const std::string message = target_refusal(*compiler, "gfx1");
  const std::string output = testing::internal::GetCapturedStderr();
  struct sigaction now {};
  sigaction(SIGABRT, &before, &now);
  EXPECT_EQ(now.sa_handler, action.sa_handler) << "the handler of the parent is gone";
  EXPECT_EQ(output, "");
  EXPECT_EQ(message.find("HANDLED"), std::string::npos) << message;
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
TEST(HipRtc, WorksIfTheProgramIgnoresItsChildren) {
  const auto compiler = open(open_hiprtc);
  NEEDS_COMPILER(compiler);
  struct sigaction before {};
  struct sigaction ignore {};
  ignore.sa_handler = SIG_IGN;
  sigaction(SIGCHLD, &ignore, &before);
  EXPECT_TRUE(is_elf(compiler->compile(program, options, "gfx90a")));
  EXPECT_NE(target_refusal(*compiler, "gfx1"), "");
  sigaction(SIGCHLD, &before, nullptr);
}

TEST(HipRtc, CompilesOnSeveralThreads) {
  const auto compiler = open(open_hiprtc);
  NEEDS_COMPILER(compiler);
  std::vector<Binary> binaries(3);
  std::vector<std::thread> threads;
  for (Binary& binary : binaries) {
    threads.emplace_back([&] { binary = compiler->compile(program, options, "gfx90a"); });
  }
  for (std::thread& thread : threads) thread.join();
  for (const Binary& binary : binaries) EXPECT_TRUE(is_elf(binary));
}

}  // namespace
}  // namespace paraes::gpu
