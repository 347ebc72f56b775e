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
    if (present()) reset();
  }
  ~Fake() { unsetenv("PARAES_FAKE_CUDA"); }
  Fake(const Fake&) = delete;
  Fake& operator=(const Fake&) = delete;

  [[nodiscard]] bool present() const {
    return handle_ != nullptr && dlsym(handle_, "paraes_fake_live") != nullptr;
  }
  [[nodiscard]] bool bare() const { return function<int()>("paraes_fake_is_bare")() != 0; }
  // Objects that nobody has freed.
  [[nodiscard]] long live() const { return function<long()>("paraes_fake_live")(); }
  // How often host memory was freed without having been overwritten with zeros.
  [[nodiscard]] long dirty() const { return count("dirty"); }
  // How often device memory was freed with other bytes than zeros.
  [[nodiscard]] long unwiped() const { return count("unwiped"); }
  // How often bytes were copied that nobody had written: device memory to the host, or pinned
  // memory to a device.
  [[nodiscard]] long uninitialised() const { return count("uninitialised"); }
  // How often bytes were copied from or to memory of the host that is not pinned.
  [[nodiscard]] long unpinned() const { return count("unpinned"); }
  [[nodiscard]] long calls_on_lost() const { return count("calls on a lost device"); }
  // Whether an upload that a real driver keeps a copy of had these bytes.
  [[nodiscard]] bool kept(std::span<const std::uint8_t> bytes) const {
    return function<bool(const void*, std::size_t)>("paraes_fake_kept")(bytes.data(), bytes.size());
  }
  // How many bytes were copied from and to this page-locked memory, or any memory of the host.
  [[nodiscard]] long uploaded(const void* memory = nullptr) const { return copied("up", memory); }
  [[nodiscard]] long downloaded(const void* memory = nullptr) const {
    return copied("down", memory);
  }
  // How many copies from or to this page-locked memory nobody has waited for.
  [[nodiscard]] long pending(const void* memory) const {
    return function<long(const void*)>("paraes_fake_pending")(memory);
  }
  [[nodiscard]] long calls(const char* name) const {
    return function<long(const char*)>("paraes_fake_calls")(name);
  }
  void reset() const { function<void()>("paraes_fake_reset")(); }

  static void tell(const std::string& directives) {
    setenv("PARAES_FAKE_CUDA", directives.c_str(), 1);
  }

  template <class F>
  [[nodiscard]] F* function(const char* name) const {
    return reinterpret_cast<F*>(dlsym(handle_, name));
  }

 private:
  [[nodiscard]] long count(const char* what) const {
    return function<long(const char*)>("paraes_fake_count")(what);
  }

  [[nodiscard]] long copied(const char* way, const void* memory) const {
    return function<long(const char*, const void*)>("paraes_fake_copied")(way, memory);
  }

  void* handle_;
};

// A test with the stand-in for a driver: the bare one, or the other.
class WithDriver : public testing::Test {
 protected:
  explicit WithDriver(const Vendor& vendor, bool bare = false)
      : vendor_(vendor), fake_(vendor), bare_(bare) {}

  void SetUp() override {
    if (!fake_.present()) {
      GTEST_SKIP() << "LD_LIBRARY_PATH does not name the stand-in of tests/gpu/fake_cuda.cpp";
    }
    if (fake_.bare() != bare_) GTEST_SKIP() << "this test needs the other stand-in";
  }

  [[nodiscard]] bool is_cuda() const { return &vendor_ == &cuda; }
  [[nodiscard]] const char* name(const char* of_cuda, const char* of_hip) const {
    return is_cuda() ? of_cuda : of_hip;
  }
  // How often somebody has waited for the work of a stream.
  [[nodiscard]] long waits() const {
    return fake_.calls(name("cuStreamSynchronize", "hipStreamSynchronize")) +
           fake_.calls(name("cuEventSynchronize", "hipEventSynchronize"));
  }
  // Opens a device, which is open until the end of the test or the next call.
  Device* open(unsigned index = 0) {
    device_.reset();
    platform_ = vendor_.open();
    device_ = platform_->open(index);
    return device_.get();
  }

  const Vendor& vendor_;
  const Fake fake_;

 private:
  bool bare_;
  std::unique_ptr<Platform> platform_;
  std::unique_ptr<Device> device_;
};

// Runs once for each driver.
class WithEachDriver : public WithDriver, public testing::WithParamInterface<const Vendor*> {
 protected:
  explicit WithEachDriver(bool bare = false) : WithDriver(*GetParam(), bare) {}
};

#define PARAES_FOR_EACH_DRIVER(Suite)                                                \
  INSTANTIATE_TEST_SUITE_P(, Suite, testing::Values(&cuda, &hip),                    \
                           [](const testing::TestParamInfo<const Vendor*>& driver) { \
                             return std::string(driver.param->id);                   \
                           })

using support::message_of;

}  // namespace paraes::gpu
