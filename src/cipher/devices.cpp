// Lists the devices and chooses GPU kernels.

#include "paraes/devices.hpp"

#include <unistd.h>

#include "paraes/error.hpp"
#include "paraes/kernels.hpp"
#include "paraes/threads.hpp"
#include "src/cipher/open.hpp"
#include "src/gpu/pool.hpp"
#include "src/gpu/programs/program_files.hpp"
#include "src/gpu/runtime/runtime.hpp"
#include "src/kernels/registry.hpp"

namespace paraes {
namespace {

std::uint64_t host_memory_bytes() {
  const long pages = sysconf(_SC_PHYS_PAGES);
  const long page = sysconf(_SC_PAGE_SIZE);
  if (pages <= 0 || page <= 0) return 0;
  return static_cast<std::uint64_t>(pages) * static_cast<std::uint64_t>(page);
}

DeviceInfo cpu() {
  DeviceInfo info;
  info.id = "cpu";
  info.name = cpu_model();
  info.memory_bytes = host_memory_bytes();
  info.processors = static_cast<std::uint32_t>(available_cores());
  info.is_cpu = true;
  info.available = true;
  return info;
}

enum class Compilers : bool { skip, describe };

std::vector<DeviceInfo> devices_of(const gpu::Runtime& runtime, Compilers compilers) try {
  const std::unique_ptr<gpu::Platform> platform = runtime.open();
  std::vector<DeviceInfo> list = platform->devices();
  if (compilers == Compilers::skip) return list;
  for (DeviceInfo& info : list) {
    if (info.available) platform->describe_compiler(info);
  }
  return list;
} catch (const Error& error) {
  DeviceInfo absent;
  absent.id = runtime.name;
  absent.reason = error.what();
  return {absent};
}

KernelInfo describe(const gpu::GpuKernel& kernel) {
  KernelInfo info;
  info.name = kernel.name;
  info.timing = kernel.timing;
  info.available = true;
  return info;
}

}  // namespace

std::vector<DeviceInfo> devices() {
  std::vector<DeviceInfo> list{cpu()};
  for (const gpu::Runtime& runtime : gpu::runtimes) {
    for (DeviceInfo& info : devices_of(runtime, Compilers::describe)) {
      list.push_back(std::move(info));
    }
  }
  // A GPU that OpenCL finds as well as CUDA or HIP counts only once.
  for (DeviceInfo& info : list) {
    if (info.id.rfind("opencl:", 0) != 0) continue;
    for (const DeviceInfo& other : list) {
      const bool first_choice = other.id.rfind("cuda:", 0) == 0 || other.id.rfind("hip:", 0) == 0;
      if (!first_choice || other.bus.empty() || other.bus != info.bus) continue;
      info.same_as = other.id;
      break;
    }
  }
  return list;
}

std::vector<DeviceInfo> runtime_devices(std::string_view runtime) {
  return devices_of(gpu::find_runtime(runtime), Compilers::skip);
}

void require_device(std::string_view device) {
  if (const auto names = gpu::parse_device(device)) gpu::require_gpus(*names);
}

std::vector<KernelInfo> gpu_kernels() {
  std::vector<KernelInfo> list;
  for (const gpu::GpuKernel& kernel : gpu::gpu_kernel_table()) list.push_back(describe(kernel));
  return list;
}

std::string why_programs_are_not_kept() { return gpu::program_cache().reason; }

KernelInfo select_kernel(std::string_view request, std::string_view device, bool allow_leaky) {
  if (!gpu::names_gpu(device)) return select_kernel(request);
  return describe(detail::select_gpu_kernel(request, allow_leaky));
}

}  // namespace paraes
