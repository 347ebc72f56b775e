#include "src/gpu/programs/gpu_kernels.hpp"

#include <string>

#include "paraes/error.hpp"

namespace paraes::gpu {
namespace {

constexpr GpuKernel kernels[] = {
    {.name = "ttable",
     .timing = Timing::leaky,
     .aes_files = {"aes_reference.cl", "aes_ttable.cl"},
     .counter_files = {"counters.cl", "ttable_counters.cl"},
     .options = {"-DPARAES_HASH_TABLES", "-DPARAES_OWN_COUNTERS"},
     .blocks_per_thread = 32,
     .batch = 2,
     .tables = true,
     .hash_tables = true,
     .tensor_hash = true},
    {.name = "bitslice",
     .timing = Timing::constant,
     .aes_files = {"aes_bitslice.cl"},
     .counter_files = {"counters.cl", "bitslice_counters.cl"},
     .options = {"-DPARAES_KEYS_SLICED", "-DPARAES_OWN_COUNTERS"},
     .blocks_per_thread = 32,
     .batch = 32,
     .singles = 2,
     .sliced_keys = true,
     .tensor_hash = true},
    {.name = "ttable-simple",
     .timing = Timing::leaky,
     .aes_files = {"aes_reference.cl", "aes_ttable_simple.cl"},
     .counter_files = {"counters.cl"},
     .options = {"-DPARAES_HASH_TABLES"},
     .hash_tables = true},
    {.name = "reference-shared",
     .timing = Timing::leaky,
     .aes_files = {"aes_reference.cl"},
     .counter_files = {"counters.cl"},
     .options = {"-DPARAES_KERNEL_REFERENCE", "-DPARAES_STATE_SHARED"}},
    {.name = "reference",
     .timing = Timing::leaky,
     .aes_files = {"aes_reference.cl"},
     .counter_files = {"counters.cl"},
     .options = {"-DPARAES_KERNEL_REFERENCE"}},
};

}  // namespace

std::span<const GpuKernel> gpu_kernel_table() { return kernels; }

const GpuKernel& find_gpu_kernel(std::string_view name, std::string_view source) {
  std::string text(source);
  if (!source.empty()) text += ": ";
  text.append("there is no GPU kernel '").append(name).append("'; the GPU kernels are auto");
  for (const GpuKernel& kernel : kernels) {
    if (kernel.name == name) return kernel;
    text.append(", ").append(kernel.name);
  }
  throw UnknownKernel(text, std::string(name), std::string(source));
}

}  // namespace paraes::gpu
