#include "tests/support/callers_device.hpp"

#include <algorithm>
#include <array>
#include <stdexcept>
#include <vector>

#include "src/gpu/device_names.hpp"
#include "src/gpu/pool.hpp"
#include "src/gpu/runtime/driver_device.hpp"
#include "src/gpu/runtime/opencl_devices.hpp"

namespace paraes::support {
namespace {

using gpu::Memory;

// In CUDA and HIP, allocations and the default stream belong to everybody in the process.
class DriverCaller final : public CallersDevice {
 public:
  explicit DriverCaller(const gpu::DeviceNames& names)
      : device_(gpu::open_platform(names.runtime)->open(names.indices.at(0))),
        queue_(device_->borrow_queue(nullptr)) {}

  [[nodiscard]] DeviceStream stream() override { return {device_->info().id, nullptr}; }

  [[nodiscard]] DeviceBuffer allocate(std::size_t bytes, std::size_t offset) override {
    memory_.push_back(device_->allocate(bytes + offset));
    return {memory_.back().handle(), offset, bytes};
  }

  void write(const DeviceBuffer& to, Bytes from) override {
    queue_->upload(view(to), to.offset, from.data(), from.size());
    queue_->finish();
  }

  [[nodiscard]] Buffer read(const DeviceBuffer& from) override {
    Buffer bytes(from.bytes);
    queue_->download(bytes.data(), view(from), from.offset, bytes.size());
    queue_->finish();
    return bytes;
  }

  [[nodiscard]] DeviceStream make_stream() override {
    const gpu::driver::Current current(driver());
    gpu::driver::Stream stream = nullptr;
    driver().check(driver().api().create_stream, &stream, gpu::driver::stream_non_blocking);
    streams_.push_back(stream);
    return {device_->info().id, stream};
  }
  void destroy_stream(const DeviceStream& stream) override {
    const gpu::driver::Current current(driver());
    driver().check(driver().api().destroy_stream, stream.handle);
    std::erase(streams_, stream.handle);
  }

  void synchronize() override {
    queue_->finish();
    const gpu::driver::Current current(driver());
    for (gpu::driver::Stream stream : streams_) {
      driver().check(driver().api().finish_stream, stream);
    }
  }

 private:
  [[nodiscard]] gpu::driver::DriverDevice& driver() {
    return static_cast<gpu::driver::DriverDevice&>(*device_);
  }

  static Memory view(const DeviceBuffer& buffer) {
    return Memory::view(buffer.memory, buffer.offset + buffer.bytes);
  }

  std::unique_ptr<gpu::Device> device_;
  std::unique_ptr<gpu::Queue> queue_;
  std::vector<gpu::driver::Stream> streams_;
  std::vector<Memory> memory_;
};

// An OpenCL program with a context of its own, of all devices of one platform.
class OpenClCaller final : public CallersDevice {
 public:
  explicit OpenClCaller(unsigned index)
      : library_(std::array{"libOpenCL.so.1"}, "install an OpenCL loader"), api_(library_) {
    gpu::cl::Uint count = 0;
    check(api_.clGetPlatformIDs(0, nullptr, &count));
    std::vector<gpu::cl::Platform> platforms(count);
    check(api_.clGetPlatformIDs(count, platforms.data(), nullptr));
    std::vector<gpu::cl::DeviceId> devices;
    for (gpu::cl::Platform platform : platforms) {
      if (index < devices.size()) break;
      index -= static_cast<unsigned>(devices.size());
      devices.clear();
      gpu::cl::Uint found = 0;
      if (api_.clGetDeviceIDs(platform, gpu::cl::device_type_all, 0, nullptr, &found) != 0) {
        continue;
      }
      devices.resize(devices.size() + found);
      check(api_.clGetDeviceIDs(platform, gpu::cl::device_type_all, found,
                                devices.data() + devices.size() - found, nullptr));
    }
    gpu::cl::Int code = 0;
    std::swap(devices.at(0), devices.at(index));
    context_ = api_.clCreateContext(nullptr, static_cast<gpu::cl::Uint>(devices.size()),
                                    devices.data(), nullptr, nullptr, &code);
    check(code);
    for (gpu::cl::DeviceId device : devices) {
      queues_.push_back(api_.clCreateCommandQueue(context_, device, 0, &code));
      check(code);
    }
    queue_ = queues_[0];
  }
  ~OpenClCaller() override {
    for (gpu::cl::Mem memory : memory_) api_.clReleaseMemObject(memory);
    for (gpu::cl::CommandQueue queue : queues_) api_.clReleaseCommandQueue(queue);
    api_.clReleaseContext(context_);
  }

