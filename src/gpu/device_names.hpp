// Parses the names of GPUs in Execution::device.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace paraes::gpu {

// GPUs of one runtime that work together, perhaps with the CPU.
struct DeviceNames {
  std::string runtime;            // "cuda", "hip" or "opencl"
  std::vector<unsigned> indices;  // at least one, all different
  bool with_cpu = false;

  // "cuda:0+1", "cpu+cuda:0"; equal for equal values.
  [[nodiscard]] std::string text() const;
};

// The GPUs of "cuda" (its first), "hip:1", "opencl:0+1" or "cpu+cuda:0"; none for the CPU alone:
// "", "auto", "cpu". Throws InvalidArgument for anything else.
[[nodiscard]] std::optional<DeviceNames> parse_device(std::string_view device);

// Whether `device` names GPUs, not the CPU alone. Throws as parse_device does.
[[nodiscard]] inline bool names_gpu(std::string_view device) {
  return parse_device(device).has_value();
}

}  // namespace paraes::gpu
