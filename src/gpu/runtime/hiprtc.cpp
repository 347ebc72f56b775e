// The run-time compiler hipRTC, in a child process. It needs no GPU.

#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "paraes/error.hpp"
#include "src/core/non_copyable.hpp"
#include "src/core/system/memory.hpp"
#include "src/core/system/process.hpp"
#include "src/gpu/runtime/cuda_api.hpp"
#include "src/gpu/runtime/rtc_attempt.hpp"
#include "src/gpu/runtime/runtime.hpp"

namespace paraes::gpu {
namespace {

using driver::RtcApi;
using rtc::Attempt;

// A file in memory.
class MemoryFile : NonCopyable {
 public:
  explicit MemoryFile(const char* name) : descriptor_(system::open_memory_file(name)) {
    if (descriptor_ < 0) {
      throw IoError("cannot create a file in memory for the compiler: " +
                        std::generic_category().message(errno),
                    errno);
    }
  }
  ~MemoryFile() { ::close(descriptor_); }

  [[nodiscard]] int descriptor() const noexcept { return descriptor_; }

  [[nodiscard]] std::string contents() const {
    std::string text;
    std::array<char, 65536> buffer{};
    for (;;) {
      const ssize_t got =
          pread(descriptor_, buffer.data(), buffer.size(), static_cast<off_t>(text.size()));
      if (got < 0 && errno == EINTR) continue;
      if (got <= 0) return text;
      text.append(buffer.data(), static_cast<std::size_t>(got));
    }
  }

