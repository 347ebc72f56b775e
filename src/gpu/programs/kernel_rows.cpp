#include "src/gpu/programs/kernel_rows.hpp"

#include <algorithm>
#include <array>
#include <iterator>
#include <string>

#include "paraes/error.hpp"

namespace paraes::gpu {
namespace {

// The source files of a program: those that all programs share, and its own for AES and counters.
template <std::size_t Aes, std::size_t Counters>
constexpr auto source_files(const std::string_view (&aes)[Aes],
                            const std::string_view (&counters)[Counters]) {
  constexpr std::string_view before[] = {"dialect.h", "job.h", "sizes.h", "entry.h", "sbox.h"};
  constexpr std::string_view after[] = {"xts.cl",         "modes.cl",        "gf128.cl",
                                        "ghash_input.cl", "ghash_tensor.cl", "ghash_sums.cl",
                                        "ghash.cl",       "gcm_finish.cl",   "keys.cl"};
  std::array<std::string_view, std::size(before) + Aes + Counters + std::size(after)> all;
  auto at = std::copy(std::begin(before), std::end(before), all.begin());
  at = std::copy(std::begin(aes), std::end(aes), at);
  at = std::copy(std::begin(counters), std::end(counters), at);
  std::copy(std::begin(after), std::end(after), at);
  return all;
}

constexpr auto reference_files = source_files({"aes_reference.cl"}, {"counters.cl"});
constexpr auto ttable_simple_files =
    source_files({"aes_reference.cl", "aes_ttable_simple.cl"}, {"counters.cl"});
constexpr auto ttable_files =
    source_files({"aes_reference.cl", "aes_ttable.cl"}, {"counters.cl", "ttable_counters.cl"});
constexpr auto bitslice_files =
    source_files({"aes_bitslice.cl"}, {"counters.cl", "bitslice_counters.cl"});

constexpr std::string_view reference_options[] = {"-DPARAES_KERNEL_REFERENCE"};
constexpr std::string_view reference_shared_options[] = {"-DPARAES_KERNEL_REFERENCE",
                                                         "-DPARAES_STATE_SHARED"};
constexpr std::string_view ttable_simple_options[] = {"-DPARAES_HASH_TABLES"};
constexpr std::string_view ttable_options[] = {"-DPARAES_HASH_TABLES", "-DPARAES_OWN_COUNTERS"};
constexpr std::string_view bitslice_options[] = {"-DPARAES_KEYS_SLICED", "-DPARAES_OWN_COUNTERS"};

constexpr KernelRow rows[] = {
    {.name = "ttable",
     .timing = Timing::leaky,
     .files = ttable_files,
     .options = ttable_options,
     .blocks_per_thread = 32,
     .batch = 2,
     .tables = true,
     .hash_tables = true,
     .tensor_hash = true},
    {.name = "bitslice",
     .timing = Timing::constant,
     .files = bitslice_files,
     .options = bitslice_options,
     .blocks_per_thread = 32,
     .batch = 32,
     .singles = 2,
     .sliced_keys = true,
     .tensor_hash = true},
    {.name = "ttable-simple",
     .timing = Timing::leaky,
     .files = ttable_simple_files,
     .options = ttable_simple_options,
     .hash_tables = true},
    {.name = "reference-shared",
     .timing = Timing::leaky,
     .files = reference_files,
     .options = reference_shared_options},
    {.name = "reference",
     .timing = Timing::leaky,
     .files = reference_files,
     .options = reference_options},
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
