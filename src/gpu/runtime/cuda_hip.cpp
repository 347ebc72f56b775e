// CUDA through its driver API (libcuda.so.1), and HIP (libamdhip64.so): one implementation over a
// table of entry points.

#include <algorithm>
#include <array>
#include <atomic>
#include <charconv>
#include <cstring>
#include <map>
#include <mutex>
#include <string>
#include <system_error>
#include <utility>

#include "paraes/error.hpp"
#include "paraes/secret.hpp"
#include "src/gpu/runtime/cuda_api.hpp"
#include "src/gpu/runtime/hip_api.hpp"
#include "src/gpu/runtime/runtime.hpp"

namespace paraes::gpu {
namespace {

using driver::Call;
using driver::DriverApi;

enum class Kind : std::uint8_t { cuda, hip };

// Whether this process can no longer use the device after this code. Every later call then returns
// the same code.
bool loses_device(int code) {
  constexpr std::array codes = {
      driver::ecc_uncorrectable,     driver::nvlink_uncorrectable, driver::illegal_address,
      driver::launch_timeout,        driver::context_is_destroyed, driver::assert_failed,
      driver::hardware_stack_error,  driver::illegal_instruction,  driver::misaligned_address,
      driver::invalid_address_space, driver::invalid_pc,           driver::launch_failed,
      driver::unknown_error};
  return std::find(codes.begin(), codes.end(), code) != codes.end();
}

// The loaded and initialised driver library.
class Runtime {
 public:
  explicit Runtime(Kind kind)
      : kind_(kind), library_(kind == Kind::cuda ? open_cuda_library() : open_hip_library()) {
    using enum driver::Need;
#define PARAES_LOAD(need, member, symbol) load(library_, need, #symbol, api_.member);
    if (kind == Kind::cuda) {
      PARAES_CUDA_CALLS(PARAES_LOAD)
    } else {
      PARAES_HIP_CALLS(PARAES_LOAD)
    }
#undef PARAES_LOAD
    initialise();
  }

  [[nodiscard]] Kind kind() const noexcept { return kind_; }
  [[nodiscard]] const DriverApi& api() const noexcept { return api_; }
  [[nodiscard]] int count() const noexcept { return count_; }
  [[nodiscard]] const char* name() const noexcept { return kind_ == Kind::cuda ? "cuda" : "hip"; }
  [[nodiscard]] const std::string& version() const noexcept { return version_; }
  [[nodiscard]] const driver::Attributes& attributes() const noexcept {
    return kind_ == Kind::cuda ? driver::cuda_attributes : driver::hip_attributes;
  }

  template <class... P, class... A>
  void check(const Call<int(P...)>& call, A... arguments) const {
    if (const int code = call.function(arguments...); code != driver::success) fail(call, code, "");
  }

  // Throws the error of a failed call. `about` is appended to the message.
  template <class Signature>
  [[noreturn]] void fail(const Call<Signature>& call, int code, const std::string& about) const {
    const std::string message = failure(call.name, code) + about;
    if (code == driver::out_of_memory) throw OutOfMemory(message);
    throw DeviceError(message);
  }

  // The compiler, opened at the first call. Throws Unavailable.
  [[nodiscard]] Compiler& compiler() const {
    const std::lock_guard lock(mutex_);
    if (!compiler_) {
      compiler_ = kind_ == Kind::cuda ? driver::open_nvrtc_for(version_number_) : open_hiprtc();
    }
    return *compiler_;
  }

  // Sets the name of the compiler, or the reason why there is none.
  void describe_compiler(DeviceInfo& info) const {
    try {
      info.compiler = compiler().name();
    } catch (const Unavailable& error) {
      info.compiler_reason = error.what();
    }
  }

 private:
  static DynamicLibrary open_cuda_library() {
    return DynamicLibrary(
        std::array{"libcuda.so.1"},
        "CUDA needs the driver of an NVIDIA GPU: install it from NVIDIA or from your distribution "
        "(Debian: nvidia-driver, Ubuntu: nvidia-driver-XXX-server); start a container with access "
        "to the GPUs (docker run --gpus all)");
  }

  static DynamicLibrary open_hip_library() {
    return DynamicLibrary(
        std::array{"libamdhip64.so.7", "libamdhip64.so.6", "libamdhip64.so.5", "libamdhip64.so",
                   "/opt/rocm/lib/libamdhip64.so"},
        "HIP needs AMD's ROCm 5 or later: install its package hip-runtime-amd, or "
        "libamdhip64-5 (Debian, Ubuntu)");
  }

