// What this machine can run: CPU features and AES kernels.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace paraes {

// Whether secrets can show in the time or the cache lines that a kernel touches.
enum class Timing {
  constant,  // no branch and no address depends on key or data
  library,   // decided by the library that is called (OpenSSL picks its own code)
  leaky,     // looks tables up with secret indices: for the laboratory, not for secrets
};

struct KernelInfo {
  std::string_view name;                // as in --kernel
  std::string_view variant;             // which build of it runs ("avx512", …); empty if only one
  std::vector<std::string_view> needs;  // CPU features, in the names of PARAES_CPU_MASK
  Timing timing = Timing::constant;
  bool available = false;
  std::string reason;  // empty when available, else what the machine lacks
};

// Every kernel once, in the order in which `auto` prefers them. Throws InvalidArgument when
// PARAES_CPU_MASK is not a list of feature names, or hides a feature but not those that need it.
[[nodiscard]] std::vector<KernelInfo> kernels();

// The name of the kernel that runs for `request`: empty means PARAES_KERNEL if that is set, and
// otherwise `auto`; `auto` is the fastest available constant-time kernel. Throws InvalidArgument
// for a name that does not exist, Unavailable for a kernel that this machine cannot run.
[[nodiscard]] KernelInfo select_kernel(std::string_view request);

// The GPU kernels, and the same choice for a device as in Execution: on a GPU, `auto` is the
// constant-time kernel unless allow_leaky says that nobody else uses the GPU. That the GPU is
// there, and can run it, is found out only when a cipher is made.
[[nodiscard]] std::vector<KernelInfo> gpu_kernels();
[[nodiscard]] KernelInfo select_kernel(std::string_view request, std::string_view device,
                                       bool allow_leaky);

// The CPU's name, and the features that the processor and the operating system both support and
// PARAES_CPU_MASK does not hide. Only features that some kernel asks for are listed.
[[nodiscard]] std::string cpu_model();
[[nodiscard]] std::vector<std::string_view> cpu_features();

}  // namespace paraes
