// OpenCL 1.2 through the loader libOpenCL.so.1.

#include <algorithm>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "paraes/error.hpp"
#include "paraes/secret.hpp"
#include "src/gpu/runtime/opencl_devices.hpp"
#include "src/gpu/runtime/runtime.hpp"

namespace paraes::gpu {
namespace {

using cl::check;
using cl::checked;
using cl::FoundDevice;
using cl::Int;
using cl::Loaded;

cl::Mem mem_of(std::uint64_t handle) {
  return reinterpret_cast<cl::Mem>(handle);  // NOLINT(performance-no-int-to-ptr)
}
cl::Mem mem_of(const Memory& memory) { return mem_of(memory.handle()); }

class ClFunction : public Function {
 public:
  ClFunction(const cl::ClApi& api, cl::DeviceId device, cl::ProgramId program, const char* name)
      : api_(api), name_(name) {
    Int code = cl::success;
    kernel_ = api.clCreateKernel(program, name, &code);
    check("clCreateKernel of " + name_, code);
    if (api.clGetKernelInfo(kernel_, cl::kernel_num_args, sizeof arguments_, &arguments_,
                            nullptr) != cl::success) {
      arguments_ = 0;
    }
    std::size_t threads = 0;
    if (api.clGetKernelWorkGroupInfo(kernel_, device, cl::kernel_work_group_size, sizeof threads,
                                     &threads, nullptr) == cl::success) {
      most_threads_ = threads;
    }
  }
  ~ClFunction() override { api_.clReleaseKernel(kernel_); }

  [[nodiscard]] cl::Kernel kernel() const noexcept { return kernel_; }
  [[nodiscard]] cl::Uint arguments() const noexcept { return arguments_; }

  // A kernel that needs many registers may allow smaller groups than the device.
  void check_threads(std::size_t threads) const {
    if (threads <= most_threads_) return;
    throw DeviceError("the driver runs " + name_ + " with at most " +
                      std::to_string(most_threads_) + " threads in a group, and it needs " +
                      std::to_string(threads) + ": use another kernel");
  }

 private:
  const cl::ClApi& api_;
  std::string name_;
  cl::Kernel kernel_;
  cl::Uint arguments_ = 0;
  std::size_t most_threads_ = SIZE_MAX;
};

class ClProgram : public Program {
 public:
  ClProgram(const cl::ClApi& api, cl::DeviceId device, cl::ProgramId program)
      : api_(api), device_(device), program_(program) {}
  ~ClProgram() override { api_.clReleaseProgram(program_); }

  [[nodiscard]] std::unique_ptr<Function> function(const char* name) override {
    return std::make_unique<ClFunction>(api_, device_, program_, name);
  }

  [[nodiscard]] cl::ProgramId id() const noexcept { return program_; }

 private:
  const cl::ClApi& api_;
  cl::DeviceId device_;
  cl::ProgramId program_;
};

class ClMark : public Mark {
 public:
  ClMark(const cl::ClApi& api, cl::Event event) : api_(api), event_(event) {}
  ~ClMark() override { api_.clReleaseEvent(event_); }

  [[nodiscard]] bool passed() const override {
    const auto status =
        cl::value_of<Int>(api_.clGetEventInfo, event_, cl::event_command_execution_status);
    check("a command of the queue", std::min(status, cl::complete));
    return status == cl::complete;
  }

  [[nodiscard]] cl::Event event() const noexcept { return event_; }

  // None on drivers that do not measure markers.
  [[nodiscard]] std::optional<cl::Ulong> when() const {
    check(api_.clWaitForEvents, 1, &event_);
    cl::Ulong time = 0;
    const Int code = api_.clGetEventProfilingInfo(event_, cl::profiling_command_end, sizeof time,
                                                  &time, nullptr);
    if (code == cl::profiling_info_not_available) return std::nullopt;
    check("clGetEventProfilingInfo", code);
    return time;
  }