  [[nodiscard]] std::string failure(const char* call, int code) const {
    const char* name = nullptr;
    const char* text = nullptr;
    if (api_.error_name && api_.error_name.function(code, &name) != driver::success) name = nullptr;
    if (api_.error_text && api_.error_text.function(code, &text) != driver::success) text = nullptr;
    if (api_.hip_error_name) name = api_.hip_error_name.function(code);
    if (api_.hip_error_text) text = api_.hip_error_text.function(code);
    // Clears the thread's last error, which other users of HIP in this process may check.
    if (api_.hip_last_error) static_cast<void>(api_.hip_last_error.function());
    std::string message = std::string(call) + " failed: " + (name != nullptr ? name : "an error") +
                          " (" + std::to_string(code) + ")";
    if (text != nullptr && (name == nullptr || std::strcmp(name, text) != 0)) {
      message += std::string(", ") + text;
    }
    return message;
  }

  void initialise() {
    const char* const vendor = kind_ == Kind::cuda ? "NVIDIA" : "AMD";
    const int code = api_.init.function(0);
    const bool none = code == driver::no_device || code == driver::invalid_device;
    if (none || code == driver::stub_library) {
      throw Unavailable(
          failure(api_.init.name, code) +
          (none ? std::string("; this machine shows no ") + vendor + " GPU to this process"
                : "; the library is a stub: install the driver of the GPU"));
    }
    if (code != driver::success) fail(api_.init, code, "");
    set_version();
    const int count_code = api_.device_count.function(&count_);
    if (count_code != driver::success && count_code != driver::no_device) {
      fail(api_.device_count, count_code, "");
    }
    if (count_code == driver::no_device || count_ <= 0) {
      throw Unavailable(library_.name() + " sees no " + vendor +
                        " GPU: none is installed, its kernel module is not loaded, or this process "
                        "may not use it");
    }
  }

  void set_version() {
    if (!api_.version) return;
    check(api_.version, &version_number_);
    if (kind_ == Kind::cuda) {
      version_ = "CUDA " + std::to_string(version_number_ / 1000) + "." +
                 std::to_string(version_number_ % 1000 / 10);
      return;
    }
    version_ = "HIP " + std::to_string(version_number_ / 10000000) + "." +
               std::to_string(version_number_ / 100000 % 100) + "." +
               std::to_string(version_number_ % 100000);
    if (version_number_ < driver::least_hip_version) {
      throw Unavailable(library_.name() + " is " + version_ + ": install ROCm 5 or later");
    }
  }