  [[nodiscard]] DeviceStream stream() override { return {"opencl", queue_}; }
  [[nodiscard]] std::vector<DeviceStream> streams() override {
    std::vector<DeviceStream> all;
    for (gpu::cl::CommandQueue queue : queues_) all.push_back({"opencl", queue});
    return all;
  }

  [[nodiscard]] DeviceStream make_stream() override {
    gpu::cl::Int code = 0;
    const auto device =
        gpu::cl::queue_property<gpu::cl::DeviceId>(api_, queue_, gpu::cl::queue_device);
    queues_.push_back(api_.clCreateCommandQueue(context_, device, 0, &code));
    check(code);
    return {"opencl", queues_.back()};
  }
  void destroy_stream(const DeviceStream& stream) override {
    const auto queue = static_cast<gpu::cl::CommandQueue>(stream.handle);
    api_.clReleaseCommandQueue(queue);
    std::erase(queues_, queue);
  }

  [[nodiscard]] DeviceBuffer allocate(std::size_t bytes, std::size_t offset) override {
    gpu::cl::Int code = 0;
    memory_.push_back(api_.clCreateBuffer(context_, gpu::cl::mem_read_write,
                                          std::max<std::size_t>(bytes + offset, 16), nullptr,
                                          &code));
    check(code);
    return DeviceBuffer::of(memory_.back(), bytes, offset);
  }

  void write(const DeviceBuffer& to, Bytes from) override {
    if (from.empty()) return;
    check(api_.clEnqueueWriteBuffer(queue_, memory(to), 1, to.offset, from.size(), from.data(), 0,
                                    nullptr, nullptr));
  }

  [[nodiscard]] Buffer read(const DeviceBuffer& from) override {
    Buffer bytes(from.bytes);
    if (bytes.empty()) return bytes;
    check(api_.clEnqueueReadBuffer(queue_, memory(from), 1, from.offset, bytes.size(), bytes.data(),
                                   0, nullptr, nullptr));
    return bytes;
  }

  void synchronize() override {
    for (gpu::cl::CommandQueue queue : queues_) check(api_.clFinish(queue));
  }

 private:
  static void check(gpu::cl::Int code) {
    if (code != 0) throw std::runtime_error("an OpenCL call failed: " + std::to_string(code));
  }

  static gpu::cl::Mem memory(const DeviceBuffer& buffer) {
    return reinterpret_cast<gpu::cl::Mem>(buffer.memory);  // NOLINT(performance-no-int-to-ptr)
  }

  DynamicLibrary library_;
  gpu::cl::ClApi api_;
  gpu::cl::Context context_ = nullptr;
  gpu::cl::CommandQueue queue_ = nullptr;  // the first
  std::vector<gpu::cl::CommandQueue> queues_;
  std::vector<gpu::cl::Mem> memory_;
};

}  // namespace

std::unique_ptr<CallersDevice> open_callers_device(const std::string& device) {
  const gpu::DeviceNames names = gpu::parse_device(device).value();
  if (names.runtime == "opencl") return std::make_unique<OpenClCaller>(names.indices.at(0));
  return std::make_unique<DriverCaller>(names);
}

}  // namespace paraes::support
