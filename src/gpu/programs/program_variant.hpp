// How the program of a kernel is built for one device: its source, its flags, and the memory that
// its entries need.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "paraes/devices.hpp"
#include "src/gpu/programs/kernel_rows.hpp"

namespace paraes::gpu {

struct ProgramVariant {
  const KernelRow* row;
  unsigned tables = 0;  // 1, 2 or 4 tables in the shared memory of a group; 0: the row has none
  unsigned hash_copies = 0;  // copies of GHASH's tables there; 0: it has none
  bool compact = false;      // for OpenCL devices that are CPUs: less code, soon compiled
  bool many_keys = false;    // each message of a launch has a key of its own
};

// The variant of `row` for a device: as many tables as suit its shared memory. Throws
// Unavailable if it holds not even the fewest.
[[nodiscard]] ProgramVariant variant_for(const KernelRow& row, const DeviceInfo& device);

// The variant for launches whose messages have keys of their own: `variant` itself where its row
// takes every key from device memory anyway.
[[nodiscard]] ProgramVariant for_many_keys(const ProgramVariant& variant);

// Dynamic shared memory of a group, in bytes: of entries that work on tiles, of ghash, and of
// ghash_prepare.
[[nodiscard]] std::uint32_t mode_shared_bytes(const ProgramVariant& variant);
[[nodiscard]] std::uint32_t hash_shared_bytes(const ProgramVariant& variant);
[[nodiscard]] std::uint32_t hash_key_shared_bytes(const ProgramVariant& variant);

// Threads of a group of ghash and ghash_prepare.
inline constexpr unsigned hash_threads = 256;

// Device memory of one key, in bytes: a sliced key (16 where keys are not sliced), and what
// ghash_prepare makes.
[[nodiscard]] std::size_t key_bytes(const ProgramVariant& variant);
[[nodiscard]] std::size_t hash_key_bytes(const ProgramVariant& variant);

[[nodiscard]] std::string source_of(const KernelRow& row);
[[nodiscard]] std::vector<std::string> options_of(const ProgramVariant& variant);

}  // namespace paraes::gpu