  Kind kind_;
  DynamicLibrary library_;
  DriverApi api_;
  int count_ = 0;
  int version_number_ = 0;
  std::string version_;
  mutable std::mutex mutex_;
  mutable std::unique_ptr<Compiler> compiler_;
};

// ---- Properties of devices

int attribute(const Runtime& runtime, int device, int number) {
  int value = 0;
  runtime.check(runtime.api().device_attribute, &value, number, device);
  return value;
}

// 0 if the driver does not know the attribute.
int attribute_or_none(const Runtime& runtime, int device, int number) {
  try {
    return attribute(runtime, device, number);
  } catch (const DeviceError&) {
    return 0;
  }
}

// The target with its features, as in "gfx90a:sramecc+:xnack-". The layout of the properties
// differs between versions of ROCm, so search for the only member after the device name that begins
// with "gfx".
std::string hip_target(const Runtime& runtime, int device) {
  const DriverApi& api = runtime.api();
  const auto& call = api.hip_properties_6 ? api.hip_properties_6 : api.hip_properties;
  if (!call) throw Unavailable("this HIP has no " + std::string(call.name) + ": it is too old");
  std::string properties(driver::most_property_bytes, '\0');
  runtime.check(call, static_cast<void*>(properties.data()), device);
  const std::size_t begin = properties.find("gfx", driver::property_name_bytes);
  if (begin == std::string::npos) throw DeviceError(call.name + std::string(" names no target"));
  return properties.substr(begin, properties.find('\0', begin) - begin);
}

std::string compile_target(const Runtime& runtime, int device) {
  if (runtime.kind() == Kind::hip) return hip_target(runtime, device);
  return "sm_" + std::to_string(attribute(runtime, device, driver::attribute_major)) +
         std::to_string(attribute(runtime, device, driver::attribute_minor));
}

// The PCI address of the device; empty if the driver does not report it. CUDA writes capital
// letters, HIP small ones.
std::string bus_of(const Runtime& runtime, int device) {
  std::array<char, 32> text{};
  const auto& call = runtime.api().device_bus;
  if (!call || call.function(text.data(), static_cast<int>(text.size()), device) != 0) return "";
  std::array<unsigned, 4> parts{};
  const char* at = text.data();
  const char* const end = text.data() + std::strlen(text.data());
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const auto [next, error] = std::from_chars(at, end, parts[i], 16);
    const char after = i < 2 ? ':' : i == 2 ? '.' : '\0';
    if (error != std::errc() || *next != after) return "";
    at = next + 1;
  }
  return bus_address(parts[0], parts[1], parts[2], parts[3]);
}

int device_handle(const Runtime& runtime, unsigned index) {
  int device = 0;
  runtime.check(runtime.api().device, &device, static_cast<int>(index));
  return device;
}

std::string device_id(const Runtime& runtime, unsigned index) {
  return std::string(runtime.name()) + ":" + std::to_string(index);
}

DeviceInfo describe(const Runtime& runtime, unsigned index) {
  const int device = device_handle(runtime, index);
  const driver::Attributes& attributes = runtime.attributes();
  DeviceInfo info;
  info.id = device_id(runtime, index);
  info.driver = runtime.version();
  std::array<char, 256> name{};
  runtime.check(runtime.api().device_name, name.data(), static_cast<int>(name.size() - 1), device);
  info.name = name.data();
  std::size_t bytes = 0;
  runtime.check(runtime.api().device_memory, &bytes, device);
  info.memory_bytes = bytes;
  const std::string target = compile_target(runtime, device);
  info.target = target.substr(0, target.find(':'));
  info.processors = static_cast<std::uint32_t>(attribute(runtime, device, attributes.processors));
  info.shared_bytes = static_cast<std::uint64_t>(
      std::max(attribute(runtime, device, attributes.shared_bytes),
               attribute_or_none(runtime, device, attributes.shared_bytes_opt_in)));
  info.max_threads = static_cast<std::uint32_t>(attribute(runtime, device, attributes.max_threads));
  info.bus = bus_of(runtime, device);
  info.available = true;
  return info;
}

// ---- The device

class DriverDevice : public Device {
 public:
  DriverDevice(std::shared_ptr<const Runtime> runtime, unsigned index);
  ~DriverDevice() override;
  DriverDevice(const DriverDevice&) = delete;
  DriverDevice& operator=(const DriverDevice&) = delete;

  [[nodiscard]] const DeviceInfo& info() const noexcept override { return info_; }
  [[nodiscard]] std::uint64_t free_bytes() override;
  [[nodiscard]] Memory allocate(std::size_t bytes) override;
  [[nodiscard]] bool reads_pinned_memory() const noexcept override {
    return maps_host_memory_ && api().host_pointer;
  }
  [[nodiscard]] std::unique_ptr<PinnedMemory> allocate_pinned(std::size_t bytes,
                                                              bool mapped) override;
  [[nodiscard]] std::unique_ptr<Queue> make_queue() override;
  [[nodiscard]] std::unique_ptr<Queue> borrow_queue(void* handle) override;
  [[nodiscard]] Binary compile(const std::string& source,
                               std::span<const std::string> options) override;
  [[nodiscard]] std::unique_ptr<Program> load(const Binary& binary) override;

  [[nodiscard]] const DriverApi& api() const noexcept { return runtime_->api(); }

  template <class... P, class... A>
  void check(const Call<int(P...)>& call, A... arguments) {
    if (const int code = call.function(arguments...); code != driver::success) fail(call, code, "");
  }

  template <class Signature>
  [[noreturn]] void fail(const Call<Signature>& call, int code, const std::string& about) {
    if (loses_device(code)) lost_ = true;
    runtime_->fail(call, code, about);
  }

  // For destructors: makes the call and ignores errors. Does nothing on a lost device: its work
  // never finishes, and memory that it may still write to must not be used for anything else.
  template <class... P, class... A>
  void try_call(const Call<int(P...)>& call, A... arguments) noexcept;

 private:
  friend class Current;
  void release(std::uint64_t handle) noexcept override { try_call(api().free, handle); }

