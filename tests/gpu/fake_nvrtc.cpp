// A stand-in for NVRTC in tests, which copy it to several places. A file beside each copy, with its
// name and ".says", may hold lines that describe the copy:
//   version MAJOR MINOR   the version that it reports (12 99)
//   targets 80 90 ...     the targets that it lists and compiles for (none: it compiles nothing)
//   unlisted 80 90 ...    the targets that it compiles for without listing any
// A program that it compiles is the text "fake MAJOR.MINOR", which the stand-in for the driver
// accepts (fake_cuda.cpp).

#include <dlfcn.h>

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

// This file defines functions that NVRTC's header declares, but does not include it.
#pragma GCC diagnostic ignored "-Wmissing-declarations"

namespace {

constexpr int invalid_input = 3;
constexpr int invalid_option = 5;
constexpr int internal_error = 11;

struct Description {
  int major = 12;
  int minor = 99;
  bool lists = false;
  std::vector<int> targets;
};

Description describe() {
  Description description;
  Dl_info info{};
  if (dladdr(reinterpret_cast<const void*>(&describe), &info) == 0) std::abort();
  std::ifstream file(std::string(info.dli_fname) + ".says");
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::string word;
    words >> word;
    if (word == "version") words >> description.major >> description.minor;
    if (word != "targets" && word != "unlisted") continue;
    description.lists = word == "targets";
    for (int target = 0; words >> target;) description.targets.push_back(target);
  }
  return description;
}

const Description& self() {
  static const Description description = describe();
  return description;
}

constexpr char log_text[] = "nvrtc: error: invalid value for --gpu-architecture (-arch)";

std::string code_text() {
  return "fake " + std::to_string(self().major) + "." + std::to_string(self().minor);
}

}  // namespace

extern "C" int nvrtcVersion(int* major, int* minor) {
  *major = self().major;
  *minor = self().minor;
  return 0;
}

extern "C" int nvrtcGetNumSupportedArchs(int* count) {
  if (!self().lists) return invalid_input;
  *count = static_cast<int>(self().targets.size());
  return 0;
}

extern "C" int nvrtcGetSupportedArchs(int* targets) {
  if (!self().lists) return invalid_input;
  std::copy(self().targets.begin(), self().targets.end(), targets);
  return 0;
}

extern "C" int nvrtcCreateProgram(void** program, const char*, const char*, int, const char* const*,
                                  const char* const*) {
  if (self().targets.empty()) return internal_error;
  *program = nullptr;
  return 0;
}

extern "C" int nvrtcDestroyProgram(void**) { return 0; }

extern "C" int nvrtcCompileProgram(void*, int count, const char* const* options) {
  const std::string prefix = "--gpu-architecture=sm_";
  for (int i = 0; i < count; ++i) {
    const std::string option = options[i];
    if (option.rfind(prefix, 0) != 0) continue;
    const int target = std::atoi(option.c_str() + prefix.size());
    const auto& known = self().targets;
    return std::find(known.begin(), known.end(), target) != known.end() ? 0 : invalid_option;
  }
  return invalid_option;
}

extern "C" int nvrtcGetProgramLogSize(void*, std::size_t* bytes) {
  *bytes = sizeof log_text;
  return 0;
}

extern "C" int nvrtcGetProgramLog(void*, char* log) {
  std::memcpy(log, log_text, sizeof log_text);
  return 0;
}

extern "C" int nvrtcGetCUBINSize(void*, std::size_t* bytes) {
  *bytes = code_text().size();
  return 0;
}

extern "C" int nvrtcGetCUBIN(void*, char* code) {
  const std::string text = code_text();
  std::memcpy(code, text.data(), text.size());
  return 0;
}
