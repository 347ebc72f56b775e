// One interface to the GPU runtimes CUDA, HIP and OpenCL, all opened at run time. It provides
// memory, queues, programs and launches, and does not depend on AES.
//
// Errors: every failing call throws. Unavailable: a library, a device or a symbol is missing, and
// the message says what to install. DeviceError: a call failed, and the message contains the call,
// the runtime's name of the code, and its number. Threads: several threads may use a Device at
// once, and ask Marks whether they have passed, but only one at a time a Queue. Lifetime: all
// objects that a Device returned must be destroyed before it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "paraes/devices.hpp"
#include "src/core/non_copyable.hpp"

namespace paraes::gpu {

using Binary = std::vector<std::uint8_t>;

class Device;

// Device memory, or host memory that the device can access (PinnedMemory::device_view). The
// destructor frees device memory that Device::allocate() returned.
class Memory {
 public:
  Memory() noexcept = default;
  Memory(Device& device, std::uint64_t handle, std::size_t bytes) noexcept
      : device_(&device), handle_(handle), bytes_(bytes) {}
  // Memory that somebody else frees.
  [[nodiscard]] static Memory view(std::uint64_t handle, std::size_t bytes) noexcept {
    Memory memory;
    memory.handle_ = handle;
    memory.bytes_ = bytes;
    return memory;
  }
  ~Memory();
  Memory(Memory&& other) noexcept;
  Memory& operator=(Memory&& other) noexcept;

  [[nodiscard]] std::uint64_t handle() const noexcept { return handle_; }
  [[nodiscard]] std::size_t bytes() const noexcept { return bytes_; }
  [[nodiscard]] explicit operator bool() const noexcept { return handle_ != 0; }

 private:
  Device* device_ = nullptr;  // frees it
  std::uint64_t handle_ = 0;  // a CUdeviceptr, hipDeviceptr_t or cl_mem
  std::size_t bytes_ = 0;
};

// Pinned host memory, whose copies to and from the device overlap with other work. The destructor
// overwrites it with zeros and frees it.
class PinnedMemory : public Interface {
 public:
  [[nodiscard]] virtual std::span<std::uint8_t> host() noexcept = 0;

  // Returns these bytes as an argument of kernels, which then access host memory directly. The
  // memory must have been allocated as `mapped`. Throws Unavailable if the device cannot access
  // host memory.
  [[nodiscard]] virtual const Memory& device_view() = 0;

  // After to_device() mapped memory belongs to the device, and the host must not use it until
  // to_host(). In OpenCL host() is empty in between, and may return another address afterwards.
  // CUDA and HIP need neither call.
  virtual void to_device() {}
  virtual void to_host() {}
};

class Program;

// A kernel of a loaded program.
class Function : public Interface {};

class Program : public Interface {
 public:
  // Throws DeviceError if the program has no such kernel. Each queue needs its own Function: in
  // OpenCL a kernel object stores its arguments, and threads must not share it.
  [[nodiscard]] virtual std::unique_ptr<Function> function(const char* name) = 0;
};

// An argument of a kernel: memory, or bytes that are passed by value.
struct Argument {
  std::variant<const Memory*, std::span<const std::uint8_t>> value;

