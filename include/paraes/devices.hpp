// The devices of this machine: its CPU, and GPUs through CUDA, HIP and OpenCL.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace paraes {

// A device and its properties, or the reason why it cannot be used.
struct DeviceInfo {
  std::string id;    // "cpu", "cuda:0", "hip:1", "opencl:0"; "cuda" if the runtime is absent
  std::string name;  // of the chip
  std::uint64_t memory_bytes = 0;  // in total, used or free
  std::string driver;              // version of the driver
  std::string compiler;          // compiler of GPU programs on this machine; empty if there is none
  std::string compiler_reason;   // CUDA and HIP: if there is none, why not and what to do
  std::string target;            // compilation target: "sm_90", "gfx90a"; OpenCL: the device's name
  std::uint32_t processors = 0;  // multiprocessors, compute units, cores
  std::uint64_t shared_bytes = 0;  // maximum shared memory of a thread block (work-group)
  std::uint32_t max_threads = 0;   // maximum threads in a thread block
  bool is_cpu = false;             // the CPU, also as an OpenCL device
  std::string bus;                 // PCI address, "0000:3b:00.0" in small letters; empty if unknown
  std::string same_as;  // id of the same GPU in CUDA or HIP, which is preferred; empty if none
  bool available = false;
  std::string reason;  // if not available: what is missing and what to do
};

// How data reaches a GPU.
enum class Transfer {
  staged,  // copied to device memory and back
  mapped,  // kernels read and write pinned host memory
};

// Where the key schedule is computed.
enum class KeyExpansion { host, device };

// The CPU, then the devices of CUDA, HIP and OpenCL, in this order. A runtime that is absent has
// one entry, whose `reason` says why.
[[nodiscard]] std::vector<DeviceInfo> devices();

// Only those of "cuda", "hip" or "opencl". Opens no other runtime and no separate compiler, which
// is faster: `same_as` is empty, and so are `compiler` and `compiler_reason` in CUDA and HIP.
// Throws InvalidArgument if there is no such runtime.
[[nodiscard]] std::vector<DeviceInfo> runtime_devices(std::string_view runtime);

// Throws InvalidArgument if `device` is not a name that Execution::device accepts, UnknownDevice if
// its runtime does not see it, Unavailable if the runtime is missing.
void require_device(std::string_view device);

// Compiles the GPU programs of `kernel` for `target` ("sm_90", "gfx90a"), without a GPU, writes
// them to files in `folder`, and returns the paths: one, or two if launches with many keys have a
// program of their own. Processes with this folder in PARAES_PROGRAM_PATH use the files. Throws
// InvalidArgument for an unknown target, UnknownKernel for an unknown kernel, Unavailable if the
// compiler is not installed, IoError if a file cannot be written.
std::vector<std::string> prepare_programs(std::string_view kernel, std::string_view target,
                                          const std::string& folder);

// Why programs that are compiled for a device are not kept for the next process, in
// $XDG_CACHE_HOME/paraes or ~/.cache/paraes; empty if they are. Makes that folder.
[[nodiscard]] std::string why_programs_are_not_kept();

}  // namespace paraes
