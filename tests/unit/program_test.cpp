// Programs that the library runs: what they write, how they end, and what they start with.

#include "src/core/system/program.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <fstream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "paraes/error.hpp"
#include "tests/support/buffers.hpp"
#include "tests/support/environment.hpp"
#include "tests/support/message_of.hpp"
#include "tests/support/temporary_folder.hpp"

namespace paraes::system {
namespace {

using support::Buffer;
using support::caught;
using support::TemporaryFolder;
using Clock = std::chrono::steady_clock;

struct Outcome {
  ProgramEnd end;
  std::string output;
  std::string errors;
};

auto append_to(std::string& text) {
  return [&text](Bytes data) {
    text.append(data.begin(), data.end());
    return true;
  };
}

Outcome run(ProgramCall call) {
  Outcome result;
  call.on_output = append_to(result.output);
  call.on_errors = append_to(result.errors);
  result.end = run_program(call);
  return result;
}

ProgramCall program(const std::string& path, std::vector<std::string> arguments = {}) {
  ProgramCall call;
  call.path = path;
  call.arguments = std::move(arguments);
  return call;
}

ProgramCall shell(const std::string& commands) { return program("/bin/sh", {"-c", commands}); }

// For a loop of sh that ends after at most ten seconds.
std::string wait_for(const std::string& file) {
  return "i=0; while [ ! -e '" + file +
         "' ] && [ $i -lt 1000 ]; do sleep 0.01; i=$((i + 1)); done; ";
}

TEST(Program, Arguments_ArriveAsTheyAre) {
  const std::vector<std::string> words = {"", "two words", "$HOME", "'", "\"", "*", "\n", "-x"};
  ProgramCall call = shell("for word; do printf '[%s]' \"$word\"; done");
  call.arguments.emplace_back("name");
  call.arguments.insert(call.arguments.end(), words.begin(), words.end());
  std::string expected;
  for (const std::string& word : words) expected += "[" + word + "]";
  EXPECT_EQ(run(call).output, expected);
}

TEST(Program, ExitStatus_IsReported) {
  for (const int status : {0, 1, 3, 255}) {
    const ProgramEnd end = run(shell("exit " + std::to_string(status))).end;
    EXPECT_TRUE(end.exited);
    EXPECT_EQ(end.number, status);
    EXPECT_EQ(end.succeeded(), status == 0);
    EXPECT_EQ(end.text(), "it ended with exit status " + std::to_string(status));
  }
}

TEST(Program, Signal_IsReported) {
  for (const int signal : {SIGKILL, SIGTERM}) {
    const Outcome result = run(shell("echo out; kill -" + std::to_string(signal) + " $$; exit 0"));
    EXPECT_FALSE(result.end.exited);
    EXPECT_FALSE(result.end.succeeded());
    EXPECT_EQ(result.end.number, signal);
    EXPECT_TRUE(result.end.text().starts_with("signal " + std::to_string(signal) + " ("))
        << result.end.text();
    EXPECT_EQ(result.output, "out\n");
  }
}

TEST(Program, ThatCannotBeStarted_IsAnIoError) {
  if (support::is_emulated()) GTEST_SKIP() << "the emulator does not report why execve failed";
  const TemporaryFolder folder;
  const auto expect_error = [](const std::string& path, int code) {
    const auto error = caught<IoError>([&] { return run(program(path)); });
    ASSERT_TRUE(error);
    EXPECT_EQ(error->code(), code) << error->what();
    EXPECT_TRUE(std::string(error->what()).starts_with(path + ": ")) << error->what();
  };
  expect_error(folder.path("missing"), ENOENT);
  expect_error(folder.write("plain", std::string("#!/bin/sh\n")), EACCES);
  expect_error(folder.write_script("script", "") + "/below", ENOTDIR);
  // Never looked up in PATH.
  expect_error("sh", ENOENT);
}

TEST(Program, InheritedDescriptors_AreOpenUnderTheSameNumbersAndNoOthers) {
  const Buffer first = {'1'};
  const Buffer second = {'2'};
  const Buffer third = {'3'};
  const Descriptor a = pipe_with(first);
  const Descriptor b = pipe_with(second);
  const Descriptor c = pipe_with(third);
  const auto path = [](const Descriptor& of) { return "/dev/fd/" + std::to_string(of.get()); };
  ProgramCall call = shell("cat " + path(a) + " " + path(c));
  call.inherited = {a.get(), c.get()};
  EXPECT_EQ(run(call).output, "13");
  // Still closed on exec in this process.
  EXPECT_EQ(fcntl(a.get(), F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
  call = shell("cat " + path(b) + " 2> /dev/null && echo open");
  call.inherited = {a.get(), c.get()};
  EXPECT_EQ(run(call).output, "");
}

TEST(Program, WithoutOnErrors_KeepsTheStandardErrorOfThisProcess) {
  std::string output;
  ProgramCall call = shell("echo out; echo err >&2");
  call.on_output = append_to(output);
  testing::internal::CaptureStderr();
  const ProgramEnd end = run_program(call);
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "err\n");
  EXPECT_TRUE(end.succeeded());
  EXPECT_EQ(output, "out\n");
}

TEST(Program, LargeOutputsOnBothStreams_DoNotBlockEachOther) {
  constexpr std::size_t bytes = 10'000'000;
  const std::string zeros = "head -c " + std::to_string(bytes) + " /dev/zero";
  for (const std::string& commands : {zeros + "; " + zeros + " >&2", zeros + " >&2; " + zeros,
                                      "(" + zeros + ") & (" + zeros + ") >&2; wait"}) {
    const Outcome result = run(shell(commands));
    EXPECT_TRUE(result.end.succeeded());
    EXPECT_EQ(result.output.size(), bytes) << commands;
    EXPECT_EQ(result.errors.size(), bytes) << commands;
  }
}

TEST(Program, BytesItWrote_AreClearedAfterEachCall) {
  const TemporaryFolder folder;
  // The second byte is written when the others have been passed on, to the same memory.
  ProgramCall call = shell("printf 'secret'; " + wait_for(folder.path("seen")) + "printf x");
  std::vector<std::string> seen;
  std::string rest = "nothing";
  call.on_output = [&](Bytes data) {
    seen.emplace_back(data.begin(), data.end());
    if (seen.size() == 1) {
      folder.write("seen", std::string());
    } else {
      rest.assign(data.data() + 1, data.data() + 6);
    }
    return true;
  };
  EXPECT_TRUE(run_program(call).succeeded());
  EXPECT_EQ(seen, (std::vector<std::string>{"secret", "x"}));
  EXPECT_EQ(rest, std::string(5, '\0'));
}

TEST(Program, ThatIsSilentForASecond_IsReported) {
  const TemporaryFolder folder;
  const Clock::time_point start = Clock::now();
  Clock::time_point first;
  int calls = 0;
  std::string output;
  std::string errors;
  // Waits until its silence was noticed twice.
  ProgramCall call =
      shell("echo early; " + wait_for(folder.path("noticed")) + "echo late; echo late >&2");
  call.on_output = append_to(output);
  call.on_errors = append_to(errors);
  call.on_silence = [&] {
    EXPECT_EQ(output, "early\n");
    if (++calls == 1) first = Clock::now();
    if (calls != 2) return;
    folder.write("noticed", std::string());
    // It ends meanwhile, and nothing of its last words may be lost.
    std::this_thread::sleep_for(std::chrono::milliseconds(500));
  };
  EXPECT_TRUE(run_program(call).succeeded());
  EXPECT_EQ(calls, 2);
  EXPECT_GE(first - start, std::chrono::milliseconds(900));
  EXPECT_EQ(output, "early\nlate\n");
  EXPECT_EQ(errors, "late\n");
}

TEST(Program, ThatWritesNowAndThen_IsNotSilent) {
  ProgramCall call = shell("for i in 1 2 3 4; do sleep 0.2; echo $i; sleep 0.2; echo $i >&2; done");
  int calls = 0;
  call.on_silence = [&] { ++calls; };
  const Outcome result = run(call);
  EXPECT_EQ(result.output, result.errors);
  EXPECT_EQ(calls, 0);
}

TEST(Program, GrandchildWithItsOutput_DelaysItsEndOnlyIfAsked) {
  const TemporaryFolder folder;
  // The grandchild outlives the child in any case.
  const std::string late =
      "(" + wait_for(folder.path("go")) + "echo late; echo late >&2) & echo early; exit 3";
  Outcome result = run(shell(late));
  EXPECT_TRUE(result.end.exited);
  EXPECT_EQ(result.end.number, 3);
  EXPECT_EQ(result.output, "early\n");
  EXPECT_EQ(result.errors, "");
  folder.write("go", std::string());

  ProgramCall call = shell("(sleep 1; echo late) & echo early; exit 3");
  call.waits_for_all_output = true;
  result = run(call);
  EXPECT_TRUE(result.end.exited);
  EXPECT_EQ(result.end.number, 3);
  EXPECT_EQ(result.output, "early\nlate\n");
}

TEST(Program, GrandchildThatKeepsWriting_DoesNotDelayItsEnd) {
  for (const char* writing : {"yes & sleep 3; kill $!",
                              "for i in 1 2 3 4 5 6; do for j in 1 2 3 4 5 6 7 8 9 10; do "
                              "echo x; sleep 0.05; done; done"}) {
    const Outcome result =
        run(shell("echo early; (" + std::string(writing) + "; echo late) & exit 3"));
    EXPECT_EQ(result.end.number, 3);
    EXPECT_EQ(result.output.substr(0, 6), "early\n");
    EXPECT_EQ(result.output.find("late"), std::string::npos) << writing;
  }
}

// Blocks all signals and ignores SIGPIPE while it exists.
class DeafThread {
 public:
  DeafThread() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &mask_);
    struct sigaction ignore = {};
    ignore.sa_handler = SIG_IGN;
    sigaction(SIGPIPE, &ignore, &action_);
  }
  ~DeafThread() {
    sigaction(SIGPIPE, &action_, nullptr);
    pthread_sigmask(SIG_SETMASK, &mask_, nullptr);
  }
  DeafThread(const DeafThread&) = delete;
  DeafThread& operator=(const DeafThread&) = delete;

