// Programs for the stand-ins of drivers.
#pragma once

#include <string>

#include "src/gpu/programs/program_files.hpp"
#include "src/gpu/programs/program_variant.hpp"
#include "tests/gpu/fake_driver.hpp"
#include "tests/support/environment.hpp"
#include "tests/support/temporary_folder.hpp"

namespace paraes::gpu {

inline constexpr const char* kernels[] = {"bitslice",
                                          "reference"};  // with sliced keys, and without

// Programs that the stand-in accepts, for all kernels, in a folder of PARAES_PROGRAM_PATH.
class Programs {
 public:
  explicit Programs(const Vendor& vendor) {
    const std::string text = "fake program";
    const DeviceInfo info = vendor.open()->devices().at(0);
    for (const char* kernel : kernels) {
      const ProgramVariant one = variant_for(find_gpu_kernel(kernel), info);
      for (const ProgramVariant& variant :
           {one, for_many_keys(one), variant_that(one, {.any_address = true})}) {
        write_program_file(folder_.path(), prepared_name(variant, info.target),
                           pack(Binary(text.begin(), text.end())));
      }
    }
  }

 private:
  support::TemporaryFolder folder_;
  support::ScopedEnvironment path_{"PARAES_PROGRAM_PATH", folder_.path()};
};

}  // namespace paraes::gpu
