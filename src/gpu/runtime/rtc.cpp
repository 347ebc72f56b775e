// The run-time compilers NVRTC and hipRTC. Neither needs a GPU.

#include <dlfcn.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <memory>
#include <string>
#include <system_error>
#include <thread>
#include <utility>

#include "paraes/error.hpp"
#include "src/core/checked_path.hpp"
#include "src/core/system/memory.hpp"
#include "src/core/system/process.hpp"
#include "src/gpu/runtime/cuda_api.hpp"
#include "src/gpu/runtime/hip_api.hpp"
#include "src/gpu/runtime/runtime.hpp"

namespace paraes::gpu {
namespace {

namespace fs = std::filesystem;

using driver::RtcApi;

// ---- One compilation

// The result: a binary, or the call that failed and its code.
struct Attempt {
  std::string failed_call;
  std::string failure;  // description of the failure; empty if there is none
  std::int32_t code = driver::rtc_success;
  std::string log;
  Binary binary;

  [[nodiscard]] bool ok() const noexcept { return failure.empty(); }
};

template <class... P, class... A>
bool succeeds(const RtcApi& api, Attempt& attempt, const driver::Call<int(P...)>& call,
              A... arguments) {
  attempt.code = call.function(arguments...);
  if (attempt.code == driver::rtc_success) return true;
  attempt.failed_call = call.name;
  const char* const name = api.error_name ? api.error_name.function(attempt.code) : nullptr;
  attempt.failure = attempt.failed_call + " failed: " + (name != nullptr ? name : "an error") +
                    " (" + std::to_string(attempt.code) + ")";
  return false;
}

Attempt compile_here(const RtcApi& api, const std::string& source,
                     std::span<const std::string> options) {
  Attempt attempt;
  driver::RtcProgram program = nullptr;
  if (!succeeds(api, attempt, api.create, &program, source.c_str(), "paraes", 0, nullptr,
                nullptr)) {
    return attempt;
  }
  std::vector<const char*> arguments;
  arguments.reserve(options.size());
  for (const std::string& option : options) arguments.push_back(option.c_str());
  std::size_t bytes = 0;
  if (succeeds(api, attempt, api.compile, program, static_cast<int>(arguments.size()),
               arguments.data())) {
    if (succeeds(api, attempt, api.code_bytes, program, &bytes)) {
      attempt.binary.resize(bytes);
      succeeds(api, attempt, api.code, program, reinterpret_cast<char*>(attempt.binary.data()));
    }
  } else if (api.log_bytes.function(program, &bytes) == driver::rtc_success && bytes > 0) {
    attempt.log.resize(bytes);
    if (api.log.function(program, attempt.log.data()) != driver::rtc_success) attempt.log.clear();
    attempt.log.resize(std::strlen(attempt.log.c_str()));
  }
  static_cast<void>(api.destroy.function(&program));
  if (attempt.ok() && attempt.binary.empty()) attempt.failure = "the result is empty";
  return attempt;
}

[[noreturn]] void refuse(const std::string& compiler, const std::string& target,
                         const Attempt& attempt) {
  throw DeviceError(compiler + " cannot compile the program for " + target + ": " +
                    attempt.failure + (attempt.log.empty() ? "" : "\n") + attempt.log);
}

[[noreturn]] void refuse_target(const std::string& compiler, const std::string& target,
                                const std::string& why) {
  throw InvalidArgument(compiler + " does not know the target " + target +
                        (why.empty() ? "" : ": ") + why);
}

// The path of the library that contains this address.
std::string file_of(const void* function) {
  Dl_info info{};
  if (dladdr(function, &info) == 0 || info.dli_fname == nullptr) return "";
  std::error_code error;
  const fs::path path = fs::canonical(info.dli_fname, error);
  return error ? info.dli_fname : path.string();
}

// ---- NVRTC

// Adds the folders of Python packages under `prefix`.
void add_python_folders(std::vector<fs::path>& folders, const fs::path& prefix) {
  for (const char* lib : {"lib", "lib64"}) {
    std::error_code error;
    for (fs::directory_iterator entry(prefix / lib, error), end; !error && entry != end;
         entry.increment(error)) {
      if (entry->path().filename().string().rfind("python3", 0) != 0) continue;
      for (const char* packages : {"site-packages", "dist-packages"}) {
        folders.push_back(entry->path() / packages);
      }
    }
  }
}

std::vector<fs::path> python_folders() {
  std::vector<fs::path> folders;
  // This library may itself be in a Python package.
  static const char anchor = 0;
  for (fs::path path = file_of(&anchor); path.has_relative_path(); path = path.parent_path()) {
    if (path.filename() == "site-packages" || path.filename() == "dist-packages") {
      folders.push_back(path);
    }
  }
  for (const char* variable : {"VIRTUAL_ENV", "CONDA_PREFIX"}) {
    if (const std::string prefix = trusted_environment(variable); !prefix.empty()) {
      add_python_folders(folders, prefix);
    }
  }
  if (const std::string home = trusted_environment("HOME"); !home.empty()) {
    add_python_folders(folders, fs::path(home) / ".local");
  }
  add_python_folders(folders, "/usr/local");
  add_python_folders(folders, "/usr");
  return folders;
}

constexpr const char* nvrtc_advice =
    "install NVRTC: the PyPI package nvidia-cuda-nvrtc (nvidia-cuda-nvrtc-cu12 for drivers of "
    "CUDA 12), or NVIDIA's CUDA Toolkit; or name its libnvrtc.so in PARAES_NVRTC";

// The files that may be NVRTC.
std::vector<std::string> nvrtc_names() {
  if (std::string name = trusted_environment("PARAES_NVRTC"); !name.empty()) return {name};
  struct Release {
    int major;
    const char* package;  // the folder in the Python package
  };
  constexpr std::array releases = {Release{13, "nvidia/cu13/lib"},
                                   Release{12, "nvidia/cuda_nvrtc/lib"}};
  const std::vector<fs::path> folders = python_folders();
  std::vector<std::string> names;
  for (const Release& release : releases) {
    const std::string soname = "libnvrtc.so." + std::to_string(release.major);
    names.push_back(soname);
    names.push_back("/usr/local/cuda/lib64/" + soname);
    names.push_back("/usr/local/cuda-" + std::to_string(release.major) + "/lib64/" + soname);
    for (const fs::path& folder : folders) names.push_back(folder / release.package / soname);
  }
  names.emplace_back("libnvrtc.so");
  names.emplace_back("/usr/local/cuda/lib64/libnvrtc.so");
  return names;
}

// Digits of a target such as "sm_90" or "sm_90a"; empty if it is no target of CUDA.
std::string cuda_target_digits(const std::string& target) {
  if (target.rfind("sm_", 0) != 0) return "";
  std::string digits = target.substr(3, target.find_first_not_of("0123456789", 3) - 3);
  const std::string suffix = target.substr(3 + digits.size());
  const bool known = suffix.empty() || suffix == "a" || suffix == "f";
  return known && digits.size() <= 4 ? digits : "";
}

// One library.
class Nvrtc {
 public:
  using Version = std::pair<int, int>;

