#include "src/gpu/programs/prepare.hpp"

#include <cerrno>
#include <cstdint>
#include <memory>
#include <system_error>

#include "paraes/error.hpp"
#include "src/gpu/programs/program_files.hpp"
#include "src/gpu/programs/program_variant.hpp"
#include "src/gpu/runtime/runtime.hpp"

namespace paraes::gpu {
namespace {

// Shared memory of a group on the chips that programs can be prepared for: what a GPU of this
// target says of itself.
std::uint64_t shared_bytes_of(std::string_view target) {
  struct Chip {
    std::string_view target;
    std::uint64_t kib;
  };
  // CUDA C++ Programming Guide, "Technical Specifications per Compute Capability".
  constexpr Chip chips[] = {{"sm_70", 96},   {"sm_72", 96},   {"sm_75", 64},  {"sm_80", 163},
                            {"sm_86", 99},   {"sm_87", 163},  {"sm_89", 99},  {"sm_90", 227},
                            {"sm_100", 227}, {"sm_103", 227}, {"sm_120", 99}, {"sm_121", 99}};
  for (const Chip& chip : chips) {
    if (chip.target == target) return chip.kib << 10;
  }
  // All of AMD's have as much; of a chip that is newer than this list at least that can be said.
  return std::uint64_t{64} << 10;
}

}  // namespace

std::vector<std::string> prepare(const KernelRow& row, std::string_view target,
                                 const std::string& folder) {
  DeviceInfo device;
  device.id = target;
  device.target = target;
  device.shared_bytes = shared_bytes_of(target);
  const ProgramVariant variant = variant_for(row, device);
  const bool cuda = target.substr(0, 3) == "sm_";
  if (!cuda && target.substr(0, 3) != "gfx") {
    throw InvalidArgument("there is no target '" + std::string(target) +
                          "': it is sm_NN for NVIDIA's GPUs and gfxNNN for AMD's");
  }
  const std::unique_ptr<Compiler> compiler = cuda ? open_nvrtc() : open_hiprtc();
  std::vector<ProgramVariant> variants = {variant};
  if (const ProgramVariant many = for_many_keys(variant); many.many_keys) variants.push_back(many);
  std::vector<std::string> paths;
  for (const ProgramVariant& each : variants) {
    const Binary binary = compiler->compile(source_of(row), options_of(each), std::string(target));
    const std::string name = prepared_name(each, target);
    paths.push_back(path_in(folder, name));
    if (!write_program_file(folder, name, pack(binary))) {
      const int code = errno;
      std::string what = "cannot write ";
      what.append(paths.back()).append(": ").append(std::generic_category().message(code));
      throw IoError(what, code);
    }
  }
  return paths;
}

}  // namespace paraes::gpu
