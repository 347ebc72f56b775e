// Files of compiled programs: their names and format, and the folders that hold them.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "paraes/io.hpp"
#include "src/gpu/programs/program_variant.hpp"
#include "src/gpu/runtime/runtime.hpp"

namespace paraes::gpu {

// The name of a program's file in a folder of PARAES_PROGRAM_PATH, and in the cache. Both contain a
// digest of source and options, so that programs of other versions are not found. The digest in the
// cache also covers device and driver. It does not cover the compiler: a newer one does not make a
// program invalid, and to ask for its version it would have to be opened in every run.
[[nodiscard]] std::string prepared_name(const ProgramVariant& variant, std::string_view target);
[[nodiscard]] std::string cached_name(const ProgramVariant& variant, const DeviceInfo& device);

// Converts a program to the bytes of a file, which include a digest, and back. `unpack` throws
// IntegrityError if they are damaged.
[[nodiscard]] std::vector<std::uint8_t> pack(const Binary& binary);
[[nodiscard]] Binary unpack(std::span<const std::uint8_t> file);

// The folders of PARAES_PROGRAM_PATH, which colons separate.
[[nodiscard]] std::vector<std::string> prepared_folders();

struct Cache {
  std::string folder;  // $XDG_CACHE_HOME/paraes or ~/.cache/paraes, created if necessary, or empty
  std::string reason;  // why there is none
};

// Has no folder if others can write to it: their machine code would run with this user's keys.
[[nodiscard]] Cache program_cache();

// The whole file; empty if it cannot be read.
[[nodiscard]] std::vector<std::uint8_t> read_program_file(const std::string& path);

// Replaces a file of that name. Throws IoError; then the folder has the old file or none, and no
// process reads a partial one. `options.overwrite` is ignored.
void write_program_file(const std::string& folder, const std::string& name,
                        std::span<const std::uint8_t> bytes, FileSink::Options options = {});

// The runtime in the device's id: "cuda" for "cuda:0".
[[nodiscard]] std::string runtime_of(const DeviceInfo& device);

}  // namespace paraes::gpu