  explicit Nvrtc(std::unique_ptr<DynamicLibrary> library) : library_(std::move(library)) {
    using enum driver::Need;
#define PARAES_LOAD(need, member, symbol) load(*library_, need, #symbol, api_.member);
    PARAES_NVRTC_CALLS(PARAES_LOAD)
#undef PARAES_LOAD
    auto& [major, minor] = version_;
    if (const int code = api_.version.function(&major, &minor); code != driver::rtc_success) {
      throw Unavailable(library_->name() + ": nvrtcVersion failed (" + std::to_string(code) + ")");
    }
    name_ = "NVRTC " + std::to_string(major) + "." + std::to_string(minor);
    file_ = file_of(reinterpret_cast<const void*>(api_.version.function));
  }

  [[nodiscard]] const std::string& name() const noexcept { return name_; }
  [[nodiscard]] const std::string& file() const noexcept { return file_; }
  [[nodiscard]] Version version() const noexcept { return version_; }

  // Throws as Compiler::compile.
  [[nodiscard]] Binary compile(const std::string& source, std::span<const std::string> options,
                               const std::string& target) const {
    check_target(target);
    // sm_XX gives machine code. The driver would have to compile the PTX of compute_XX.
    std::vector<std::string> all = {"--gpu-architecture=" + target, "-std=c++17",
                                    "-DPARAES_CUDA=1"};
    all.insert(all.end(), options.begin(), options.end());
    Attempt attempt = compile_here(api_, source, all);
    if (attempt.ok()) return std::move(attempt.binary);
    if (attempt.code == driver::rtc_invalid_option &&
        attempt.log.find("architecture") != std::string::npos) {
      refuse_target(name_, target, attempt.log);
    }
    refuse(name_, target, attempt);
  }