 private:
  const cl::ClApi& api_;
  cl::Event event_;
};

// PoCL, which runs OpenCL on the CPU, counts the users of a kernel's machine code. There is one
// count for each width of a grid, but a launch that ends decrements the first count that PoCL
// finds. Up to release 3.1 at least, a kernel that runs on two queues with different grids
// therefore sometimes aborts the process. On PoCL each launch must end before the next one begins.
std::mutex& one_launch_at_a_time() {
  static auto* const mutex = new std::mutex;  // never destroyed: queues outlive static objects
  return *mutex;
}

class ClQueue : public Queue {
 public:
  ClQueue(const cl::ClApi& api, cl::Context context, cl::DeviceId device, bool alone)
      : api_(api), alone_(alone) {
    queue_ = checked(api.clCreateCommandQueue, context, device, cl::queue_profiling_enable);
  }
  // For a queue of the caller's.
  ClQueue(const cl::ClApi& api, cl::CommandQueue queue, bool alone)
      : api_(api), alone_(alone), queue_(queue), waits_at_end_(false) {
    check(api.clRetainCommandQueue, queue);
  }
  ~ClQueue() override {
    if (waits_at_end_) api_.clFinish(queue_);
    api_.clReleaseCommandQueue(queue_);
  }

  void upload(const Memory& to, std::size_t offset, const void* from, std::size_t bytes) override {
    if (bytes == 0) return;
    check(api_.clEnqueueWriteBuffer, queue_, mem_of(to), 0, offset, bytes, from, 0, nullptr,
          nullptr);
  }

  void download(void* to, const Memory& from, std::size_t offset, std::size_t bytes) override {
    if (bytes == 0) return;
    check(api_.clEnqueueReadBuffer, queue_, mem_of(from), 0, offset, bytes, to, 0, nullptr,
          nullptr);
    // Without this, a driver may start nothing until the host waits, which it may do much later.
    check(api_.clFlush, queue_);
  }

  void clear(const Memory& memory, std::size_t offset, std::size_t bytes) override {
    if (bytes == 0) return;
    const std::uint8_t zero = 0;
    check(api_.clEnqueueFillBuffer, queue_, mem_of(memory), &zero, 1, offset, bytes, 0, nullptr,
          nullptr);
  }

  void copy(const Memory& to, std::size_t to_offset, const Memory& from, std::size_t from_offset,
            std::size_t bytes) override {
    if (bytes == 0) return;
    check(api_.clEnqueueCopyBuffer, queue_, mem_of(from), mem_of(to), from_offset, to_offset, bytes,
          0, nullptr, nullptr);
  }

  void launch(Function& function, const Grid& grid, std::span<const Argument> arguments) override {
    auto& kernel = static_cast<ClFunction&>(function);
    kernel.check_threads(grid.threads);
    cl::Uint index = 0;
    for (const Argument& argument : arguments) {
      if (const auto* const* memory = std::get_if<const Memory*>(&argument.value)) {
        const cl::Mem mem = **memory ? mem_of(**memory) : nullptr;
        check(api_.clSetKernelArg, kernel.kernel(), index, sizeof(void*), &mem);
      } else {
        const auto bytes = std::get<std::span<const std::uint8_t>>(argument.value);
        check(api_.clSetKernelArg, kernel.kernel(), index, bytes.size(), bytes.data());
      }
      ++index;
    }
    // In OpenCL shared memory is a separate argument, the last one.
    if (index < kernel.arguments()) {
      const std::size_t shared = std::max<std::size_t>(grid.shared_bytes, 16);  // one element
      check(api_.clSetKernelArg, kernel.kernel(), index, shared, nullptr);
    }
    const std::size_t local = grid.threads;
    const std::size_t global = local * grid.groups;
    std::unique_lock<std::mutex> lock;
    if (alone_) lock = std::unique_lock(one_launch_at_a_time());
    check(api_.clEnqueueNDRangeKernel, queue_, kernel.kernel(), 1, nullptr, &global, &local, 0,
          nullptr, nullptr);
    if (alone_) check(api_.clFinish, queue_);
  }

