// Programs and queues of CUDA and HIP.

#include <map>
#include <mutex>
#include <vector>

#include "paraes/error.hpp"
#include "src/gpu/runtime/driver_device.hpp"

namespace paraes::gpu::driver {
namespace {

class LoadedModule {
 public:
  LoadedModule(DriverDevice& device, Module module) : device_(device), module_(module) {}
  ~LoadedModule() { device_.try_call(device_.api().unload_module, module_); }

  [[nodiscard]] DriverDevice& device() noexcept { return device_; }

  [[nodiscard]] Kernel find(const char* name) {
    const Current current(device_);
    Kernel kernel = nullptr;
    const int code = device_.api().find_kernel.function(&kernel, module_, name);
    if (code != success) {
      device_.fail(device_.api().find_kernel, code, std::string(": ") + name);
    }
    return kernel;
  }

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

class DriverFunction : public Function {
 public:
  DriverFunction(std::shared_ptr<LoadedModule> module, const char* name)
      : module_(std::move(module)), kernel_(module_->find(name)) {}

  [[nodiscard]] Kernel kernel() const noexcept { return kernel_; }
  void allow_shared_bytes(std::uint32_t bytes) { module_->allow_shared_bytes(kernel_, bytes); }

 private:
  std::shared_ptr<LoadedModule> module_;
  Kernel kernel_;
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
    auto& kernel = static_cast<DriverFunction&>(function);
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

}  // namespace

std::unique_ptr<Program> make_program(DriverDevice& device, Module module) {
  return std::make_unique<DriverProgram>(std::make_shared<LoadedModule>(device, module));
}

std::unique_ptr<Queue> make_queue(DriverDevice& device) {
  return std::make_unique<DriverQueue>(device);
}

std::unique_ptr<Queue> borrow_queue(DriverDevice& device, Stream stream) {
  return std::make_unique<DriverQueue>(device, stream);
}

}  // namespace paraes::gpu::driver
