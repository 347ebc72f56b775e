// Prints the program of a GPU kernel for compilers that paraes does not open itself: the flags, one
// a line, then an empty line, then the source.
//
//   paraes_gpu_source KERNEL TARGET [SHARED-BYTES]
//
// TARGET is sm_90, gfx90a, or any text for OpenCL; a group has 64 KiB of shared memory by default.

#include <cstdio>
#include <exception>
#include <string>

#include "src/gpu/programs/program_variant.hpp"

int main(int count, char** arguments) {
  try {
    if (count != 3 && count != 4) {
      std::fputs("usage: paraes_gpu_source KERNEL TARGET [SHARED-BYTES]\n", stderr);
      return 2;
    }
    const paraes::gpu::GpuKernel& kernel = paraes::gpu::find_gpu_kernel(arguments[1]);
    paraes::DeviceInfo device;
    device.id = device.target = arguments[2];
    device.shared_bytes = count == 4 ? std::stoull(arguments[3]) : std::uint64_t{64} << 10;
    // Callers add the flag for tensor cores where they want them.
    for (const std::string& option :
         options_of(variant_for(kernel, device, {.tensor_hash = false}))) {
      std::printf("%s\n", option.c_str());
    }
    std::printf("\n%s", source_of(kernel).c_str());
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
