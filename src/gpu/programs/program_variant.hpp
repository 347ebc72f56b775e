// One build of a kernel's program for a device: its source, its flags, and the memory that its
// entries need.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "paraes/devices.hpp"
#include "src/gpu/programs/gpu_kernels.hpp"
#include "src/gpu/tiling.hpp"

namespace paraes::gpu {

struct ProgramVariant {
  const GpuKernel* kernel;
  unsigned group_threads = 0;  // threads per group of all entries but those of GHASH
  // The caller has chosen that number: no launch of these entries has smaller groups.
  bool full_groups = false;
  // Threads per group of ghash, ghash_prepare, ghash_join and gcm_finish.
  unsigned hash_threads = 0;
  unsigned tables = 0;  // round tables in shared memory: 1, 2 or 4; 0: GpuKernel::tables is false
  unsigned hash_copies = 0;      // copies of the GHASH tables there; 0: there are no such tables
  unsigned groups_per_unit = 0;  // groups that must fit into a multiprocessor; 0: the usual number
  bool tensor_hash = false;      // GHASH of many messages by binary matrix products
  bool compact = false;          // for OpenCL on CPUs: less code, which compiles faster
  // Entries read round keys from device memory. Otherwise all messages of a launch have one key,
  // an argument by value.
  bool keys_in_memory = false;
  // Texts may begin at any byte, otherwise at multiples of 16.
  bool any_address = false;
};

// Choices of the caller; 0 and no value leave them open.
struct VariantOptions {
  unsigned group_threads = 0;    // in all launches of the entries but those of GHASH
  unsigned tables = 0;           // if the kernel has tables
  unsigned groups_per_unit = 0;  // CUDA and HIP
  std::optional<bool> tensor_hash = std::nullopt;  // see GpuTuning

  // clang-tidy takes its comparison with 0 for a pointer.
  auto operator<=>(const VariantOptions&) const = default;  // NOLINT(modernize-use-nullptr)
};

// The largest groups that CUDA and HIP have.
inline constexpr unsigned most_group_threads = 1024;

// Throws InvalidArgument unless programs can be compiled for groups of `threads` threads: a
// multiple of warp_threads up to most_group_threads. 0 stands for the kernel's own number.
void check_group_threads(unsigned threads);

// The variant of `kernel` for a device, for launches with one key. What `options` leave open:
// groups are as large as the device allows, up to the kernel's number, and there are as many tables
// as suit its shared memory. Only CUDA keeps arguments in constant memory; elsewhere, keys are
// always in device memory. Throws InvalidArgument as check_group_threads(), and Unavailable if the
// device allows too small groups, if the shared memory is too small for the groups or the tables,
// or if the device has no binary matrix products.
[[nodiscard]] ProgramVariant variant_for(const GpuKernel& kernel, const DeviceInfo& device,
                                         const VariantOptions& options = {});

// Needs of launches for which a kernel has programs besides the usual one.
struct ProgramNeeds {
  bool many_keys = false;    // messages have different keys
  bool any_address = false;  // a text does not begin at a multiple of 16 bytes

  // clang-tidy takes its comparison with 0 for a pointer.
  auto operator<=>(const ProgramNeeds&) const = default;  // NOLINT(modernize-use-nullptr)
};

// The variant that has what is needed. It is `variant` itself if that has it anyway, as those with
// keys in device memory have for many keys.
[[nodiscard]] ProgramVariant variant_that(const ProgramVariant& variant, const ProgramNeeds& needs);
[[nodiscard]] inline ProgramVariant for_many_keys(const ProgramVariant& variant) {
  return variant_that(variant, {.many_keys = true});
}

// Dynamic shared memory per group, in bytes: for entries that work on tiles, for ghash, and for
// ghash_prepare. That of ghash_tensor is in sizes.h.
[[nodiscard]] std::uint32_t mode_shared_bytes(const ProgramVariant& variant);
[[nodiscard]] std::uint32_t hash_shared_bytes(const ProgramVariant& variant);
[[nodiscard]] std::uint32_t hash_key_shared_bytes(const ProgramVariant& variant);

// How many groups of ghash fit into a multiprocessor.
[[nodiscard]] std::uint32_t hash_groups(const ProgramVariant& variant);

// Device memory of one key, in bytes: for a sliced key (0 if the kernel does not slice keys), and
// for the hash key that ghash_prepare computes.
[[nodiscard]] std::size_t sliced_key_bytes(const ProgramVariant& variant);
[[nodiscard]] std::size_t hash_key_bytes(const ProgramVariant& variant);

// The files that all programs share, and between them those of the kernel.
[[nodiscard]] std::string source_of(const GpuKernel& kernel);
[[nodiscard]] std::vector<std::string> options_of(const ProgramVariant& variant);

}  // namespace paraes::gpu