  [[nodiscard]] std::unique_ptr<Mark> mark() override {
    cl::Event event = nullptr;
    check(api_.clEnqueueMarkerWithWaitList, queue_, 0, nullptr, &event);
    return std::make_unique<ClMark>(api_, event);
  }

  void wait_for(const Mark& mark) override {
    cl::Event event = static_cast<const ClMark&>(mark).event();
    // In a queue in order, this holds up everything behind it.
    cl::Event waits = nullptr;
    check(api_.clEnqueueMarkerWithWaitList, queue_, 1, &event, &waits);
    api_.clReleaseEvent(waits);
  }

  void flush() override { check(api_.clFlush, queue_); }

  [[nodiscard]] std::uint64_t nanoseconds(const Mark& from, const Mark& to) override {
    const auto begin = static_cast<const ClMark&>(from).when();
    const auto end = static_cast<const ClMark&>(to).when();
    return begin && end && *end > *begin ? *end - *begin : 0;
  }

  [[nodiscard]] void* handle() const noexcept override { return queue_; }

  void finish() override { check(api_.clFinish, queue_); }

 private:
  const cl::ClApi& api_;
  bool alone_;
  cl::CommandQueue queue_;
  bool waits_at_end_ = true;
};

// A buffer that the driver allocates in host memory. At any time it belongs either to the host,
// which has it mapped, or to the device.
class ClPinned : public PinnedMemory {
 public:
  ClPinned(const cl::ClApi& api, cl::CommandQueue queue, Memory buffer)
      : api_(api), queue_(queue), buffer_(std::move(buffer)) {
    map();
  }
  ~ClPinned() override {
    if (mapped_ == nullptr) {
      try {
        map();
      } catch (const Error&) {
        return;  // the device is lost, and its memory with it
      }
    }
    secure_zero(mapped_, buffer_.bytes());
    api_.clEnqueueUnmapMemObject(queue_, mem_of(buffer_), mapped_, 0, nullptr, nullptr);
    api_.clFinish(queue_);
  }

  [[nodiscard]] std::span<std::uint8_t> host() noexcept override {
    return {mapped_, mapped_ != nullptr ? buffer_.bytes() : 0};
  }

  [[nodiscard]] const Memory& device_view() override { return buffer_; }

  void to_device() override {
    if (mapped_ == nullptr) return;
    check(api_.clEnqueueUnmapMemObject, queue_, mem_of(buffer_), mapped_, 0, nullptr, nullptr);
    mapped_ = nullptr;
    check(api_.clFinish, queue_);
  }

  void to_host() override {
    if (mapped_ == nullptr) map();
  }

 private:
  void map() {
    void* const pointer = checked(api_.clEnqueueMapBuffer, queue_, mem_of(buffer_), cl::Uint{1},
                                  cl::map_read | cl::map_write, std::size_t{0}, buffer_.bytes(),
                                  cl::Uint{0}, nullptr, nullptr);
    mapped_ = static_cast<std::uint8_t*>(pointer);
  }

  const cl::ClApi& api_;
  cl::CommandQueue queue_;
  Memory buffer_;
  std::uint8_t* mapped_ = nullptr;
};

class ClDevice : public Device {
 public:
  // In a context that it releases, also if the constructor throws.
  ClDevice(std::shared_ptr<Loaded> loaded, cl::DeviceId device, DeviceInfo info,
           cl::Context context)
      : loaded_(std::move(loaded)),
        api_(loaded_->api),
        device_(device),
        info_(std::move(info)),
        is_pocl_(is_pocl(info_)),
        context_(context) {
    try {
      max_allocation_ =
          cl::value_of<cl::Ulong>(api_.clGetDeviceInfo, device_, cl::device_max_mem_alloc_size);
      queue_ = checked(api_.clCreateCommandQueue, context_, device_, 0);
    } catch (...) {
      api_.clReleaseContext(context_);
      throw;
    }
  }
  ~ClDevice() override {
    api_.clReleaseCommandQueue(queue_);
    api_.clReleaseContext(context_);
  }