 private:
  int descriptor_;
};

bool write_all(int descriptor, const void* data, std::size_t bytes) {
  const char* next = static_cast<const char*>(data);
  while (bytes > 0) {
    const ssize_t put = write(descriptor, next, bytes);
    if (put < 0 && errno == EINTR) continue;
    if (put <= 0) return false;
    next += put;
    bytes -= static_cast<std::size_t>(put);
  }
  return true;
}

// The child writes an attempt as its code, then each text after its size, then this number, which
// shows that the attempt is complete.
constexpr std::uint32_t end_of_attempt = 0x41504152;

bool write_attempt(int descriptor, const Attempt& attempt) {
  const auto text = [&](const void* data, std::uint64_t bytes) {
    return write_all(descriptor, &bytes, sizeof bytes) && write_all(descriptor, data, bytes);
  };
  return write_all(descriptor, &attempt.code, sizeof attempt.code) &&
         text(attempt.failure.data(), attempt.failure.size()) &&
         text(attempt.log.data(), attempt.log.size()) &&
         text(attempt.binary.data(), attempt.binary.size()) &&
         write_all(descriptor, &end_of_attempt, sizeof end_of_attempt);
}

// Returns false if the attempt is not complete.
bool read_attempt(std::string_view from, Attempt& attempt) {
  const auto take = [&](void* to, std::uint64_t bytes) {
    if (bytes > from.size()) return false;
    std::memcpy(to, from.data(), bytes);
    from.remove_prefix(bytes);
    return true;
  };
  const auto text = [&](auto& to) {
    std::uint64_t bytes = 0;
    if (!take(&bytes, sizeof bytes) || bytes > from.size()) return false;
    to.assign(from.begin(), from.begin() + static_cast<std::ptrdiff_t>(bytes));
    from.remove_prefix(bytes);
    return true;
  };
  std::uint32_t end = 0;
  return take(&attempt.code, sizeof attempt.code) && text(attempt.failure) && text(attempt.log) &&
         text(attempt.binary) && take(&end, sizeof end) && end == end_of_attempt;
}

// The child is a copy of this process, with its keys. It must not leave them in a core dump, and
// must not run the signal handlers and exit handlers of this process.
[[noreturn]] void be_child(const RtcApi& api, const std::string& source,
                           std::span<const std::string> options, int result, int messages,
                           pid_t parent) {
  for (int number = 1; number < NSIG; ++number) static_cast<void>(signal(number, SIG_DFL));
  sigset_t none;
  sigemptyset(&none);
  pthread_sigmask(SIG_SETMASK, &none, nullptr);
  system::hide_memory();
  const rlimit no_core{0, 0};
  setrlimit(RLIMIT_CORE, &no_core);
  if (!system::end_with_parent(parent)) _exit(1);
  dup2(messages, STDOUT_FILENO);
  dup2(messages, STDERR_FILENO);
  try {
    _exit(write_attempt(result, rtc::compile_here(api, source, options)) ? 0 : 1);
  } catch (...) {
    _exit(1);
  }
}

// Waits for the child and describes how it failed; empty if it did not. Kills it after 15 minutes.
std::string wait_for(pid_t child) {
  using std::chrono::steady_clock;
  constexpr auto most = std::chrono::minutes(15);
  const auto start = steady_clock::now();
  bool killed = false;
  for (;;) {
    int status = 0;
    const pid_t got = waitpid(child, &status, WNOHANG);
    if (got == child) {
      if (killed) return "it took more than 15 minutes";
      if (WIFSIGNALED(status)) {
        const int number = WTERMSIG(status);
        return "it died of signal " + std::to_string(number) + " (" + strsignal(number) + ")";
      }
      return WEXITSTATUS(status) == 0 ? "" : "it ended without a result";
    }
    // Another thread of the process may have waited for the child. Its result then shows whether it
    // succeeded.
    if (got < 0 && errno != EINTR) return "";
    if (!killed && steady_clock::now() - start > most) {
      kill(child, SIGKILL);
      killed = true;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
}

std::string last_characters(const std::string& messages) {
  constexpr std::size_t most = 2000;
  const std::size_t end = messages.find_last_not_of(" \n") + 1;
  return messages.substr(end > most ? end - most : 0, std::min(end, most));
}

// hipRTC 5.2 aborts the process if it does not know a target, so it runs in a child process. If the
// child has no result, `failure` says how it ended.
Attempt compile_in_child(const RtcApi& api, const std::string& source,
                         std::span<const std::string> options) {
  const MemoryFile result("paraes-binary");
  const MemoryFile messages("paraes-messages");
  const pid_t parent = getpid();
  // No signal handler of this process may run in the child before be_child() has removed them.
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  const pid_t child = fork();
  if (child == 0) {
    be_child(api, source, options, result.descriptor(), messages.descriptor(), parent);
  }
  const int error = errno;
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (child < 0) {
    throw IoError(
        "cannot start a process for the compiler: " + std::generic_category().message(error),
        error);
  }
  const std::string end = wait_for(child);
  Attempt attempt;
  if (end.empty() && read_attempt(result.contents(), attempt)) {
    if (attempt.log.empty() && !attempt.ok()) attempt.log = last_characters(messages.contents());
    return attempt;
  }
  attempt = {};
  attempt.failure = end.empty() ? "it ended without a result" : end;
  attempt.log = last_characters(messages.contents());
  return attempt;
}

class HipRtc : public Compiler {
 public:
  HipRtc() : library_(open_library()) {
    using enum DynamicLibrary::Need;
#define PARAES_LOAD(need, member, symbol) library_.load(need, #symbol, api_.member);
    PARAES_HIPRTC_CALLS(PARAES_LOAD)
#undef PARAES_LOAD
    name_ = "hipRTC " + version();
  }

  [[nodiscard]] std::string name() const override { return name_; }

  [[nodiscard]] Binary compile(const std::string& source, std::span<const std::string> options,
                               const std::string& target, const CheckBinary& check) override {
    // "gfx90a", "gfx90a:sramecc+:xnack-", "gfx9-4-generic".
    if (target.rfind("gfx", 0) != 0 ||
        target.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789:+-") != std::string::npos) {
      rtc::refuse_target(name_, target, "HIP targets have names like gfx90a");
    }
    std::vector<std::string> all = {"--gpu-architecture=" + target, "-std=c++17", "-DPARAES_HIP=1"};
    const std::vector<std::string> target_alone = all;
    all.insert(all.end(), options.begin(), options.end());
    Attempt attempt = compile_in_child(api_, source, all);
    if (attempt.ok()) {
      if (check) check(attempt.binary);
      return std::move(attempt.binary);
    }
    // If a trivial program fails as well, the target is wrong and not the source.
    const Attempt probe = compile_in_child(api_, trivial_program, target_alone);
    if (!probe.ok()) {
      rtc::refuse_target(name_, target,
                         probe.failure + (probe.log.empty() ? "" : ": ") + probe.log);
    }
    rtc::refuse(name_, target, attempt);
  }

 private:
  static DynamicLibrary open_library() {
    return DynamicLibrary(
        std::array{"libhiprtc.so.7", "libhiprtc.so.6", "libhiprtc.so.5", "libhiprtc.so",
                   "/opt/rocm/lib/libhiprtc.so", "libamdhip64.so.5"},
        "install hipRTC: ROCm's package hip-runtime-amd, or libamdhip64-5 (Debian, Ubuntu)");
  }

  // The version in the name of the library's file, such as libamdhip64.so.5.2.21153.
  [[nodiscard]] std::string version() const {
    const std::string file = rtc::file_of(reinterpret_cast<const void*>(api_.create.function));
    const std::string marker = ".so.";
    const std::size_t at = file.rfind(marker);
    return at == std::string::npos ? "of unknown version" : file.substr(at + marker.size());
  }

  DynamicLibrary library_;
  RtcApi api_;
  std::string name_;
};

}  // namespace

std::unique_ptr<Compiler> open_hiprtc() { return std::make_unique<HipRtc>(); }

}  // namespace paraes::gpu