 private:
  sigset_t mask_ = {};
  struct sigaction action_ = {};
};

TEST(Program, StartsWithoutBlockedSignalsWhateverTheCallerBlocks) {
  const DeafThread deaf;
  for (const int signal : {SIGPIPE, SIGTERM, SIGUSR1, SIGALRM}) {
    const ProgramEnd end = run(shell("kill -" + std::to_string(signal) + " $$; exit 0")).end;
    EXPECT_FALSE(end.exited);
    EXPECT_EQ(end.number, signal);
  }
  if (support::is_emulated() || !std::ifstream("/proc/self/status")) return;
  // The masks in hexadecimal.
  const std::string status = run(program("/bin/cat", {"/proc/self/status"})).output;
  const auto mask = [&](const std::string& name) {
    const std::size_t at = status.find(name + ":\t");
    EXPECT_NE(at, std::string::npos) << status;
    return at == std::string::npos ? ~0ULL
                                   : std::stoull(status.substr(at + name.size() + 2), nullptr, 16);
  };
  EXPECT_EQ(mask("SigBlk"), 0U);
  EXPECT_EQ(mask("SigIgn") >> (SIGPIPE - 1) & 1U, 0U);
}

// In a process that was forked, and whose descriptors in `closed` (a bit for each of 0, 1 and 2)
// are closed. Returns 0, or the number of the check that failed.
int run_with_closed_descriptors(unsigned closed, const std::string& file) {
  for (int descriptor = 0; descriptor < 3; ++descriptor) {
    if ((closed >> descriptor & 1U) != 0) close(descriptor);
  }
  const std::string commands = "cat; echo err >&2; exit 3";
  const auto is_good = [](const Outcome& result, const std::string& input) {
    return result.end.exited && result.end.number == 3 && result.output == input &&
           result.errors == "err\n";
  };
  ProgramCall call = shell(commands);
  {
    const Buffer secret = {'s', 'e', 'c', 'r', 'e', 't'};
    const Descriptor pipe = pipe_with(secret);
    if (pipe.get() < 3) return 1;
    call.input = pipe.get();
    if (!is_good(run(call), "secret")) return 2;
  }
  {
    // Has one of the numbers that are free.
    const Descriptor input(open(file.c_str(), O_RDONLY | O_CLOEXEC));
    if (closed != 0 && input.get() > 2) return 3;
    call.input = input.get();
    if (!is_good(run(call), "contents")) return 4;
    const Buffer secret = {'x'};
    const Descriptor inherited = pipe_with(secret);
    call = shell("cat /dev/fd/" + std::to_string(inherited.get()) + "; " + commands);
    call.inherited = {inherited.get()};
    if (lseek(input.get(), 0, SEEK_SET) != 0) return 5;
    call.input = input.get();
    if (!is_good(run(call), "xcontents")) return 6;
  }
  // Nothing of this process is open under these numbers afterwards.
  for (int descriptor = 0; descriptor < 3; ++descriptor) {
    const bool is_closed = fcntl(descriptor, F_GETFD) < 0;
    if (is_closed != ((closed >> descriptor & 1U) != 0)) return 7;
  }
  return 0;
}

// It runs as usual if none is closed.
TEST(Program, RunsThoughStandardDescriptorsOfThisProcessAreClosed) {
  const TemporaryFolder folder;
  const std::string file = folder.write("f", std::string("contents"));
  for (unsigned closed = 0; closed < 8; ++closed) {
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      int failed = 100;
      try {
        failed = run_with_closed_descriptors(closed, file);
      } catch (const std::exception&) {
        failed = 101;
      }
      _exit(failed);
    }
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status)) << closed;
    EXPECT_EQ(WEXITSTATUS(status), 0) << closed;
  }
}

