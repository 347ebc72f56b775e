#include "src/gpu/programs/kernel_rows.hpp"

#include <algorithm>
#include <iterator>
#include <string>

#include "paraes/error.hpp"

namespace paraes::gpu {
namespace {

constexpr KernelRow rows[] = {
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

std::span<const KernelRow> kernel_rows() { return rows; }

const KernelRow& fastest_kernel_row() { return rows[0]; }

const KernelRow& fastest_constant_kernel_row() {
  return *std::find_if(std::begin(rows), std::end(rows),
                       [](const KernelRow& row) { return row.timing == Timing::constant; });
}

const KernelRow& find_kernel_row(std::string_view name, std::string_view source) {
  std::string text(source);
  if (!source.empty()) text += ": ";
  text.append("there is no GPU kernel '").append(name).append("'; the GPU kernels are auto");
  for (const KernelRow& row : rows) {
    if (row.name == name) return row;
    text.append(", ").append(row.name);
  }
  throw UnknownKernel(text, std::string(name), std::string(source));
}

}  // namespace paraes::gpu