 private:
  void check_target(const std::string& target) const {
    const std::string digits = cuda_target_digits(target);
    if (digits.empty()) refuse_target(name_, target, "CUDA targets have names like sm_90");
    if (!api_.target_count || !api_.targets) return;
    int count = 0;
    if (api_.target_count.function(&count) != driver::rtc_success || count <= 0) return;
    std::vector<int> known(static_cast<std::size_t>(count));
    if (api_.targets.function(known.data()) != driver::rtc_success) return;
    if (std::find(known.begin(), known.end(), std::stoi(digits)) != known.end()) return;
    std::string list;
    for (const int number : known)
      list += (list.empty() ? "sm_" : ", sm_") + std::to_string(number);
    refuse_target(name_, target, "it knows " + list);
  }

  std::unique_ptr<DynamicLibrary> library_;
  RtcApi api_;
  Version version_;
  std::string name_;
  std::string file_;
};

// Every NVRTC that can be opened, each file once. Throws Unavailable if there is none.
std::vector<std::unique_ptr<Nvrtc>> open_nvrtc_libraries() {
  const std::vector<std::string> names = nvrtc_names();
  std::vector<std::unique_ptr<Nvrtc>> found;
  std::string unusable;
  for (const std::string& name : names) {
    std::unique_ptr<DynamicLibrary> library;
    try {
      library = std::make_unique<DynamicLibrary>(std::array{name.c_str()}, "");
    } catch (const Unavailable&) {
      continue;
    }
    try {
      auto nvrtc = std::make_unique<Nvrtc>(std::move(library));
      const bool is_known = std::any_of(found.begin(), found.end(), [&](const auto& other) {
        return other->file() == nvrtc->file();
      });
      if (!is_known) found.push_back(std::move(nvrtc));
    } catch (const Unavailable& error) {
      if (unusable.empty()) unusable = error.what();
    }
  }
  if (!found.empty()) return found;
  if (!unusable.empty()) throw Unavailable(unusable + "; " + nvrtc_advice);
  std::vector<const char*> pointers;
  pointers.reserve(names.size());
  for (const std::string& name : names) pointers.push_back(name.c_str());
  const DynamicLibrary none(pointers, nvrtc_advice);  // throws all the reasons
  throw Unavailable(nvrtc_advice);
}

// All NVRTCs of this machine, in the order in which they are tried.
class NvrtcChoice : public Compiler {
 public:
  explicit NvrtcChoice(Nvrtc::Version driver) : libraries_(open_nvrtc_libraries()) {
    std::stable_sort(libraries_.begin(), libraries_.end(), [&](const auto& a, const auto& b) {
      const bool a_fits = a->version() <= driver;
      const bool b_fits = b->version() <= driver;
      if (a_fits != b_fits) return a_fits;
      return a_fits ? a->version() > b->version() : a->version() < b->version();
    });
  }

  [[nodiscard]] std::string name() const override { return libraries_[0]->name(); }

  [[nodiscard]] Binary compile_checked(const std::string& source,
                                       std::span<const std::string> options,
                                       const std::string& target,
                                       const CheckBinary& check) override {
    if (libraries_.size() == 1 || cuda_target_digits(target).empty()) {
      return attempt(*libraries_[0], source, options, target, check);
    }
    std::string refusals = "no NVRTC of this machine compiles the program for " + target + ':';
    bool is_known = false;  // whether one of them knows the target
    for (const auto& library : libraries_) {
      const auto refused = [&](const Error& error) {
        refusals.append("\n").append(library->file()).append(": ").append(error.what());
      };
      try {
        return attempt(*library, source, options, target, check);
      } catch (const OutOfMemory&) {
        throw;  // of the device, not because of the program
      } catch (const InvalidArgument& error) {
        refused(error);
      } catch (const DeviceError& error) {
        refused(error);
        is_known = true;
      }
    }
    if (!is_known) throw InvalidArgument(refusals);
    throw DeviceError(refusals);
  }