  std::shared_ptr<const Runtime> runtime_;
  DeviceInfo info_;
  int device_ = 0;
  driver::Context context_ = nullptr;
  bool maps_host_memory_ = false;
  std::atomic<bool> lost_ = false;
};

// Makes a device current on the calling thread, and then restores the previous one, on which other
// libraries in the process may rely.
class Current {
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
  Current(const Current&) = delete;
  Current& operator=(const Current&) = delete;

 private:
  DriverDevice& device_;
  driver::Context context_before_ = nullptr;
  int device_before_ = 0;
  bool changed_ = false;
};

template <class... P, class... A>
void DriverDevice::try_call(const Call<int(P...)>& call, A... arguments) noexcept {
  if (lost_) return;
  try {
    const Current current(*this);
    check(call, arguments...);
  } catch (...) {  // NOLINT(bugprone-empty-catch): a destructor cannot report it
  }
}

// ---- Memory, programs, marks

class DriverPinned : public PinnedMemory {
 public:
  DriverPinned(DriverDevice& device, std::size_t bytes, bool mapped)
      : device_(device), bytes_(bytes), mapped_(mapped) {
    const Current current(device);
    const bool maps = mapped && device.reads_pinned_memory();
    void* memory = nullptr;
    device.check(device.api().allocate_host, &memory, std::max<std::size_t>(bytes, 1),
                 driver::host_portable | (maps ? driver::host_mapped : 0U));
    memory_ = static_cast<std::uint8_t*>(memory);
    if (!maps) return;
    driver::Pointer pointer = 0;
    const int code = device.api().host_pointer.function(&pointer, memory, 0);
    if (code != driver::success) {
      static_cast<void>(device.api().free_host.function(memory));
      device.fail(device.api().host_pointer, code, "");
    }
    view_ = Memory::view(pointer, bytes);
  }
  ~DriverPinned() override {
    secure_zero(memory_, bytes_);
    device_.try_call(device_.api().free_host, static_cast<void*>(memory_));
  }
  DriverPinned(const DriverPinned&) = delete;
  DriverPinned& operator=(const DriverPinned&) = delete;

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

class LoadedModule {
 public:
  LoadedModule(DriverDevice& device, driver::Module module) : device_(device), module_(module) {}
  ~LoadedModule() { device_.try_call(device_.api().unload_module, module_); }
  LoadedModule(const LoadedModule&) = delete;
  LoadedModule& operator=(const LoadedModule&) = delete;

  [[nodiscard]] DriverDevice& device() noexcept { return device_; }

  [[nodiscard]] driver::Kernel find(const char* name) {
    const Current current(device_);
    driver::Kernel kernel = nullptr;
    const int code = device_.api().find_kernel.function(&kernel, module_, name);
    if (code != driver::success) {
      device_.fail(device_.api().find_kernel, code, std::string(": ") + name);
    }
    return kernel;
  }

  // A kernel may use more dynamic shared memory than a default only if that is allowed. All
  // Functions of a kernel share this limit, so it only grows. The device must be current.
  void allow_shared_bytes(driver::Kernel kernel, std::uint32_t bytes) {
    if (!device_.api().set_kernel_attribute) return;
    const std::lock_guard lock(mutex_);
    std::uint32_t& allowed = allowed_[kernel];
    if (bytes <= allowed) return;
    device_.check(device_.api().set_kernel_attribute, kernel, driver::kernel_dynamic_shared_bytes,
                  static_cast<int>(bytes));
    allowed = bytes;
  }

 private:
  DriverDevice& device_;
  driver::Module module_;
  std::mutex mutex_;
  std::map<driver::Kernel, std::uint32_t> allowed_;
};

class DriverFunction : public Function {
 public:
  DriverFunction(std::shared_ptr<LoadedModule> module, const char* name)
      : module_(std::move(module)), kernel_(module_->find(name)) {}

  [[nodiscard]] driver::Kernel kernel() const noexcept { return kernel_; }
  void allow_shared_bytes(std::uint32_t bytes) { module_->allow_shared_bytes(kernel_, bytes); }

 private:
  std::shared_ptr<LoadedModule> module_;
  driver::Kernel kernel_;
};

class DriverProgram : public Program {
 public:
  explicit DriverProgram(std::shared_ptr<LoadedModule> module) : module_(std::move(module)) {}

