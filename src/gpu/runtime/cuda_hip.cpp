// CUDA through its driver API (libcuda.so.1), and HIP (libamdhip64.so): one implementation over a
// table of entry points.

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "paraes/error.hpp"
#include "paraes/secret.hpp"
#include "src/gpu/runtime/driver_device.hpp"

namespace paraes::gpu {
namespace driver {
namespace {

class DriverPinned : public PinnedMemory {
 public:
  DriverPinned(DriverDevice& device, std::size_t bytes, bool mapped)
      : device_(device), bytes_(bytes), mapped_(mapped) {
    const Current current(device);
    const bool maps = mapped && device.reads_pinned_memory();
    void* memory = nullptr;
    device.check(device.api().allocate_host, &memory, std::max<std::size_t>(bytes, 1),
                 host_portable | (maps ? host_mapped : 0U));
    memory_ = static_cast<std::uint8_t*>(memory);
    if (!maps) return;
    Pointer pointer = 0;
    const int code = device.api().host_pointer.function(&pointer, memory, 0);
    if (code != success) {
      static_cast<void>(device.api().free_host.function(memory));
      device.fail(device.api().host_pointer, code, "");
    }
    view_ = Memory::view(pointer, bytes);
  }
  ~DriverPinned() override {
    secure_zero(memory_, bytes_);
    device_.try_call(device_.api().free_host, static_cast<void*>(memory_));
  }

  [[nodiscard]] std::span<std::uint8_t> host() noexcept override { return {memory_, bytes_}; }

  [[nodiscard]] const Memory& device_view() override {
    if (view_) return view_;
    if (!mapped_) throw InvalidArgument("this pinned memory was not allocated as mapped");
    throw Unavailable(device_.info().id + " cannot reach the memory of the host");
  }

 private:
  DriverDevice& device_;
  std::uint8_t* memory_ = nullptr;
  std::size_t bytes_;
  bool mapped_;
  Memory view_;  // none if the device cannot reach this memory
};

class DriverPlatform : public Platform {
 public:
  explicit DriverPlatform(Kind kind) : runtime_(std::make_shared<const Runtime>(kind)) {}

  [[nodiscard]] std::vector<DeviceInfo> devices() override {
    std::vector<DeviceInfo> infos;
    for (unsigned i = 0; i < count(); ++i) {
      // A broken device must not hide the others.
      try {
        infos.push_back(describe(*runtime_, i));
      } catch (const Error& error) {
        DeviceInfo info;
        info.id = device_id(*runtime_, i);
        info.driver = runtime_->version();
        info.reason = error.what();
        infos.push_back(info);
      }
    }
    return infos;
  }

  void describe_compiler(DeviceInfo& info) override try {
    info.compiler = runtime_->compiler().name();
  } catch (const Unavailable& error) {
    info.compiler_reason = error.what();
  }

  [[nodiscard]] std::unique_ptr<Device> open(unsigned index) override {
    if (index >= count()) {
      throw UnknownDevice(device_id(*runtime_, index),
                          runtime_->version() + " sees " + std::to_string(count()));
    }
    return std::make_unique<DriverDevice>(runtime_, index);
  }

 private:
  [[nodiscard]] unsigned count() const noexcept { return static_cast<unsigned>(runtime_->count()); }

  std::shared_ptr<const Runtime> runtime_;
};

}  // namespace

DriverDevice::DriverDevice(std::shared_ptr<const Runtime> runtime, unsigned index)
    : runtime_(std::move(runtime)),
      info_(describe(*runtime_, index)),
      device_(device_handle(*runtime_, index)) {
  maps_host_memory_ =
      attribute_or_none(*runtime_, device_, runtime_->attributes().maps_host_memory) != 0;
  if (runtime_->kind() == Kind::cuda) {
    runtime_->check(api().retain_context, &context_, device_);
  }
}

DriverDevice::~DriverDevice() {
  // Releasing the context frees everything on the device, even on a lost one.
  if (context_ != nullptr) static_cast<void>(api().release_context.function(device_));
}

std::uint64_t DriverDevice::free_bytes() {
  const Current current(*this);
  std::size_t free = 0;
  std::size_t total = 0;
  check(api().memory_info, &free, &total);
  return free;
}

Memory DriverDevice::allocate(std::size_t bytes) {
  const Current current(*this);
  Pointer pointer = 0;
  check(api().allocate, &pointer, std::max<std::size_t>(bytes, 1));
  return Memory(*this, pointer, bytes);
}

std::unique_ptr<PinnedMemory> DriverDevice::allocate_pinned(std::size_t bytes, bool mapped) {
  return std::make_unique<DriverPinned>(*this, bytes, mapped);
}

bool DriverDevice::is_page_locked(const void* memory, std::size_t bytes) try {
  if (!api().pointer_attributes || bytes == 0) return false;
  const bool is_cuda = runtime_->kind() == Kind::cuda;
  const auto begin = reinterpret_cast<Pointer>(memory);
  // Zeros are the values of unknown memory, whose range then is empty. Some are narrower than 64
  // bits: HIP's range has 32, which at worst looks too short.
  std::array<int, 5> names = {pointer_memory_type, pointer_is_managed,
                              is_cuda ? pointer_context : pointer_device, pointer_range_start,
                              pointer_range_bytes};
  std::array<std::uint64_t, names.size()> values{};
  std::array<void*, names.size()> places{};
  for (std::size_t i = 0; i < values.size(); ++i) places[i] = &values[i];
  const Current current(*this);
  if (api().pointer_attributes.function(static_cast<unsigned>(names.size()), names.data(),
                                        places.data(), begin) != success) {
    runtime_->clear_last_error();
    return false;
  }
  const auto [type, is_managed, owner, start, range] = values;
  const std::uint64_t own =
      is_cuda ? reinterpret_cast<std::uintptr_t>(context_) : static_cast<std::uint64_t>(device_);
  return type == static_cast<std::uint64_t>(runtime_->host_memory_type()) && is_managed == 0 &&
         owner == own && start <= begin && begin - start <= range &&
         bytes <= range - (begin - start);
} catch (const Error&) {
  return false;  // whoever works on the device next reports it
}

Binary DriverDevice::compile(const std::string& source, std::span<const std::string> options) {
  return runtime_->compiler().compile(source, options, info_.target, [this](const Binary& binary) {
    static_cast<void>(load(binary));
  });
}

}  // namespace driver

std::unique_ptr<Platform> open_cuda() {
  return std::make_unique<driver::DriverPlatform>(driver::Kind::cuda);
}

std::unique_ptr<Platform> open_hip() {
  return std::make_unique<driver::DriverPlatform>(driver::Kind::hip);
}

}  // namespace paraes::gpu
