#include "src/gpu/device_names.hpp"

#include <algorithm>
#include <charconv>
#include <system_error>

#include "paraes/devices.hpp"
#include "paraes/error.hpp"

namespace paraes::gpu {
namespace {

[[noreturn]] void refuse(std::string_view device, std::string_view why) {
  std::string text = "device '";
  text.append(device).append("'").append(why);
  throw InvalidArgument(text);
}

std::vector<unsigned> parse_indices(std::string_view device, std::string_view rest) {
  std::vector<unsigned> indices;
  for (;;) {
    unsigned index = 0;
    const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), index);
    const auto length = static_cast<std::size_t>(end - rest.data());
    if (error == std::errc::result_out_of_range) {
      refuse(device, ": the number " + std::string(rest.substr(0, length)) + " is too large");
    }
    if (error != std::errc() || (length != rest.size() && rest[length] != '+')) {
      refuse(device, ": the colon must be followed by numbers joined by '+', as in cuda:0+1");
    }
    // Each device has one name only: profiles and reports compare names.
    if (length > 1 && rest[0] == '0') {
      refuse(device,
             ": the number " + std::string(rest.substr(0, length)) + " must not begin with 0");
    }
    if (std::find(indices.begin(), indices.end(), index) != indices.end()) {
      refuse(device, " names a device twice");
    }
    indices.push_back(index);
    if (length == rest.size()) return indices;
    rest.remove_prefix(length + 1);
  }
}

}  // namespace

std::string DeviceNames::text() const {
  std::string text = with_cpu ? "cpu+" + runtime : runtime;
  char separator = ':';
  for (const unsigned index : indices) {
    text.append(1, separator).append(std::to_string(index));
    separator = '+';
  }
  return text;
}

std::optional<DeviceNames> parse_device(std::string_view device) {
  if (device.empty() || device == "auto" || device == "cpu") return std::nullopt;
  DeviceNames names;
  constexpr std::string_view pair = "cpu+";
  names.with_cpu = device.substr(0, pair.size()) == pair;
  const std::string_view gpus = names.with_cpu ? device.substr(pair.size()) : device;
  const std::size_t colon = gpus.find(':');
  names.runtime = gpus.substr(0, colon);
  if (std::find(gpu_runtimes.begin(), gpu_runtimes.end(), names.runtime) == gpu_runtimes.end()) {
    throw InvalidArgument("there is no device '" + std::string(device) +
                          "': use auto, cpu, cuda, hip or opencl, the last three with :N or :N+M, "
                          "and with cpu+ before them for both together");
  }
  if (colon == std::string_view::npos) {
    names.indices = {0};
  } else {
    names.indices = parse_indices(device, gpus.substr(colon + 1));
  }
  return names;
}

}  // namespace paraes::gpu
