// Programs and queues of CUDA and HIP.

#include <algorithm>
#include <array>
#include <map>
#include <mutex>
#include <vector>

#include "paraes/error.hpp"
#include "src/gpu/runtime/driver_device.hpp"

namespace paraes::gpu::driver {
namespace {

// A loaded module. Its functions keep it loaded.
class DriverProgram : public Program, public std::enable_shared_from_this<DriverProgram> {
 public:
  DriverProgram(DriverDevice& device, Module module) : device_(device), module_(module) {}
  ~DriverProgram() override { device_.try_call(device_.api().unload_module, module_); }

  [[nodiscard]] std::unique_ptr<Function> function(const char* name) override;

  // A kernel may use more dynamic shared memory than a default only if that is allowed. All
  // Functions of a kernel share this limit, so it only grows. The device must be current.
  void allow_shared_bytes(Kernel kernel, std::uint32_t bytes) {
    if (!device_.api().set_kernel_attribute) return;
    const std::lock_guard lock(mutex_);
    std::uint32_t& allowed = allowed_[kernel];
    if (bytes <= allowed) return;
    device_.check(device_.api().set_kernel_attribute, kernel, kernel_dynamic_shared_bytes,
                  static_cast<int>(bytes));
    allowed = bytes;
  }

 private:
  DriverDevice& device_;
  Module module_;
  std::mutex mutex_;
  std::map<Kernel, std::uint32_t> allowed_;
};

struct DriverFunction : Function {
  DriverFunction(std::shared_ptr<DriverProgram> its_program, Kernel its_kernel)
      : program(std::move(its_program)), kernel(its_kernel) {}

  const std::shared_ptr<DriverProgram> program;
  const Kernel kernel;
};

std::unique_ptr<Function> DriverProgram::function(const char* name) {
  const Current current(device_);
  Kernel kernel = nullptr;
  const int code = device_.api().find_kernel.function(&kernel, module_, name);
  if (code != success) device_.fail(device_.api().find_kernel, code, std::string(": ") + name);
  return std::make_unique<DriverFunction>(shared_from_this(), kernel);
}

class DriverMark : public Mark {
 public:
  DriverMark(DriverDevice& device, Stream stream) : device_(device) {
    const Current current(device);
    device.check(device.api().create_event, &event_, event_default);
    const int code = device.api().record_event.function(event_, stream);
    if (code != success) {
      static_cast<void>(device.api().destroy_event.function(event_));
      device.fail(device.api().record_event, code, "");
    }
  }
  ~DriverMark() override { device_.try_call(device_.api().destroy_event, event_); }

  [[nodiscard]] Event event() const noexcept { return event_; }

  [[nodiscard]] bool passed() const override {
    const Current current(device_);
    const int code = device_.api().query_event.function(event_);
    if (code == not_ready) return false;
    if (code != success) device_.fail(device_.api().query_event, code, "");
    return true;
  }

 private:
  DriverDevice& device_;
  Event event_ = nullptr;
};

class DriverQueue : public Queue {
 public:
  explicit DriverQueue(DriverDevice& device) : device_(device) {
    const Current current(device);
    // Otherwise it would wait for work that other libraries enqueue on the default stream.
    device.check(device.api().create_stream, &stream_, stream_non_blocking);
    const int code = device.api().create_event.function(&end_, event_blocking | event_without_time);
    if (code != success) {
      static_cast<void>(device.api().destroy_stream.function(stream_));
      device.fail(device.api().create_event, code, "");
    }
  }
  // For a stream of the caller's.
  DriverQueue(DriverDevice& device, Stream stream)
      : device_(device), stream_(stream), owns_stream_(false) {}
  ~DriverQueue() override {
    if (!owns_stream_) return;
    device_.try_call(device_.api().finish_stream, stream_);
    device_.try_call(device_.api().destroy_event, end_);
    device_.try_call(device_.api().destroy_stream, stream_);
  }