TEST(Program, InAProcessThatIgnoresItsChildren_IsAnIoError) {
  struct sigaction ignore = {};
  struct sigaction before = {};
  ignore.sa_handler = SIG_IGN;
  sigaction(SIGCHLD, &ignore, &before);
  EXPECT_THROW(static_cast<void>(run(shell("exit 0"))), IoError);
  sigaction(SIGCHLD, &before, nullptr);
}

TEST(Program, WhoseOutputIsEnough_IsKilled) {
  for (const bool errors : {false, true}) {
    ProgramCall call = shell(errors ? "exec yes >&2" : "exec yes");
    std::size_t seen = 0;
    const auto until_enough = [&](Bytes data) {
      seen += data.size();
      return seen < 10'000;
    };
    call.on_output = until_enough;
    call.on_errors = until_enough;
    pid_t process = -1;
    std::size_t reports = 0;
    call.on_process = [&](pid_t given) {
      process = given;
      ++reports;
    };
    const ProgramEnd end = run_program(call);
    EXPECT_FALSE(end.exited);
    EXPECT_GE(seen, 10'000U);
    EXPECT_LT(seen, 20'000U);
    EXPECT_EQ(process, 0);
    EXPECT_EQ(reports, 2U);
  }
}

TEST(Program, HiddenVariables_AreNotInItsEnvironment) {
  ASSERT_EQ(setenv("PARAES_TEST_SECRET", "sesame", 1), 0);
  ASSERT_EQ(setenv("PARAES_TEST_SECRET_2", "open", 1), 0);
  ProgramCall call = shell("env");
  call.hidden = {"PARAES_TEST_SECRET"};
  const Outcome result = run(call);
  EXPECT_EQ(result.output.find("sesame"), std::string::npos);
  EXPECT_NE(result.output.find("PARAES_TEST_SECRET_2=open"), std::string::npos);
  EXPECT_NE(run(shell("env")).output.find("sesame"), std::string::npos);
}

TEST(PipeWith, Contents_AreReadToTheirEnd) {
  for (const std::size_t bytes : {0U, 1U, 32U, 4096U}) {
    const Buffer data = support::pattern(bytes);
    const Descriptor pipe = pipe_with(data);
    EXPECT_NE(fcntl(pipe.get(), F_GETFD) & FD_CLOEXEC, 0);
    Buffer got(bytes + 1);
    std::size_t held = 0;
    ssize_t n = 0;
    while ((n = read(pipe.get(), got.data() + held, got.size() - held)) > 0) {
      held += static_cast<std::size_t>(n);
    }
    EXPECT_EQ(n, 0);  // its end
    EXPECT_EQ(support::difference(Bytes(got).first(held), data), "");
  }
}

TEST(PipeWith, MoreThanAPipeHolds_IsAnIoError) {
  const auto error = caught<IoError>([] { return pipe_with(Buffer(std::size_t{16} << 20)); });
  ASSERT_TRUE(error);
  EXPECT_EQ(error->code(), ENOBUFS);
}

}  // namespace
}  // namespace paraes::system