  [[nodiscard]] std::unique_ptr<Function> function(const char* name) override {
    return std::make_unique<DriverFunction>(module_, name);
  }

 private:
  std::shared_ptr<LoadedModule> module_;
};

class DriverMark : public Mark {
 public:
  DriverMark(DriverDevice& device, driver::Stream stream) : device_(device) {
    const Current current(device);
    device.check(device.api().create_event, &event_, driver::event_default);
    const int code = device.api().record_event.function(event_, stream);
    if (code != driver::success) {
      static_cast<void>(device.api().destroy_event.function(event_));
      device.fail(device.api().record_event, code, "");
    }
  }
  ~DriverMark() override { device_.try_call(device_.api().destroy_event, event_); }
  DriverMark(const DriverMark&) = delete;
  DriverMark& operator=(const DriverMark&) = delete;

  [[nodiscard]] driver::Event event() const noexcept { return event_; }

  [[nodiscard]] bool passed() const override {
    const Current current(device_);
    const int code = device_.api().query_event.function(event_);
    if (code == driver::not_ready) return false;
    if (code != driver::success) device_.fail(device_.api().query_event, code, "");
    return true;
  }

 private:
  DriverDevice& device_;
  driver::Event event_ = nullptr;
};

// ---- Queues

class DriverQueue : public Queue {
 public:
  explicit DriverQueue(DriverDevice& device) : device_(device) {
    const Current current(device);
    // Otherwise it would wait for work that other libraries enqueue on the default stream.
    device.check(device.api().create_stream, &stream_, driver::stream_non_blocking);
    const int code = device.api().create_event.function(
        &end_, driver::event_blocking | driver::event_without_time);
    if (code != driver::success) {
      static_cast<void>(device.api().destroy_stream.function(stream_));
      device.fail(device.api().create_event, code, "");
    }
  }
  // For a stream of the caller's.
  DriverQueue(DriverDevice& device, driver::Stream stream)
      : device_(device), stream_(stream), owns_stream_(false) {}
  ~DriverQueue() override {
    if (!owns_stream_) return;
    device_.try_call(device_.api().finish_stream, stream_);
    device_.try_call(device_.api().destroy_event, end_);
    device_.try_call(device_.api().destroy_stream, stream_);
  }
  DriverQueue(const DriverQueue&) = delete;
  DriverQueue& operator=(const DriverQueue&) = delete;

  void upload(const Memory& to, std::size_t offset, const void* from, std::size_t bytes) override {
    if (bytes == 0) return;
    const driver::Pointer pointer = address(to, offset, bytes);
    const Current current(device_);
    device_.check(device_.api().upload, pointer, from, bytes, stream_);
  }

  void download(void* to, const Memory& from, std::size_t offset, std::size_t bytes) override {
    if (bytes == 0) return;
    const driver::Pointer pointer = address(from, offset, bytes);
    const Current current(device_);
    device_.check(device_.api().download, to, pointer, bytes, stream_);
  }

  void clear(const Memory& memory, std::size_t offset, std::size_t bytes) override {
    if (bytes == 0) return;
    const driver::Pointer pointer = address(memory, offset, bytes);
    const Current current(device_);
    device_.check(device_.api().fill, pointer, static_cast<unsigned char>(0), bytes, stream_);
  }

  void copy(const Memory& to, std::size_t to_offset, const Memory& from, std::size_t from_offset,
            std::size_t bytes) override {
    if (bytes == 0) return;
    const driver::Pointer target = address(to, to_offset, bytes);
    const driver::Pointer source = address(from, from_offset, bytes);
    const Current current(device_);
    device_.check(device_.api().copy, target, source, bytes, stream_);
  }

  void launch(Function& function, const Grid& grid, std::span<const Argument> arguments) override {
    auto& kernel = static_cast<DriverFunction&>(function);
    std::vector<driver::Pointer> pointers;
    std::vector<void*> parameters;
    pointers.reserve(arguments.size());  // keeps the addresses of its elements valid
    parameters.reserve(arguments.size());
    for (const Argument& argument : arguments) {
      if (const auto* const* memory = std::get_if<const Memory*>(&argument.value)) {
        pointers.push_back((*memory)->handle());
        parameters.push_back(&pointers.back());
      } else {
        const auto bytes = std::get<std::span<const std::uint8_t>>(argument.value);
        parameters.push_back(const_cast<std::uint8_t*>(bytes.data()));  // only read
      }
    }
    const Current current(device_);
    kernel.allow_shared_bytes(grid.shared_bytes);
    device_.check(device_.api().launch, kernel.kernel(), grid.groups, 1U, 1U, grid.threads, 1U, 1U,
                  grid.shared_bytes, stream_, parameters.data(), nullptr);
  }