  [[nodiscard]] const DeviceInfo& info() const noexcept override { return info_; }
  [[nodiscard]] NativeDevice native() const noexcept override { return {context_, device_}; }

  // OpenCL reports the size of the memory and of the largest buffer, but not how much is free.
  [[nodiscard]] std::uint64_t free_bytes() override {
    return std::min(max_allocation_, info_.memory_bytes / 2);
  }

  [[nodiscard]] Memory allocate(std::size_t bytes) override {
    return allocate_buffer(bytes, cl::mem_read_write);
  }

  [[nodiscard]] bool reads_pinned_memory() const noexcept override { return false; }
  [[nodiscard]] std::unique_ptr<PinnedMemory> allocate_pinned(std::size_t bytes,
                                                              bool /*mapped*/) override {
    return std::make_unique<ClPinned>(
        api_, queue_, allocate_buffer(bytes, cl::mem_read_write | cl::mem_alloc_host_ptr));
  }

  [[nodiscard]] std::unique_ptr<Queue> make_queue() override {
    return std::make_unique<ClQueue>(api_, context_, device_, is_pocl_);
  }

  [[nodiscard]] std::unique_ptr<Queue> borrow_queue(void* handle) override {
    const auto queue = static_cast<cl::CommandQueue>(handle);
    if (cl::queue_property<cl::Context>(api_, queue, cl::queue_context) != context_ ||
        cl::queue_property<cl::DeviceId>(api_, queue, cl::queue_device) != device_) {
      throw InvalidArgument("the OpenCL queue belongs to another context or device than " +
                            info_.id);
    }
    if ((cl::queue_property<cl::Bitfield>(api_, queue, cl::queue_properties) &
         cl::queue_out_of_order) != 0) {
      throw InvalidArgument(
          "the OpenCL queue executes its commands out of order: use one in order");
    }
    return std::make_unique<ClQueue>(api_, queue, is_pocl_);
  }

  [[nodiscard]] Binary compile(const std::string& source,
                               std::span<const std::string> options) override {
    const char* text = source.c_str();
    const std::size_t length = source.size();
    const ClProgram program(api_, device_,
                            checked(api_.clCreateProgramWithSource, context_, 1, &text, &length));
    std::string flags = "-cl-std=CL1.2 -DPARAES_OPENCL=1";
    for (const std::string& option : options) flags += " " + option;
    build(program.id(), flags);
    std::size_t bytes = 0;
    check(api_.clGetProgramInfo, program.id(), cl::program_binary_sizes, sizeof bytes, &bytes,
          nullptr);
    Binary binary(bytes);
    unsigned char* pointer = binary.data();
    check(api_.clGetProgramInfo, program.id(), cl::program_binaries, sizeof pointer, &pointer,
          nullptr);
    return binary;
  }

  [[nodiscard]] std::shared_ptr<Program> load(const Binary& binary) override {
    const unsigned char* pointer = binary.data();
    const std::size_t bytes = binary.size();
    Int status = cl::success;
    auto program = std::make_shared<ClProgram>(
        api_, device_,
        checked(api_.clCreateProgramWithBinary, context_, 1, &device_, &bytes, &pointer, &status));
    check("clCreateProgramWithBinary", status);
    build(program->id(), "");
    return program;
  }

 private:
  Memory allocate_buffer(std::size_t bytes, cl::Bitfield flags) {
    const cl::Mem mem =
        checked(api_.clCreateBuffer, context_, flags, std::max<std::size_t>(bytes, 16), nullptr);
    return {*this, reinterpret_cast<std::uint64_t>(mem), bytes};
  }

  void release(std::uint64_t handle) noexcept override { api_.clReleaseMemObject(mem_of(handle)); }

