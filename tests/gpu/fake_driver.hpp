// The stand-ins for the drivers (fake_cuda.cpp), whose folder is in LD_LIBRARY_PATH.
#pragma once

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <memory>
#include <span>
#include <string>

#include "src/gpu/runtime/runtime.hpp"
#include "tests/support/message_of.hpp"

namespace paraes::gpu {

struct Vendor {
  const char* id;  // of its devices
  const char* library;
  std::unique_ptr<Platform> (*open)();
};

inline constexpr Vendor cuda = {"cuda", "libcuda.so.1", open_cuda};
inline constexpr Vendor hip = {"hip", "libamdhip64.so.7", open_hip};

// The stand-in and its counters. An environment variable holds its directives.
class Fake {
 public:
  explicit Fake(const Vendor& vendor) : handle_(dlopen(vendor.library, RTLD_NOW | RTLD_LOCAL)) {
    unsetenv("PARAES_FAKE_CUDA");
    if (present()) function<void()>("paraes_fake_reset")();
  }
  ~Fake() { unsetenv("PARAES_FAKE_CUDA"); }
  Fake(const Fake&) = delete;
  Fake& operator=(const Fake&) = delete;

  [[nodiscard]] bool present() const {
    return handle_ != nullptr && dlsym(handle_, "paraes_fake_live") != nullptr;
  }
  [[nodiscard]] bool bare() const { return function<int()>("paraes_fake_is_bare")() != 0; }
  [[nodiscard]] long live() const { return function<long()>("paraes_fake_live")(); }
  [[nodiscard]] long dirty() const { return function<long()>("paraes_fake_dirty")(); }
  // How often device memory was freed with other bytes than zeros.
  [[nodiscard]] long unwiped() const { return function<long()>("paraes_fake_unwiped")(); }
  // How often bytes were copied that nobody had written: device memory to the host, or pinned
  // memory to a device.
  [[nodiscard]] long uninitialised() const {
    return function<long()>("paraes_fake_uninitialised")();
  }
  // How often bytes were copied from or to memory of the host that is not pinned.
  [[nodiscard]] long unpinned() const { return function<long()>("paraes_fake_unpinned")(); }
  // Whether an upload that a real driver keeps a copy of had these bytes.
  [[nodiscard]] bool kept(std::span<const std::uint8_t> bytes) const {
    return function<bool(const void*, std::size_t)>("paraes_fake_kept")(bytes.data(), bytes.size());
  }
  [[nodiscard]] long calls_on_lost() const {
    return function<long()>("paraes_fake_calls_on_lost")();
  }
  [[nodiscard]] long calls(const char* name) const {
    return function<long(const char*)>("paraes_fake_calls")(name);
  }

  static void tell(const std::string& directives) {
    setenv("PARAES_FAKE_CUDA", directives.c_str(), 1);
  }

  template <class F>
  [[nodiscard]] F* function(const char* name) const {
    return reinterpret_cast<F*>(dlsym(handle_, name));
  }

 private:
  void* handle_;
};

#define NEEDS_FAKE(fake, is_bare)                                                            \
  if (!(fake).present()) {                                                                   \
    GTEST_SKIP() << "LD_LIBRARY_PATH does not name the stand-in of tests/gpu/fake_cuda.cpp"; \
  }                                                                                          \
  if ((fake).bare() != (is_bare)) GTEST_SKIP() << "this test needs the other stand-in"

using support::message_of;

}  // namespace paraes::gpu