  void upload(const Memory& to, std::size_t offset, const void* from, std::size_t bytes) override {
    if (bytes != 0) enqueue(device_.api().upload, address(to, offset, bytes), from, bytes);
  }
  void download(void* to, const Memory& from, std::size_t offset, std::size_t bytes) override {
    if (bytes != 0) enqueue(device_.api().download, to, address(from, offset, bytes), bytes);
  }
  void clear(const Memory& memory, std::size_t offset, std::size_t bytes) override {
    if (bytes == 0) return;
    enqueue(device_.api().fill, address(memory, offset, bytes), static_cast<unsigned char>(0),
            bytes);
  }
  void copy(const Memory& to, std::size_t to_offset, const Memory& from, std::size_t from_offset,
            std::size_t bytes) override {
    if (bytes == 0) return;
    enqueue(device_.api().copy, address(to, to_offset, bytes), address(from, from_offset, bytes),
            bytes);
  }

  void launch(Function& function, const Grid& grid, std::span<const Argument> arguments) override {
    const auto& own = static_cast<const DriverFunction&>(function);
    std::vector<Pointer> pointers;
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
    own.program->allow_shared_bytes(own.kernel, grid.shared_bytes);
    device_.check(device_.api().launch, own.kernel, grid.groups, 1U, 1U, grid.threads, 1U, 1U,
                  grid.shared_bytes, stream_, parameters.data(), nullptr);
  }

  [[nodiscard]] std::unique_ptr<Mark> mark() override {
    return std::make_unique<DriverMark>(device_, stream_);
  }

  void wait_for(const Mark& mark) override {
    const Current current(device_);
    device_.check(device_.api().stream_wait, stream_, static_cast<const DriverMark&>(mark).event(),
                  0U);
  }

  [[nodiscard]] bool is_captured() override {
    if (!device_.api().stream_captured) return false;
    const Current current(device_);
    int status = not_captured;
    device_.check(device_.api().stream_captured, stream_, &status);
    return status != not_captured;
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

  [[nodiscard]] void* handle() const noexcept override { return stream_; }

  void finish() override {
    const Current current(device_);
    if (end_ == nullptr) {
      device_.check(device_.api().finish_stream, stream_);
      return;
    }
    // A dozen threads that spin, as drivers do by default, would take the cores from those that
    // read and write files.
    try {
      device_.check(device_.api().record_event, end_, stream_);
      device_.check(device_.api().wait_for_event, end_);
    } catch (...) {
      // Copies may still read and write the caller's memory. Also for a lost device, unlike
      // try_call(): there it returns at once.
      static_cast<void>(device_.api().finish_stream.function(stream_));
      throw;
    }
  }

 private:
  // A call whose last argument is the stream.
  template <class... P, class... A>
  void enqueue(const Call<int(P...)>& call, A... arguments) {
    const Current current(device_);
    device_.check(call, arguments..., stream_);
  }

  static Pointer address(const Memory& memory, std::size_t offset, std::size_t bytes) {
    if (offset > memory.bytes() || bytes > memory.bytes() - offset) {
      throw InvalidArgument(std::to_string(bytes) + " bytes at " + std::to_string(offset) +
                            " are beyond " + std::to_string(memory.bytes()) +
                            " bytes of device memory");
    }
    return memory.handle() + offset;
  }

  DriverDevice& device_;
  Stream stream_ = nullptr;
  Event end_ = nullptr;  // of all work, for finish(); not for streams of the caller's
  bool owns_stream_ = true;
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

std::unique_ptr<Queue> DriverDevice::make_queue() { return std::make_unique<DriverQueue>(*this); }

std::unique_ptr<Queue> DriverDevice::borrow_queue(void* handle) {
  if (api().stream_context) {
    const Current current(*this);
    Context context = nullptr;
    check(api().stream_context, handle, &context);
    if (context != context_) {
      throw InvalidArgument("the stream is not one of the primary context of " + info_.id +
                            ": streams of the CUDA runtime are, and of cuDevicePrimaryCtxRetain");
    }
  }
  return std::make_unique<DriverQueue>(*this, handle);
}

std::shared_ptr<Program> DriverDevice::load(const Binary& binary) {
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
  return std::make_shared<DriverProgram>(*this, module);
}

}  // namespace paraes::gpu::driver