  [[nodiscard]] std::unique_ptr<Mark> mark() override {
    return std::make_unique<DriverMark>(device_, stream_);
  }

  [[nodiscard]] bool is_captured() override {
    if (!device_.api().stream_captured) return false;
    const Current current(device_);
    int status = driver::not_captured;
    device_.check(device_.api().stream_captured, stream_, &status);
    return status != driver::not_captured;
  }

  [[nodiscard]] std::uint64_t nanoseconds(const Mark& from, const Mark& to) override {
    const Current current(device_);
    float milliseconds = 0;
    device_.check(device_.api().milliseconds, &milliseconds,
                  static_cast<const DriverMark&>(from).event(),
                  static_cast<const DriverMark&>(to).event());
    return milliseconds > 0 ? static_cast<std::uint64_t>(static_cast<double>(milliseconds) * 1e6)
                            : 0;
  }

  void finish() override {
    const Current current(device_);
    if (end_ == nullptr) {
      device_.check(device_.api().finish_stream, stream_);
      return;
    }
    // A dozen threads that spin, as drivers do by default, would take the cores from those that
    // read and write files.
    device_.check(device_.api().record_event, end_, stream_);
    device_.check(device_.api().wait_for_event, end_);
  }

 private:
  static driver::Pointer address(const Memory& memory, std::size_t offset, std::size_t bytes) {
    if (offset > memory.bytes() || bytes > memory.bytes() - offset) {
      throw InvalidArgument(std::to_string(bytes) + " bytes at " + std::to_string(offset) +
                            " are beyond " + std::to_string(memory.bytes()) +
                            " bytes of device memory");
    }
    return memory.handle() + offset;
  }

  DriverDevice& device_;
  driver::Stream stream_ = nullptr;
  driver::Event end_ = nullptr;  // of all work, for finish(); not for streams of the caller's
  bool owns_stream_ = true;
};

// ---- DriverDevice

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
  driver::Pointer pointer = 0;
  check(api().allocate, &pointer, std::max<std::size_t>(bytes, 1));
  return Memory(*this, pointer, bytes);
}

std::unique_ptr<PinnedMemory> DriverDevice::allocate_pinned(std::size_t bytes, bool mapped) {
  return std::make_unique<DriverPinned>(*this, bytes, mapped);
}

std::unique_ptr<Queue> DriverDevice::make_queue() { return std::make_unique<DriverQueue>(*this); }

std::unique_ptr<Queue> DriverDevice::borrow_queue(void* handle) {
  if (reinterpret_cast<std::uintptr_t>(handle) == driver::stream_per_thread) {
    throw InvalidArgument(
        "the default stream of each thread is a different one: use a stream of your own, or the "
        "default stream of all threads");
  }
  if (api().stream_context) {
    const Current current(*this);
    driver::Context context = nullptr;
    check(api().stream_context, handle, &context);
    if (context != context_) {
      throw InvalidArgument("the stream is not one of the primary context of " + info_.id +
                            ": streams of the CUDA runtime are, and of cuDevicePrimaryCtxRetain");
    }
  }
  return std::make_unique<DriverQueue>(*this, handle);
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
  driver::Module module = nullptr;
  const int code = api().load_module.function(&module, image.data());
  if (code != driver::success) {
    const bool refused = code == driver::invalid_image || code == driver::no_binary_for_gpu ||
                         code == driver::invalid_ptx || code == driver::unsupported_ptx_version;
    fail(api().load_module, code,
         refused ? "; the program is not for " + info_.target +
                       ", is damaged, or was compiled for a "
                       "newer driver than " +
                       info_.driver
                 : "");
  }
  return std::make_unique<DriverProgram>(std::make_shared<LoadedModule>(*this, module));
}

// ---- The platform

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

std::unique_ptr<Platform> open_cuda() { return std::make_unique<DriverPlatform>(Kind::cuda); }

std::unique_ptr<Platform> open_hip() { return std::make_unique<DriverPlatform>(Kind::hip); }

}  // namespace paraes::gpu
