// The run-time compiler NVRTC. It needs no GPU.

#include <fcntl.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "paraes/error.hpp"
#include "src/core/checked_path.hpp"
#include "src/core/system/folder.hpp"
#include "src/gpu/runtime/cuda_api.hpp"
#include "src/gpu/runtime/rtc_attempt.hpp"
#include "src/gpu/runtime/runtime.hpp"

namespace paraes::gpu {
namespace {

namespace fs = std::filesystem;

using driver::RtcApi;
using rtc::Attempt;

// Adds the folders of Python packages under `prefix`.
void add_python_folders(std::vector<fs::path>& folders, const fs::path& prefix) {
  for (const char* lib : {"lib", "lib64"}) {
    const fs::path folder = prefix / lib;
    // One that cannot be read has no packages.
    static_cast<void>(system::visit_names(AT_FDCWD, folder.c_str(), [&](std::string_view name) {
      if (!name.starts_with("python3")) return;
      for (const char* packages : {"site-packages", "dist-packages"}) {
        folders.push_back(folder / name / packages);
      }
    }));
  }
}

std::vector<fs::path> python_folders() {
  std::vector<fs::path> folders;
  // This library may itself be in a Python package.
  static const char anchor = 0;
  for (fs::path path = rtc::file_of(&anchor); path.has_relative_path(); path = path.parent_path()) {
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

// Digits of a target such as "sm_90" or "sm_90a"; empty if it is not a target of CUDA.
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
    using enum DynamicLibrary::Need;
#define PARAES_LOAD(need, member, symbol) library_->load(need, #symbol, api_.member);
    PARAES_NVRTC_CALLS(PARAES_LOAD)
#undef PARAES_LOAD
    auto& [major, minor] = version_;
    if (const int code = api_.version.function(&major, &minor); code != driver::rtc_success) {
      throw Unavailable(library_->name() + ": nvrtcVersion failed (" + std::to_string(code) + ")");
    }
    name_ = "NVRTC " + std::to_string(major) + "." + std::to_string(minor);
    file_ = rtc::file_of(reinterpret_cast<const void*>(api_.version.function));
  }

  [[nodiscard]] const std::string& name() const noexcept { return name_; }
  [[nodiscard]] const std::string& file() const noexcept { return file_; }
  [[nodiscard]] Version version() const noexcept { return version_; }

  // Throws as Compiler::compile.
  [[nodiscard]] Binary compile(const std::string& source, std::span<const std::string> options,
                               const std::string& target, const CheckBinary& check) const {
    check_target(target);
    // sm_XX gives machine code. The driver would have to compile the PTX of compute_XX.
    std::vector<std::string> all = {"--gpu-architecture=" + target, "-std=c++17",
                                    "-DPARAES_CUDA=1"};
    all.insert(all.end(), options.begin(), options.end());
    Attempt attempt = rtc::compile_here(api_, source, all);
    if (attempt.ok()) {
      if (check) check(attempt.binary);
      return std::move(attempt.binary);
    }
    if (attempt.code == driver::rtc_invalid_option &&
        attempt.log.find("architecture") != std::string::npos) {
      rtc::refuse_target(name_, target, attempt.log);
    }
    rtc::refuse(name_, target, attempt);
  }

 private:
  void check_target(const std::string& target) const {
    const std::string digits = cuda_target_digits(target);
    if (digits.empty()) rtc::refuse_target(name_, target, "CUDA targets have names like sm_90");
    if (!api_.target_count || !api_.targets) return;
    int count = 0;
    if (api_.target_count.function(&count) != driver::rtc_success || count <= 0) return;
    std::vector<int> known(static_cast<std::size_t>(count));
    if (api_.targets.function(known.data()) != driver::rtc_success) return;
    if (std::ranges::find(known, std::stoi(digits)) != known.end()) return;
    std::string list;
    for (const int number : known)
      list += (list.empty() ? "sm_" : ", sm_") + std::to_string(number);
    rtc::refuse_target(name_, target, "it knows " + list);
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
      const bool is_known = std::ranges::any_of(
          found, [&](const auto& other) { return other->file() == nvrtc->file(); });
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
    std::ranges::stable_sort(libraries_, [&](const auto& a, const auto& b) {
      const bool a_fits = a->version() <= driver;
      const bool b_fits = b->version() <= driver;
      if (a_fits != b_fits) return a_fits;
      return a_fits ? a->version() > b->version() : a->version() < b->version();
    });
  }

  [[nodiscard]] std::string name() const override { return libraries_[0]->name(); }

  [[nodiscard]] Binary compile(const std::string& source, std::span<const std::string> options,
                               const std::string& target, const CheckBinary& check) override {
    if (libraries_.size() == 1 || cuda_target_digits(target).empty()) {
      return libraries_[0]->compile(source, options, target, check);
    }
    std::string refusals = "no NVRTC of this machine compiles the program for " + target + ':';
    bool is_known = false;  // whether one of them knows the target
    for (const auto& library : libraries_) {
      const auto refused = [&](const Error& error) {
        refusals.append("\n").append(library->file()).append(": ").append(error.what());
      };
      try {
        return library->compile(source, options, target, check);
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
  std::vector<std::unique_ptr<Nvrtc>> libraries_;  // at least one
};

}  // namespace

namespace driver {

std::unique_ptr<Compiler> open_nvrtc_for(int driver_version) {
  return std::make_unique<NvrtcChoice>(
      Nvrtc::Version{driver_version / 1000, driver_version % 1000 / 10});
}

}  // namespace driver

std::unique_ptr<Compiler> open_nvrtc() { return driver::open_nvrtc_for(0); }

}  // namespace paraes::gpu
