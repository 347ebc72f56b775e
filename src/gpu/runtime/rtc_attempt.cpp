#include "src/gpu/runtime/rtc_attempt.hpp"

#include <dlfcn.h>

#include <cstring>
#include <filesystem>
#include <system_error>
#include <vector>

#include "paraes/error.hpp"

namespace paraes::gpu::rtc {
namespace {

using driver::RtcApi;
namespace fs = std::filesystem;

template <class... P, class... A>
bool succeeds(const RtcApi& api, Attempt& attempt, const driver::Call<int(P...)>& call,
              A... arguments) {
  attempt.code = call.function(arguments...);
  if (attempt.code == driver::rtc_success) return true;
  const char* const name = api.error_name ? api.error_name.function(attempt.code) : nullptr;
  attempt.failure = std::string(call.name) + " failed: " + (name != nullptr ? name : "an error") +
                    " (" + std::to_string(attempt.code) + ")";
  return false;
}

}  // namespace

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

void refuse(const std::string& compiler, const std::string& target, const Attempt& attempt) {
  throw DeviceError(compiler + " cannot compile the program for " + target + ": " +
                    attempt.failure + (attempt.log.empty() ? "" : "\n") + attempt.log);
}

void refuse_target(const std::string& compiler, const std::string& target, const std::string& why) {
  throw InvalidArgument(compiler + " does not know the target " + target +
                        (why.empty() ? "" : ": ") + why);
}

std::string file_of(const void* function) {
  Dl_info info{};
  if (dladdr(function, &info) == 0 || info.dli_fname == nullptr) return "";
  std::error_code error;
  const fs::path path = fs::canonical(info.dli_fname, error);
  return error ? info.dli_fname : path.string();
}

}  // namespace paraes::gpu::rtc