 private:
  static Binary attempt(const Nvrtc& library, const std::string& source,
                        std::span<const std::string> options, const std::string& target,
                        const CheckBinary& check) {
    Binary binary = library.compile(source, options, target);
    if (check) check(binary);
    return binary;
  }

  std::vector<std::unique_ptr<Nvrtc>> libraries_;  // at least one
};

// ---- hipRTC

// A file in memory.
class MemoryFile {
 public:
  explicit MemoryFile(const char* name) : descriptor_(system::open_memory_file(name)) {
    if (descriptor_ < 0) {
      throw IoError("cannot create a file in memory for the compiler: " +
                        std::generic_category().message(errno),
                    errno);
    }
  }
  ~MemoryFile() { ::close(descriptor_); }
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;

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
    _exit(write_attempt(result, compile_here(api, source, options)) ? 0 : 1);
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
    using enum driver::Need;
#define PARAES_LOAD(need, member, symbol) load(library_, need, #symbol, api_.member);
    PARAES_HIPRTC_CALLS(PARAES_LOAD)
#undef PARAES_LOAD
    name_ = "hipRTC " + version();
  }

  [[nodiscard]] std::string name() const override { return name_; }

  [[nodiscard]] Binary compile_checked(const std::string& source,
                                       std::span<const std::string> options,
                                       const std::string& target,
                                       const CheckBinary& check) override {
    Binary binary = compile_alone(source, options, target);
    if (check) check(binary);
    return binary;
  }

 private:
  [[nodiscard]] Binary compile_alone(const std::string& source,
                                     std::span<const std::string> options,
                                     const std::string& target) const {
    // "gfx90a", "gfx90a:sramecc+:xnack-", "gfx9-4-generic".
    if (target.rfind("gfx", 0) != 0 ||
        target.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789:+-") != std::string::npos) {
      refuse_target(name_, target, "HIP targets have names like gfx90a");
    }
    std::vector<std::string> all = {"--gpu-architecture=" + target, "-std=c++17", "-DPARAES_HIP=1"};
    const std::vector<std::string> target_alone = all;
    all.insert(all.end(), options.begin(), options.end());
    Attempt attempt = compile_in_child(api_, source, all);
    if (attempt.ok()) return std::move(attempt.binary);
    // If a trivial program fails as well, the target is wrong and not the source.
    const Attempt probe = compile_in_child(api_, trivial_program, target_alone);
    if (!probe.ok()) {
      refuse_target(name_, target, probe.failure + (probe.log.empty() ? "" : ": ") + probe.log);
    }
    refuse(name_, target, attempt);
  }

  static DynamicLibrary open_library() {
    return DynamicLibrary(
        std::array{"libhiprtc.so.7", "libhiprtc.so.6", "libhiprtc.so.5", "libhiprtc.so",
                   "/opt/rocm/lib/libhiprtc.so", "libamdhip64.so.5"},
        "install hipRTC: ROCm's package hip-runtime-amd, or libamdhip64-5 (Debian, Ubuntu)");
  }

  // The version in the name of the library's file, such as libamdhip64.so.5.2.21153.
  [[nodiscard]] std::string version() const {
    const std::string file = file_of(reinterpret_cast<const void*>(api_.create.function));
    const std::string marker = ".so.";
    const std::size_t at = file.rfind(marker);
    return at == std::string::npos ? "of unknown version" : file.substr(at + marker.size());
  }

  DynamicLibrary library_;
  RtcApi api_;
  std::string name_;
};

}  // namespace

namespace driver {

std::unique_ptr<Compiler> open_nvrtc_for(int driver_version) {
  return std::make_unique<NvrtcChoice>(
      Nvrtc::Version{driver_version / 1000, driver_version % 1000 / 10});
}

}  // namespace driver

std::unique_ptr<Compiler> open_nvrtc() { return driver::open_nvrtc_for(0); }

std::unique_ptr<Compiler> open_hiprtc() { return std::make_unique<HipRtc>(); }

}  // namespace paraes::gpu
