// A device of CUDA or HIP, and what runs on it.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <span>
#include <string>

#include "src/core/non_copyable.hpp"
#include "src/gpu/runtime/driver_library.hpp"

namespace paraes::gpu::driver {

class DriverDevice : public Device {
 public:
  DriverDevice(std::shared_ptr<const Runtime> runtime, unsigned index);
  ~DriverDevice() override;

  [[nodiscard]] const DeviceInfo& info() const noexcept override { return info_; }
  [[nodiscard]] NativeDevice native() const noexcept override { return {context_, nullptr}; }
  void while_current(const std::function<void()>& work) override;
  void finish_all() override;
  [[nodiscard]] std::uint64_t free_bytes() override;
  [[nodiscard]] Memory allocate(std::size_t bytes) override;
  [[nodiscard]] bool reads_pinned_memory() const noexcept override {
    return maps_host_memory_ && api().host_pointer;
  }
  [[nodiscard]] std::unique_ptr<PinnedMemory> allocate_pinned(std::size_t bytes,
                                                              bool mapped) override;
  [[nodiscard]] bool is_page_locked(const void* memory, std::size_t bytes) override;
  [[nodiscard]] std::unique_ptr<Queue> make_queue() override;
  [[nodiscard]] std::unique_ptr<Queue> borrow_queue(void* handle) override;
  [[nodiscard]] Binary compile(const std::string& source,
                               std::span<const std::string> options) override;
  [[nodiscard]] std::shared_ptr<Program> load(const Binary& binary) override;

  [[nodiscard]] const DriverApi& api() const noexcept { return runtime_->api(); }

  template <class... P, class... A>
  void check(const Call<int(P...)>& call, A... arguments) {
    if (const int code = call.function(arguments...); code != success) fail(call, code, "");
  }

  template <class Signature>
  [[noreturn]] void fail(const Call<Signature>& call, int code, const std::string& about) {
    if (loses_device(code)) lost_ = true;
    runtime_->fail(call, code, about);
  }

  // For destructors: makes the call and ignores errors. Does nothing on a lost device. No call can
  // wait for its work any more, so memory that its copies use, also the caller's, must not be used
  // for anything else until the process ends.
  template <class... P, class... A>
  void try_call(const Call<int(P...)>& call, A... arguments) noexcept;

 private:
  friend class Current;
  void release(std::uint64_t handle) noexcept override { try_call(api().free, handle); }

  std::shared_ptr<const Runtime> runtime_;
  DeviceInfo info_;
  int device_ = 0;
  Context context_ = nullptr;
  bool maps_host_memory_ = false;
  std::atomic<bool> lost_ = false;
};

// Makes a device current on the calling thread, and then restores the previous one, on which other
// libraries in the process may rely.
class Current : NonCopyable {
 public:
  explicit Current(DriverDevice& device) : device_(device) {
    const DriverApi& api = device.api();
    if (device.runtime_->kind() == Kind::cuda) {
      device.check(api.get_context, &context_before_);
      if (context_before_ == device.context_) return;
      device.check(api.set_context, device.context_);
    } else {
      device.check(api.get_device, &device_before_);
      if (device_before_ == device.device_) return;
      device.check(api.set_device, device.device_);
    }
    changed_ = true;
  }
  ~Current() {
    if (!changed_) return;
    const DriverApi& api = device_.api();
    if (device_.runtime_->kind() == Kind::cuda) {
      static_cast<void>(api.set_context.function(context_before_));
    } else {
      static_cast<void>(api.set_device.function(device_before_));
    }
  }

 private:
  DriverDevice& device_;
  Context context_before_ = nullptr;
  int device_before_ = 0;
  bool changed_ = false;
};

inline void DriverDevice::finish_all() {
  if (!api().finish_device) return;
  const Current current(*this);
  check(api().finish_device);
}

inline void DriverDevice::while_current(const std::function<void()>& work) {
  const Current current(*this);
  work();
}

template <class... P, class... A>
void DriverDevice::try_call(const Call<int(P...)>& call, A... arguments) noexcept {
  if (lost_) return;
  try {
    const Current current(*this);
    check(call, arguments...);
  } catch (...) {  // NOLINT(bugprone-empty-catch): a destructor cannot report it
  }
}

}  // namespace paraes::gpu::driver
