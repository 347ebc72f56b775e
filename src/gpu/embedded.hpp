// The sources in src/gpu/device, which the build embeds in the library (cmake/embed.cmake).
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
