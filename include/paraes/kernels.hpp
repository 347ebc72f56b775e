// AES kernels, and the CPU features that they need.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "paraes/export.hpp"

namespace paraes {

// Whether a kernel's timing or memory accesses can reveal secrets.
enum class Timing {
  constant,  // no branch and no address depends on key or data
  library,   // depends on code that a library selects (OpenSSL)
  leaky,     // indexes tables with secrets: for measurements only
};

struct KernelInfo {
  std::string_view name;     // as in --kernel
  std::string_view variant;  // of the kernel that runs ("avx512", …); empty if only one
  std::vector<std::string_view> needs;  // CPU features, in the names of PARAES_CPU_MASK
  Timing timing = Timing::constant;
  bool available = false;
  std::string reason;  // if not available: the CPU features that are missing
};

// Every CPU kernel once, in the order in which `auto` prefers them. Throws InvalidArgument if
// PARAES_CPU_MASK has an unknown feature, or hides a feature but not those that build on it.
[[nodiscard]] PARAES_EXPORT std::vector<KernelInfo> kernels();

// The value of PARAES_KERNEL: the kernel that an empty request selects. Empty if it is not set.
[[nodiscard]] PARAES_EXPORT std::string_view kernel_of_environment() noexcept;

// The CPU kernel that `request` selects. An empty request is the value of PARAES_KERNEL if that is
// set, else `auto`; `auto` is the fastest available constant-time kernel. Throws UnknownKernel for
// a name that does not exist, Unavailable for a kernel that this machine cannot run, and
// InvalidArgument as kernels() does.
[[nodiscard]] PARAES_EXPORT KernelInfo select_kernel(std::string_view request);

// Every GPU kernel once.
[[nodiscard]] PARAES_EXPORT std::vector<KernelInfo> gpu_kernels();

// The kernel that `request` selects on `device` (see Execution). On a GPU, `auto` is the fastest
// constant-time kernel, or the fastest of all with allow_leaky, which is for GPUs that nobody else
// uses. Throws UnknownKernel for an unknown name, InvalidArgument for a device that Execution does
// not accept, and on the CPU as above. Whether the GPU exists and can run the kernel is checked
// only when a cipher is constructed.
[[nodiscard]] PARAES_EXPORT KernelInfo select_kernel(std::string_view request,
                                                     std::string_view device, bool allow_leaky);

// The CPU's name, "unknown" if it has none.
[[nodiscard]] PARAES_EXPORT std::string cpu_model();

// CPU features that the processor and the operating system support and PARAES_CPU_MASK does not
// hide, as far as some kernel needs them. Throws as kernels() does.
[[nodiscard]] PARAES_EXPORT std::vector<std::string_view> cpu_features();

}  // namespace paraes
