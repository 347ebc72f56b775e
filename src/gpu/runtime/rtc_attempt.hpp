// One compilation by a run-time compiler: NVRTC or hipRTC.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "src/gpu/runtime/cuda_api.hpp"
#include "src/gpu/runtime/runtime.hpp"

namespace paraes::gpu::rtc {

// The result: a binary, or why there is none, with the code of the call that failed.
struct Attempt {
  std::string failure;  // empty if there is none
  std::int32_t code = driver::rtc_success;
  std::string log;
  Binary binary;

  [[nodiscard]] bool ok() const noexcept { return failure.empty(); }
};

[[nodiscard]] Attempt compile_here(const driver::RtcApi& api, const std::string& source,
                                   std::span<const std::string> options);

// Throws DeviceError for an attempt that failed.
[[noreturn]] void refuse(const std::string& compiler, const std::string& target,
                         const Attempt& attempt);
// Throws InvalidArgument.
[[noreturn]] void refuse_target(const std::string& compiler, const std::string& target,
                                const std::string& why);

// The path of the library that contains this address.
[[nodiscard]] std::string file_of(const void* function);

}  // namespace paraes::gpu::rtc
