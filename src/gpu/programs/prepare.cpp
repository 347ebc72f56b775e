// Compiles programs into a folder of PARAES_PROGRAM_PATH. No GPU is needed.

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <memory>
#include <system_error>
#include <utility>

#include "paraes/devices.hpp"
#include "paraes/error.hpp"
#include "paraes/io.hpp"
#include "src/gpu/context.hpp"
#include "src/gpu/programs/gpu_kernels.hpp"
#include "src/gpu/programs/program_files.hpp"
#include "src/gpu/programs/program_variant.hpp"
#include "src/gpu/runtime/runtime.hpp"

namespace paraes {
namespace {

// The shared memory per group that a GPU of this target reports.
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
  // All GPUs of AMD have 64 KiB. Chips that are newer than the table above have at least as much.
  return std::uint64_t{64} << 10;
}

std::unique_ptr<gpu::Compiler> open_compiler(std::string_view target) {
  if (target.substr(0, 3) == "sm_") return gpu::open_nvrtc();
  if (target.substr(0, 3) == "gfx") return gpu::open_hiprtc();
  throw InvalidArgument("there is no target '" + std::string(target) +
                        "': use sm_NN for an NVIDIA GPU or gfxNNN for an AMD GPU");
}

// Makes the folder if there is none. Returns whether it has made it.
bool make_folder(const std::string& folder) {
  if (mkdir(folder.c_str(), 0777) == 0) {
    Folder(folder_of(folder)).sync();
    return true;
  }
  if (errno != EEXIST) {
    const int code = errno;
    throw IoError(std::string(folder)
                      .append(": cannot make it: ")
                      .append(std::generic_category().message(code)),
                  code);
  }
  return false;
}

}  // namespace

void require_program_target(std::string_view target) {
  static_cast<void>(open_compiler(target)->compile(gpu::trivial_program, {}, std::string(target)));
}

std::vector<std::string> prepare_programs(std::string_view kernel, std::string_view target,
                                          const std::string& folder,
                                          const ProgramFileOptions& options) {
  const gpu::GpuKernel& found = gpu::find_gpu_kernel(kernel);
  DeviceInfo device;
  device.id = target;
  device.target = target;
  device.shared_bytes = shared_bytes_of(target);
  gpu::PoolOptions pool;
  gpu::apply(options.tuning, pool);
  const gpu::ProgramVariant variant = gpu::variant_for(found, device, pool.variant);
  const std::unique_ptr<gpu::Compiler> compiler = open_compiler(target);
  std::vector<gpu::ProgramVariant> variants;
  for (const bool any_address : {false, true}) {
    for (const bool many_keys : {false, true}) {
      if ((any_address && !options.any_address) || (many_keys && variant.keys_in_memory)) continue;
      variants.push_back(
          gpu::variant_that(variant, {.many_keys = many_keys, .any_address = any_address}));
    }
  }
  std::vector<std::string> paths;
  // Before the compiler takes its time. If it fails, no empty folder stays.
  const bool made = make_folder(folder);
  try {
    for (const gpu::ProgramVariant& built : variants) {
      const gpu::Binary binary =
          compiler->compile(gpu::source_of(found), gpu::options_of(built), std::string(target));
      const std::string name = gpu::prepared_name(built, target);
      FileSink::Options sink;
      sink.mode = options.mode;
      sink.on_temporary = options.on_temporary;
      gpu::write_program_file(folder, name, gpu::pack(binary), std::move(sink));
      paths.push_back(std::string(folder).append("/").append(name));
    }
  } catch (...) {
    if (made) static_cast<void>(rmdir(folder.c_str()));
    throw;
  }
  return paths;
}

}  // namespace paraes
