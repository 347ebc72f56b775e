// One interface to the GPU runtimes CUDA, HIP and OpenCL, all opened at run time. It knows memory,
// queues, programs and launches, and nothing of AES.
//
// Errors: every failing call throws. Unavailable: a library, a device or a symbol is missing (the
// message says what to install). DeviceError: a call failed; the message has the call, the
// runtime's name of the code, and its number. Threads: a Device may be used by several threads at
// once, a Queue and its Marks by one at a time. Lifetime: everything that a Device gave out must be
// gone before it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "paraes/devices.hpp"

namespace paraes::gpu {

using Binary = std::vector<std::uint8_t>;

class Device;

// Memory of a device, or host memory that it reaches (PinnedMemory::device_view). Freed with the
// object.
class Memory {
 public:
  Memory() noexcept = default;
  Memory(Device& device, std::uint64_t handle, std::size_t bytes) noexcept
      : device_(&device), handle_(handle), bytes_(bytes) {}
  ~Memory();
  Memory(Memory&& other) noexcept;
  Memory& operator=(Memory&& other) noexcept;
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;

  [[nodiscard]] std::uint64_t handle() const noexcept { return handle_; }
  [[nodiscard]] std::size_t bytes() const noexcept { return bytes_; }
  [[nodiscard]] explicit operator bool() const noexcept { return device_ != nullptr; }

 private:
  Device* device_ = nullptr;
  std::uint64_t handle_ = 0;  // a CUdeviceptr, hipDeviceptr_t or cl_mem
  std::size_t bytes_ = 0;
};

// Host memory that stays where it is, so that copies run beside other work. Zeroised and freed with
// the object.
class PinnedMemory {
 public:
  virtual ~PinnedMemory() = default;
  PinnedMemory() = default;
  PinnedMemory(const PinnedMemory&) = delete;
  PinnedMemory& operator=(const PinnedMemory&) = delete;

  [[nodiscard]] virtual std::span<std::uint8_t> host() noexcept = 0;

  // The same bytes as a kernel argument, if it was allocated as `mapped`: kernels read and write
  // the host's memory. Throws Unavailable where the device cannot.
  [[nodiscard]] virtual const Memory& device_view() = 0;

  // Between the two, mapped memory belongs to the device, and host() is empty. CUDA and HIP need
  // neither.
  virtual void to_device() {}
  virtual void to_host() {}
};

class Program;

// A kernel of a loaded program.
class Function {
 public:
  virtual ~Function() = default;
  Function() = default;
  Function(const Function&) = delete;
  Function& operator=(const Function&) = delete;
};

class Program {
 public:
  virtual ~Program() = default;
  Program() = default;
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  // Throws DeviceError if the program has no such kernel. May be called once for each name and
  // queue: in OpenCL a kernel object keeps its arguments, and must not be shared by threads.
  [[nodiscard]] virtual std::unique_ptr<Function> function(const char* name) = 0;
};

// An argument of a kernel: memory, or bytes by value.
struct Argument {
  std::variant<const Memory*, std::span<const std::uint8_t>> value;

  Argument(const Memory& memory) : value(&memory) {}  // NOLINT(google-explicit-constructor)
  template <class T>
  static Argument by_value(const T& object) {
    return Argument(std::span<const std::uint8_t>(reinterpret_cast<const std::uint8_t*>(&object),
                                                  sizeof object));
  }

 private:
  explicit Argument(std::span<const std::uint8_t> bytes) : value(bytes) {}
};

struct Grid {
  std::uint32_t groups = 1;
  std::uint32_t threads = 1;       // in a group
  std::uint32_t shared_bytes = 0;  // dynamic shared memory of a group
};

// A moment in a queue.
class Mark {
 public:
  virtual ~Mark() = default;
  Mark() = default;
  Mark(const Mark&) = delete;
  Mark& operator=(const Mark&) = delete;
};

// Work in order. Calls return before the work is done; errors of the work itself come with
// finish() or with a later call.
class Queue {
 public:
  virtual ~Queue() = default;  // waits for the work
  Queue() = default;
  Queue(const Queue&) = delete;
  Queue& operator=(const Queue&) = delete;

