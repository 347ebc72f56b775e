// The mappings of this process.
#pragma once

#include <cstdint>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

namespace paraes::support {

// The flags of each mapping in which some of the bytes lie, as " rd wr lo ", in the order of
// /proc/self/smaps. None if the system does not list them.
inline std::vector<std::string> mapping_flags(const void* data, std::size_t bytes = 1) {
  const auto first = reinterpret_cast<std::uintptr_t>(data);
  const std::string label = "VmFlags:";
  std::vector<std::string> flags;
  std::ifstream maps("/proc/self/smaps");
  bool inside = false;
  for (std::string line; std::getline(maps, line);) {
    std::uintptr_t begin = 0;
    std::uintptr_t end = 0;
    char dash = 0;
    std::istringstream words(line);
    if (words >> std::hex >> begin >> dash >> end && dash == '-') {
      inside = first < end && first + bytes > begin;
    } else if (inside && line.starts_with(label)) {
      flags.push_back(line.substr(label.size()) + " ");
    }
  }
  return flags;
}

}  // namespace paraes::support