  void build(cl::ProgramId program, const std::string& flags) {
    const Int code = api_.clBuildProgram(program, 1, &device_, flags.c_str(), nullptr, nullptr);
    if (code == cl::success) return;
    std::string log;
    std::size_t bytes = 0;
    if (api_.clGetProgramBuildInfo(program, device_, cl::program_build_log, 0, nullptr, &bytes) ==
            cl::success &&
        bytes > 1) {
      log.resize(bytes);
      api_.clGetProgramBuildInfo(program, device_, cl::program_build_log, bytes, log.data(),
                                 nullptr);
      log.resize(bytes - 1);
    }
    throw DeviceError(cl::failure("clBuildProgram", code) + (log.empty() ? "" : ":\n" + log));
  }

  std::shared_ptr<Loaded> loaded_;
  const cl::ClApi& api_;
  cl::DeviceId device_;
  DeviceInfo info_;
  bool is_pocl_;
  cl::Context context_;
  cl::CommandQueue queue_ = nullptr;
  std::uint64_t max_allocation_ = 0;
};

class ClPlatform : public Platform {
 public:
  ClPlatform() : loaded_(std::make_shared<Loaded>()), found_(cl::find_devices(loaded_->api)) {}

  [[nodiscard]] std::vector<DeviceInfo> devices() override {
    std::vector<DeviceInfo> list;
    list.reserve(found_.size());
    for (std::size_t i = 0; i < found_.size(); ++i) {
      list.push_back(cl::describe(loaded_->api, found_[i], i));
    }
    return list;
  }

  [[nodiscard]] std::unique_ptr<Device> open(unsigned index) override {
    if (index >= found_.size()) {
      throw UnknownDevice("opencl:" + std::to_string(index),
                          "OpenCL sees " + std::to_string(found_.size()));
    }
    DeviceInfo info = cl::describe(loaded_->api, found_[index], index);
    if (!info.available) throw Unavailable(info.id + " (" + info.name + "): " + info.reason);
    const cl::DeviceId device = found_[index].device;
    return std::make_unique<ClDevice>(
        loaded_, device, std::move(info),
        checked(loaded_->api.clCreateContext, nullptr, 1, &device, nullptr, nullptr));
  }

 private:
  std::shared_ptr<Loaded> loaded_;
  std::vector<FoundDevice> found_;
};

}  // namespace

std::unique_ptr<Device> open_opencl_device_of(void* queue) {
  auto loaded = std::make_shared<Loaded>();
  const cl::ClApi& api = loaded->api;
  const auto handle = static_cast<cl::CommandQueue>(queue);
  FoundDevice found{};
  found.device = cl::queue_property<cl::DeviceId>(api, handle, cl::queue_device);
  found.platform =
      cl::value_of<cl::Platform>(api.clGetDeviceInfo, found.device, cl::device_platform);
  // A sub-device has no number.
  const std::vector<FoundDevice> all = cl::find_devices(api);
  const auto same = std::ranges::find(all, found.device, &FoundDevice::device);
  DeviceInfo info = cl::describe(api, found, static_cast<std::size_t>(same - all.begin()));
  if (same == all.end()) info.id = "opencl";
  if (!info.available) throw Unavailable(info.id + " (" + info.name + "): " + info.reason);
  const auto context = cl::queue_property<cl::Context>(api, handle, cl::queue_context);
  check(api.clRetainContext, context);
  return std::make_unique<ClDevice>(std::move(loaded), found.device, std::move(info), context);
}

OpenClPlace opencl_place_of(void* queue) {
  const Loaded loaded;
  const auto handle = static_cast<cl::CommandQueue>(queue);
  return {cl::queue_property<cl::Context>(loaded.api, handle, cl::queue_context),
          cl::queue_property<cl::DeviceId>(loaded.api, handle, cl::queue_device)};
}

std::unique_ptr<Platform> open_opencl() { return std::make_unique<ClPlatform>(); }

}  // namespace paraes::gpu