  // `from` and `to` of the host stay valid until the queue has come there.
  virtual void upload(const Memory& to, std::size_t offset, const void* from,
                      std::size_t bytes) = 0;
  virtual void download(void* to, const Memory& from, std::size_t offset, std::size_t bytes) = 0;
  virtual void clear(const Memory& memory, std::size_t offset, std::size_t bytes) = 0;  // to zero

  // Arguments by value are copied before the call returns.
  virtual void launch(Function& function, const Grid& grid,
                      std::span<const Argument> arguments) = 0;

  [[nodiscard]] virtual std::unique_ptr<Mark> mark() = 0;

  // The time between two marks that the queue has passed.
  [[nodiscard]] virtual std::uint64_t nanoseconds(const Mark& from, const Mark& to) = 0;

  virtual void finish() = 0;  // waits until all work is done
};

class Device {
 public:
  virtual ~Device() = default;
  Device() = default;
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  [[nodiscard]] virtual const DeviceInfo& info() const noexcept = 0;
  [[nodiscard]] virtual std::uint64_t free_bytes() = 0;  // what allocate() may hope for

  // Throws OutOfMemory (a DeviceError) if the device has not that much.
  [[nodiscard]] virtual Memory allocate(std::size_t bytes) = 0;
  [[nodiscard]] virtual std::unique_ptr<PinnedMemory> allocate_pinned(std::size_t bytes,
                                                                      bool mapped) = 0;
  [[nodiscard]] virtual std::unique_ptr<Queue> make_queue() = 0;

  // The machine code of `source` for this device. `options` are macros and flags ("-DX=1").
  [[nodiscard]] virtual Binary compile(const std::string& source,
                                       std::span<const std::string> options) = 0;
  // Throws DeviceError if the driver does not take it.
  [[nodiscard]] virtual std::unique_ptr<Program> load(const Binary& binary) = 0;

 private:
  friend class Memory;
  virtual void release(std::uint64_t handle) noexcept = 0;
};

// A runtime of this machine, with the devices that it sees.
class Platform {
 public:
  virtual ~Platform() = default;
  Platform() = default;
  Platform(const Platform&) = delete;
  Platform& operator=(const Platform&) = delete;

  [[nodiscard]] virtual std::vector<DeviceInfo> devices() = 0;
  [[nodiscard]] virtual std::unique_ptr<Device> open(unsigned index) = 0;
};

// A run-time compiler that needs no device: NVRTC, hipRTC.
class Compiler {
 public:
  virtual ~Compiler() = default;
  Compiler() = default;
  Compiler(const Compiler&) = delete;
  Compiler& operator=(const Compiler&) = delete;

  [[nodiscard]] virtual std::string name() const = 0;  // with its version: "NVRTC 12.9"
  // target: "sm_90", "gfx90a", … Throws InvalidArgument if the compiler does not know it,
  // DeviceError with the compiler's own messages if it refuses the source.
  [[nodiscard]] virtual Binary compile(const std::string& source,
                                       std::span<const std::string> options,
                                       const std::string& target) = 0;
};

// Throw Unavailable if the runtime is not installed or sees no device; the message says what to
// install.
[[nodiscard]] std::unique_ptr<Platform> open_cuda();
[[nodiscard]] std::unique_ptr<Platform> open_hip();
[[nodiscard]] std::unique_ptr<Platform> open_opencl();

// Whether an OpenCL device is one of PoCL's, which compiles for minutes what others do in seconds.
[[nodiscard]] bool is_pocl(const DeviceInfo& info);

// Throw Unavailable if the compiler is not installed.
[[nodiscard]] std::unique_ptr<Compiler> open_nvrtc();
[[nodiscard]] std::unique_ptr<Compiler> open_hiprtc();

}  // namespace paraes::gpu
