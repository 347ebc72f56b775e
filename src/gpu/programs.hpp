// The GPU programs: one for each GPU kernel, from the embedded sources of src/gpu/device, compiled
// once for each device and kept.
//
// Where a program comes from, in this order:
//   1. the folders of PARAES_PROGRAM_PATH (separated by colons), which `paraes devices --compile`
//   fills;
//   2. the cache, $XDG_CACHE_HOME/paraes or ~/.cache/paraes, or nowhere if neither can be written;
//   3. the compiler of the runtime, whose result goes into the cache.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "paraes/kernels.hpp"
#include "src/gpu/runtime/runtime.hpp"

namespace paraes::gpu {

// A GPU kernel: one row a program.
struct KernelRow {
  std::string_view name;  // as in --kernel
  Timing timing;
  std::span<const std::string_view> files;    // of src/gpu/device, in their order
  std::span<const std::string_view> options;  // its own flags
  unsigned blocks_per_thread;
  unsigned group_threads;
  bool sliced_keys;  // keys go through the entry slice_keys
  bool tables;       // it looks tables up, of which a group may hold 1, 2 or 4
  bool hash_tables;  // so does its GHASH
};

// Every GPU kernel, fastest first.
[[nodiscard]] std::span<const KernelRow> kernel_rows();
[[nodiscard]] const KernelRow& fastest_kernel_row();
[[nodiscard]] const KernelRow& fastest_constant_kernel_row();

// Throws InvalidArgument if no GPU kernel has this name.
[[nodiscard]] const KernelRow& find_kernel_row(std::string_view name);

// What is built of a row for one device.
struct Variant {
  const KernelRow* row;
  unsigned tables = 0;  // 1, 2 or 4 tables in the shared memory of a group; 0: the row has none
  unsigned hash_copies = 0;  // copies of GHASH's tables there; 0: it has none
  bool compact = false;      // for OpenCL devices that are CPUs: less code, soon compiled
  bool many_keys = false;    // each message of a launch has a key of its own
};

// The variant of `row` for a device: as many tables as suit its shared memory. Throws
// Unavailable if it holds not even the fewest.
[[nodiscard]] Variant variant_for(const KernelRow& row, const DeviceInfo& device);

// The variant of `variant` for launches whose messages have keys of their own: `variant` itself
// where its row takes every key from device memory anyway.
[[nodiscard]] Variant for_many_keys(const Variant& variant);

// Dynamic shared memory of a group, in bytes.
[[nodiscard]] std::uint32_t mode_shared_bytes(const Variant& variant);
[[nodiscard]] std::uint32_t hash_shared_bytes(const Variant& variant);
[[nodiscard]] std::uint32_t hash_key_shared_bytes(const Variant& variant);  // of ghash_prepare

// Threads of a group of ghash and ghash_prepare.
inline constexpr unsigned hash_threads = 256;

// Device memory of one key, in bytes.
[[nodiscard]] std::size_t key_bytes(const Variant& variant);       // sliced, or 16
[[nodiscard]] std::size_t hash_key_bytes(const Variant& variant);  // what ghash_prepare makes

[[nodiscard]] std::string source_of(const KernelRow& row);
[[nodiscard]] std::vector<std::string> options_of(const Variant& variant);

// The name under which `variant` for `target` is kept in a folder of PARAES_PROGRAM_PATH: it has a
// digest of source and options, so that programs of another version are not found.
[[nodiscard]] std::string prepared_name(const Variant& variant, std::string_view target);

// The bytes of a file of a program, and back. `unpack` throws IntegrityError if they are damaged.
[[nodiscard]] std::vector<std::uint8_t> pack(const Binary& binary);
[[nodiscard]] Binary unpack(std::span<const std::uint8_t> file);

// See prepare_programs of paraes/devices.hpp.
std::vector<std::string> prepare(const KernelRow& row, std::string_view target,
                                 const std::string& folder);

struct LoadedProgram {
  std::unique_ptr<Program> program;
  std::string origin;  // "compiled", "cached" or the path of a prepared file, for -v
};

// Throws Unavailable if the program is nowhere and nothing compiles it.
[[nodiscard]] LoadedProgram load_program(Device& device, const Variant& variant);

}  // namespace paraes::gpu
