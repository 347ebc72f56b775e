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

// Whether an ELF image is complete. Drivers take an image without its size, and would read beyond
// the end of a truncated one.
bool is_whole_elf(const Binary& image) {
  constexpr std::size_t header_bytes = 64;
  const auto number = [&](std::size_t offset, std::size_t bytes) {
    std::uint64_t value = 0;
    for (std::size_t i = bytes; i-- > 0;) value = value << 8 | image[offset + i];
    return value;
  };
  const auto fits = [&](std::uint64_t offset, std::uint64_t bytes) {
    return offset <= image.size() && bytes <= image.size() - offset;
  };
  if (image.size() < header_bytes) return false;
  const std::uint64_t segments = number(32, 8);
  const std::uint64_t sections = number(40, 8);
  const std::uint64_t section_bytes = number(58, 2);
  const std::uint64_t section_count = number(60, 2);
  if (!fits(segments, number(54, 2) * number(56, 2)) ||
      !fits(sections, section_bytes * section_count)) {
    return false;
  }
  if (section_count != 0 && section_bytes < header_bytes) return false;
  for (std::uint64_t i = 0; i < section_count; ++i) {
    const std::size_t section = sections + i * section_bytes;
    constexpr std::uint64_t no_bits = 8;
    if (number(section + 4, 4) == no_bits) continue;
    if (!fits(number(section + 24, 8), number(section + 32, 8))) return false;
  }
  return true;
}

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
  // Also for a lost device: releasing the context frees everything on it.
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

std::unique_ptr<Queue> DriverDevice::make_queue() { return driver::make_queue(*this); }

std::unique_ptr<Queue> DriverDevice::borrow_queue(void* handle) {
  if (reinterpret_cast<std::uintptr_t>(handle) == stream_per_thread) {
    throw InvalidArgument(
        "the default stream of each thread is a different one: use a stream of your own, or the "
        "default stream of all threads");
  }
  if (api().stream_context) {
    const Current current(*this);
    Context context = nullptr;
    check(api().stream_context, handle, &context);
    if (context != context_) {
      throw InvalidArgument("the stream is not one of the primary context of " + info_.id +
                            ": streams of the CUDA runtime are, and of cuDevicePrimaryCtxRetain");
    }
  }
  return driver::borrow_queue(*this, handle);
}

Binary DriverDevice::compile(const std::string& source, std::span<const std::string> options) {
  return runtime_->compiler().compile_checked(
      source, options, info_.target,
      [this](const Binary& binary) { static_cast<void>(load(binary)); });
}

std::unique_ptr<Program> DriverDevice::load(const Binary& binary) {
  constexpr std::array<std::uint8_t, 4> elf = {0x7f, 'E', 'L', 'F'};
  if (binary.size() >= elf.size() && std::equal(elf.begin(), elf.end(), binary.begin()) &&
      !is_whole_elf(binary)) {
    throw DeviceError("the program is cut off after " + std::to_string(binary.size()) + " bytes");
  }
  // PTX must end with a zero byte, and drivers read the first bytes of any image.
  constexpr std::size_t padding = 64;
  Binary image = binary;
  image.resize(binary.size() + padding);
  const Current current(*this);
  Module module = nullptr;
  const int code = api().load_module.function(&module, image.data());
  if (code != success) {
    const bool refused = code == invalid_image || code == no_binary_for_gpu ||
                         code == invalid_ptx || code == unsupported_ptx_version;
    fail(api().load_module, code,
         refused ? "; the program is not for " + info_.target +
                       ", is damaged, or was compiled for a "
                       "newer driver than " +
                       info_.driver
                 : "");
  }
  return make_program(*this, module);
}

namespace {

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

  void describe_compiler(DeviceInfo& info) override { runtime_->describe_compiler(info); }

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
}  // namespace driver

std::unique_ptr<Platform> open_cuda() {
  return std::make_unique<driver::DriverPlatform>(driver::Kind::cuda);
}

std::unique_ptr<Platform> open_hip() {
  return std::make_unique<driver::DriverPlatform>(driver::Kind::hip);
}

}  // namespace paraes::gpu
