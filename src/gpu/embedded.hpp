// The sources of src/gpu/device, which the build puts into the library (cmake/embed.cmake).
#pragma once

#include <string_view>

namespace paraes::gpu {

struct EmbeddedFile {
  std::string_view name;
  std::string_view text;
};

extern const EmbeddedFile embedded_files[];
extern const unsigned embedded_file_count;

}  // namespace paraes::gpu
