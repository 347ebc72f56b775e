#include "src/gpu/programs/program_variant.hpp"

#include <algorithm>

#include "paraes/error.hpp"
#include "src/gpu/device/host_job.hpp"
#include "src/gpu/device/sizes.h"
#include "src/gpu/embedded.hpp"
#include "src/gpu/runtime/runtime.hpp"

namespace paraes::gpu {
namespace {

constexpr unsigned usual_group_threads = 256;  // of ghash; those of other entries are in the kernel
constexpr unsigned least_group_threads = 128;  // see sizes.h

// For errors. A chip for which a program is made without its GPU has no name.
std::string shown(const DeviceInfo& device) {
  return device.name.empty() ? device.id : device.id + " (" + device.name + ")";
}

// The largest power of two up to `usual` that the device allows.
unsigned group_threads_for(unsigned usual, const DeviceInfo& device) {
  unsigned threads = usual;
  while (device.max_threads != 0 && threads > device.max_threads) threads /= 2;
  if (threads >= std::min(usual, least_group_threads)) return threads;
  throw Unavailable("GPU kernels need " + std::to_string(least_group_threads) +
                    " threads in a group, and " + shown(device) + " allows " +
                    std::to_string(device.max_threads));
}

// sm_75 has other such products, and from sm_100 on compilers replace them by many instructions.
bool has_binary_products(std::string_view target) {
  constexpr std::string_view chips[] = {"sm_80", "sm_86", "sm_87", "sm_89", "sm_90"};
  return std::find(std::begin(chips), std::end(chips), target) != std::end(chips);
}

}  // namespace

void check_group_threads(unsigned threads) {
  if (threads % warp_threads == 0 && threads <= most_group_threads) return;
  throw InvalidArgument("a group has a multiple of " + std::to_string(warp_threads) +
                        " threads, up to " + std::to_string(most_group_threads) + ", not " +
                        std::to_string(threads));
}

ProgramVariant variant_for(const GpuKernel& kernel, const DeviceInfo& device,
                           const VariantOptions& options) {
  const unsigned group_threads = options.group_threads;
  check_group_threads(group_threads);
  if (device.max_threads != 0 && group_threads > device.max_threads) {
    throw Unavailable(shown(device) + " allows at most " + std::to_string(device.max_threads) +
                      " threads in a group, not " + std::to_string(group_threads));
  }
  ProgramVariant variant{.kernel = &kernel,
                         .group_threads = group_threads != 0
                                              ? group_threads
                                              : group_threads_for(kernel.group_threads, device),
                         .full_groups = group_threads != 0,
                         .hash_threads = group_threads_for(usual_group_threads, device)};
  const bool cuda = device.target.rfind("sm_", 0) == 0;
  variant.keys_in_memory = kernel.sliced_keys || !cuda;
  variant.compact = device.is_cpu || is_pocl(device);
  const auto fits = [&](std::uint32_t bytes) { return bytes <= device.shared_bytes; };
  if (kernel.tables) {
    // With two tables look-ups limit the speed, not arithmetic. Four would halve the groups that a
    // multiprocessor holds at once.
    variant.tables = 2;
    if (!fits(mode_shared_bytes(variant))) variant.tables = 1;
    if (options.tables != 0) variant.tables = options.tables;
  }
  // Otherwise the compiler takes a few registers too many for three groups to run at once.
  variant.groups_per_unit = kernel.tables && cuda ? 3 : 0;
  if (options.groups_per_unit != 0) variant.groups_per_unit = options.groups_per_unit;
  // Not yet measured on the older chips that could do it.
  variant.tensor_hash =
      options.tensor_hash.value_or(kernel.tensor_hash && device.target == "sm_90");
  if (variant.tensor_hash && !has_binary_products(device.target)) {
    throw Unavailable(shown(device) +
                      " has no binary matrix products, which are of CUDA, on chips of compute "
                      "capability 8.0 to 9.0");
  }
  if (kernel.hash_tables) {
    // Eight have no bank conflicts, and each half of them has twice as many.
    variant.hash_copies = 8;
    while (variant.hash_copies > 1 && !fits(hash_shared_bytes(variant))) variant.hash_copies /= 2;
  }
  const std::uint32_t needed = std::max(mode_shared_bytes(variant), hash_shared_bytes(variant));
  if (!fits(needed)) {
    throw Unavailable("the kernel " + std::string(kernel.name) + " needs " +
                      std::to_string(needed) + " bytes of shared memory, and " + shown(device) +
                      " has " + std::to_string(device.shared_bytes));
  }
  return variant;
}

ProgramVariant variant_that(const ProgramVariant& variant, const ProgramNeeds& needs) {
  ProgramVariant made = variant;
  if (needs.many_keys) made.keys_in_memory = true;
  if (needs.any_address) made.any_address = true;
  return made;
}

std::uint32_t mode_shared_bytes(const ProgramVariant& variant) {
  if (variant.tables != 0) return PARAES_TTABLE_SHARED_BYTES(variant.tables);
  if (variant.kernel->name == "ttable-simple") return PARAES_TTABLE_SIMPLE_SHARED_BYTES;
  if (variant.kernel->name == "reference-shared") {
    return PARAES_REFERENCE_SHARED_SHARED_BYTES(variant.group_threads);
  }
  if (variant.kernel->sliced_keys) return PARAES_BITSLICE_SHARED_BYTES(variant.group_threads);
  return 0;
}

std::uint32_t hash_shared_bytes(const ProgramVariant& variant) {
  return variant.hash_copies != 0
             ? PARAES_HASH_TABLES_SHARED_BYTES(variant.hash_threads, variant.hash_copies)
             : PARAES_HASH_SUMS_SHARED_BYTES(variant.hash_threads);
}

std::uint32_t hash_key_shared_bytes(const ProgramVariant& variant) {
  return PARAES_HASH_SHARED_BYTES(variant.hash_threads);
}

std::uint32_t hash_groups(const ProgramVariant& variant) {
  return variant.hash_copies != 0 ? PARAES_HASH_GROUPS : PARAES_HASH_GROUPS_OF_SUMS;
}

std::size_t sliced_key_bytes(const ProgramVariant& variant) {
  return variant.kernel->sliced_keys ? PARAES_SLICED_KEY_WORDS * sizeof(paraes_u32) : 0;
}

std::size_t hash_key_bytes(const ProgramVariant& variant) {
  return PARAES_HASH_KEY_WORDS(variant.hash_threads) * sizeof(paraes_u32);
}

std::string source_of(const GpuKernel& kernel) {
  constexpr std::string_view before[] = {"dialect.h", "job.h",   "sizes.h",
                                         "entry.h",   "texts.h", "sbox.h"};
  constexpr std::string_view after[] = {"xts.cl",         "modes.cl",        "gf128.cl",
                                        "ghash_input.cl", "ghash_tensor.cl", "ghash_sums.cl",
                                        "ghash.cl",       "gcm_finish.cl",   "keys.cl"};
  std::vector<std::string_view> files(std::begin(before), std::end(before));
  files.insert(files.end(), kernel.aes_files.begin(), kernel.aes_files.end());
  files.insert(files.end(), kernel.counter_files.begin(), kernel.counter_files.end());
  files.insert(files.end(), std::begin(after), std::end(after));
  std::erase(files, "");
  std::string source;
  for (const std::string_view file : files) {
    const EmbeddedFile* const end = embedded_files + embedded_file_count;
    const EmbeddedFile* const found =
        std::find_if(embedded_files, end, [&](const EmbeddedFile& e) { return e.name == file; });
    if (found == end) throw Error("the library was built without " + std::string(file));
    // Makes compiler messages name the file.
    source.append("#line 1 \"").append(file).append("\"\n").append(found->text).append("\n");
  }
  return source;
}

std::vector<std::string> options_of(const ProgramVariant& variant) {
  std::vector<std::string> options(variant.kernel->options.begin(), variant.kernel->options.end());
  std::erase(options, "");
  const auto define = [&](const char* name, unsigned value) {
    options.push_back(std::string("-DPARAES_") + name + "=" + std::to_string(value));
  };
  define("BLOCKS_PER_THREAD", variant.kernel->blocks_per_thread);
  define("BATCH", variant.kernel->batch);
  define("SINGLES", variant.kernel->singles);
  define("GROUP_THREADS", variant.group_threads);
  define("HASH_THREADS", variant.hash_threads);
  if (variant.tables != 0) define("TABLES", variant.tables);
  if (variant.hash_copies != 0) define("HASH_COPIES", variant.hash_copies);
  if (variant.groups_per_unit != 0) define("GROUPS_PER_UNIT", variant.groups_per_unit);
  if (variant.tensor_hash) define("HASH_TENSOR", 1);
  if (variant.compact) define("COMPACT", 1);
  if (variant.keys_in_memory) define("KEYS_IN_MEMORY", 1);
  if (variant.any_address) define("ANY_ADDRESS", 1);
  return options;
}

}  // namespace paraes::gpu
