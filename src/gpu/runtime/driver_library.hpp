// The driver library of CUDA or HIP: its calls, its errors, and what it says about its devices.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>

#include "paraes/error.hpp"
#include "src/core/dynamic_library.hpp"
#include "src/gpu/runtime/cuda_api.hpp"
#include "src/gpu/runtime/runtime.hpp"

namespace paraes::gpu::driver {

enum class Kind : std::uint8_t { cuda, hip };

// Whether this process can no longer use the device after this code. Every later call then returns
// the same code.
[[nodiscard]] bool loses_device(int code);

// The loaded and initialised driver library.
class Runtime {
 public:
  explicit Runtime(Kind kind);

  [[nodiscard]] Kind kind() const noexcept { return kind_; }
  [[nodiscard]] const DriverApi& api() const noexcept { return api_; }
  [[nodiscard]] int count() const noexcept { return count_; }
  [[nodiscard]] const char* name() const noexcept { return kind_ == Kind::cuda ? "cuda" : "hip"; }
  [[nodiscard]] const std::string& version() const noexcept { return version_; }
  // The value of pointer_memory_type for page-locked memory.
  [[nodiscard]] int host_memory_type() const noexcept {
    const bool is_old = kind_ == Kind::hip && version_number_ < hip_version_6;
    return is_old ? memory_type_host_of_hip_5 : memory_type_host;
  }
  [[nodiscard]] const Attributes& attributes() const noexcept {
    return kind_ == Kind::cuda ? cuda_attributes : hip_attributes;
  }

  template <class... P, class... A>
  void check(const Call<int(P...)>& call, A... arguments) const {
    if (const int code = call.function(arguments...); code != success) fail(call, code, "");
  }

  // Throws the error of a failed call. `about` is appended to the message.
  template <class Signature>
  [[noreturn]] void fail(const Call<Signature>& call, int code, const std::string& about) const {
    const std::string message = failure(call.name, code) + about;
    if (code == out_of_memory) throw OutOfMemory(message);
    throw DeviceError(message);
  }

  // Call this after a failed call that is not an error: HIP keeps the last error of a thread, which
  // other users of HIP in this process may check.
  void clear_last_error() const {
    if (api_.hip_last_error) static_cast<void>(api_.hip_last_error.function());
  }

  // The compiler, opened at the first call. Throws Unavailable.
  [[nodiscard]] Compiler& compiler() const;

 private:
  [[nodiscard]] std::string failure(const char* call, int code) const;
  void initialise();
  void set_version();

  Kind kind_;
  DynamicLibrary library_;
  DriverApi api_;
  int count_ = 0;
  int version_number_ = 0;
  std::string version_;
  mutable std::mutex mutex_;
  mutable std::unique_ptr<Compiler> compiler_;
};

// An attribute of a device; 0 if the driver does not know it.
[[nodiscard]] int attribute_or_none(const Runtime& runtime, int device, int number);
[[nodiscard]] int device_handle(const Runtime& runtime, unsigned index);
[[nodiscard]] std::string device_id(const Runtime& runtime, unsigned index);
[[nodiscard]] DeviceInfo describe(const Runtime& runtime, unsigned index);

}  // namespace paraes::gpu::driver