  Argument(const Memory& memory) : value(&memory) {}  // NOLINT(google-explicit-constructor)
  static Argument by_value(const auto& object) {
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

// A point in a queue's work.
class Mark : public Interface {
 public:
  // Whether the queue has done all work before this point. Does not wait. Throws the error of that
  // work.
  [[nodiscard]] virtual bool passed() const = 0;
};

// Executes work in order. Calls may return before the work is done; finish() or a later call throws
// the errors of the work itself. The destructor waits for the work, unless the queue is the
// caller's.
class Queue : public Interface {
 public:
  // Host memory must stay valid until the copy completes.
  virtual void upload(const Memory& to, std::size_t offset, const void* from,
                      std::size_t bytes) = 0;
  virtual void download(void* to, const Memory& from, std::size_t offset, std::size_t bytes) = 0;
  virtual void clear(const Memory& memory, std::size_t offset, std::size_t bytes) = 0;  // to zero
  // Within device memory. The two ranges must not overlap.
  virtual void copy(const Memory& to, std::size_t to_offset, const Memory& from,
                    std::size_t from_offset, std::size_t bytes) = 0;

  // Arguments by value are copied before the call returns.
  virtual void launch(Function& function, const Grid& grid,
                      std::span<const Argument> arguments) = 0;

  [[nodiscard]] virtual std::unique_ptr<Mark> mark() = 0;
  // Work that is enqueued later begins after `mark`, of any queue of the device. Does not block.
  virtual void wait_for(const Mark& mark) = 0;

  // The time between two marks that the queue has passed. 0 on OpenCL drivers that do not measure
  // markers.
  [[nodiscard]] virtual std::uint64_t nanoseconds(const Mark& from, const Mark& to) = 0;

  // Makes the device begin with the work soon. CUDA and HIP do so anyway.
  virtual void flush() {}

  // The CUstream, hipStream_t or cl_command_queue, for code of others. The queue keeps it.
  [[nodiscard]] virtual void* handle() const noexcept = 0;

  // Whether calls do not run but are recorded, to be run later, perhaps several times.
  [[nodiscard]] virtual bool is_captured() { return false; }

  virtual void finish() = 0;  // waits until all work is done
  // Like finish(), for destructors. If it fails, the device is lost, and its memory with it.
  void try_finish() noexcept;
};

// Handles with which foreign code can use a device of ours; they belong to the Device.
struct NativeDevice {
  void* context = nullptr;  // a CUcontext (the device's primary one) or cl_context; HIP has none
  void* device = nullptr;   // a cl_device_id; CUDA and HIP have numbers
};

class Device : public Interface {
 public:
  [[nodiscard]] virtual const DeviceInfo& info() const noexcept = 0;
  [[nodiscard]] virtual NativeDevice native() const noexcept = 0;
  // Calls `work` while the device is the calling thread's current one, on which code for CUDA and
  // HIP works.
  virtual void while_current(const std::function<void()>& work) { work(); }
  // Waits for all work on the device, also that of others in this process. OpenCL cannot.
  virtual void finish_all() {}
  // An estimate of how much memory allocate() can provide.
  [[nodiscard]] virtual std::uint64_t free_bytes() = 0;

  // Whether kernels can read pinned memory in place, if it was allocated as mapped, without any
  // call of to_device() and to_host().
  [[nodiscard]] virtual bool reads_pinned_memory() const noexcept = 0;

  // Whether all of this host memory is page-locked by the device's own context (HIP: device), so
  // that copies from it and to it are made directly and overlap with other work. Not for memory
  // that the runtime migrates. False if the runtime does not say, as OpenCL.
  [[nodiscard]] virtual bool is_page_locked(const void* /*memory*/, std::size_t /*bytes*/) {
    return false;
  }

  // Throw OutOfMemory (a DeviceError) if there is not enough memory.
  [[nodiscard]] virtual Memory allocate(std::size_t bytes) = 0;
  [[nodiscard]] virtual std::unique_ptr<PinnedMemory> allocate_pinned(std::size_t bytes,
                                                                      bool mapped) = 0;
  [[nodiscard]] virtual std::unique_ptr<Queue> make_queue() = 0;
  // A queue that belongs to the caller of the library and must exist while the object is used: a
  // CUstream of the device's primary context or a hipStream_t, nullptr for the default stream; or a
  // cl_command_queue of the device's context. Throws InvalidArgument if the queue belongs to
  // another context (HIP's streams do not say) or device, or executes its work out of order.
  [[nodiscard]] virtual std::unique_ptr<Queue> borrow_queue(void* handle) = 0;

  // Compiles `source` to machine code for this device. `options` are compiler flags such as
  // "-DX=1". load() accepts the result. Only this opens the compiler of CUDA and HIP. Throws
  // Unavailable if it is not installed.
  [[nodiscard]] virtual Binary compile(const std::string& source,
                                       std::span<const std::string> options) = 0;
  // Throws DeviceError if the driver rejects the binary.
  [[nodiscard]] virtual std::shared_ptr<Program> load(const Binary& binary) = 0;

 private:
  friend class Memory;
  virtual void release(std::uint64_t handle) noexcept = 0;
};

// A runtime on this machine, and the devices that it finds.
class Platform : public Interface {
 public:
  // Without their compilers in CUDA and HIP, which are separate libraries: see describe_compiler().
  [[nodiscard]] virtual std::vector<DeviceInfo> devices() = 0;
  // Sets the name of the device's compiler, or the reason why there is none. Opens the compiler.
  virtual void describe_compiler(DeviceInfo& /*info*/) {}
  [[nodiscard]] virtual std::unique_ptr<Device> open(unsigned index) = 0;
};

// Throws DeviceError if a driver does not load the program.
using CheckBinary = std::function<void(const Binary&)>;

// A run-time compiler that needs no device: NVRTC, hipRTC. If several are installed, it tries one
// after the other until one knows the target and compiles the program.
class Compiler : public Interface {
 public:
  // With the version of the first one: "NVRTC 12.9".
  [[nodiscard]] virtual std::string name() const = 0;
  // target: "sm_90", "gfx90a", … Throws InvalidArgument if no compiler knows the target,
  // DeviceError with the compiler's messages if it rejects the source. If several are installed,
  // the message has the file of each and why it failed.
  //
  // With `check`, a program counts only if that accepts it. If no compiler makes such a program,
  // throws the DeviceError of `check`.
  [[nodiscard]] virtual Binary compile(const std::string& source,
                                       std::span<const std::string> options,
                                       const std::string& target,
                                       const CheckBinary& check = {}) = 0;
};

// Throw Unavailable if the runtime is not installed or finds no device. The message says what to
// install.
[[nodiscard]] std::unique_ptr<Platform> open_cuda();
[[nodiscard]] std::unique_ptr<Platform> open_hip();
[[nodiscard]] std::unique_ptr<Platform> open_opencl();

// A device in the context of a cl_command_queue. Throws Unavailable if the kernels do not support
// the queue's device.
[[nodiscard]] std::unique_ptr<Device> open_opencl_device_of(void* queue);
// The context and the device of a cl_command_queue. Contexts that exist at the same time differ.
using OpenClPlace = std::pair<void*, void*>;
[[nodiscard]] OpenClPlace opencl_place_of(void* queue);

// The spelling of a PCI address in DeviceInfo::bus: "0000:3b:00.0".
[[nodiscard]] std::string bus_address(unsigned domain, unsigned bus, unsigned device,
                                      unsigned function);

// Whether an OpenCL device belongs to PoCL, which needs minutes to compile what other drivers
// compile in seconds.
[[nodiscard]] bool is_pocl(const DeviceInfo& info);

// A program that a compiler accepts for every target that it knows.
inline constexpr const char* trivial_program = "extern \"C\" __global__ void paraes_nothing() {}\n";

// Throw Unavailable if the compiler is not installed. open_nvrtc() tries the oldest NVRTC first:
// drivers may refuse programs from an NVRTC that is newer than they are.
[[nodiscard]] std::unique_ptr<Compiler> open_nvrtc();
[[nodiscard]] std::unique_ptr<Compiler> open_hiprtc();

}  // namespace paraes::gpu
