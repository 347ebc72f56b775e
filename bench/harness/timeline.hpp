// The phases of a row: where its time goes, in the words of the JSON schema.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

namespace paraes::bench {

// Busy nanoseconds; what was not measured is empty.
struct Timeline {
  std::optional<double> read;
  std::optional<double> key_expansion;
  std::optional<double> host_to_device;
  std::optional<double> kernel;
  std::optional<double> device_to_host;
  std::optional<double> write;
  std::optional<double> scatter;
  std::optional<double> gather;
};

// Samples of them.
struct TimelineSamples {
  std::vector<double> read;
  std::vector<double> key_expansion;
  std::vector<double> host_to_device;
  std::vector<double> kernel;
  std::vector<double> device_to_host;
  std::vector<double> write;
  std::vector<double> scatter;
  std::vector<double> gather;
};

struct Phase {
  std::string_view name;
  std::optional<double> Timeline::*busy_ns;
  std::vector<double> TimelineSamples::*samples_ns;
};

inline constexpr Phase timeline_phases[] = {
    {"read", &Timeline::read, &TimelineSamples::read},
    {"key_expansion", &Timeline::key_expansion, &TimelineSamples::key_expansion},
    {"host_to_device", &Timeline::host_to_device, &TimelineSamples::host_to_device},
    {"kernel", &Timeline::kernel, &TimelineSamples::kernel},
    {"device_to_host", &Timeline::device_to_host, &TimelineSamples::device_to_host},
    {"write", &Timeline::write, &TimelineSamples::write},
    {"scatter", &Timeline::scatter, &TimelineSamples::scatter},
    {"gather", &Timeline::gather, &TimelineSamples::gather},
};

}  // namespace paraes::bench
