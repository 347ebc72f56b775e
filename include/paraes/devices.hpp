// The devices of this machine: its CPU, and GPUs through CUDA, HIP and OpenCL.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace paraes {

// What a device is, or why it cannot be used.
struct DeviceInfo {
  std::string id;    // "cpu", "cuda:0", "hip:1", "opencl:0"; "cuda" if the runtime is absent
  std::string name;  // of the chip
  std::uint64_t memory_bytes = 0;  // all of it
  std::string driver;              // its version
  std::string compiler;            // what compiles programs on this machine; empty if nothing does
  std::string target;  // what programs are compiled for: "sm_90", "gfx90a"; OpenCL: the name
  std::uint32_t processors = 0;    // multiprocessors, compute units, cores
  std::uint64_t shared_bytes = 0;  // most shared memory of one group of threads
  std::uint32_t max_threads = 0;   // most threads in one group
  bool is_cpu = false;             // the CPU, also as an OpenCL device
  std::string bus;                 // where it is plugged in: "0000:17:00.0"; empty if unknown
  std::string same_as;  // the id of the same GPU through another runtime, which `auto` takes
  bool available = false;
  std::string reason;  // empty if available, else what is missing and what to do
};

// How data reaches a GPU: by copies to its memory and back, or by kernels that read and write the
// host's memory.
enum class Transfer { staged, mapped };

// Where round keys are made.
enum class KeyExpansion { host, device };

// The CPU, then every GPU of every runtime, then a row for each runtime that is absent.
[[nodiscard]] std::vector<DeviceInfo> devices();

// Throws InvalidArgument if `device` is none of the names that Execution takes, Unavailable if it
// is not there.
void require_device(std::string_view device);

// Compiles the programs of the GPU kernel `kernel` for `target` ("sm_90", "gfx90a"), without a GPU,
// into files of `folder`, and returns their paths: one or two, the second for launches with many
// keys. Processes that have the folder in PARAES_PROGRAM_PATH find them there. Throws
// InvalidArgument for a target or kernel that is not known, Unavailable if the compiler is not
// installed, IoError if a file cannot be written.
std::vector<std::string> prepare_programs(std::string_view kernel, std::string_view target,
                                          const std::string& folder);

}  // namespace paraes
