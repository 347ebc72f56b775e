// The phases of a row: where its time goes, in the words of the JSON schema.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

namespace paraes::bench {

template <class T>
struct Phases {
  T read;
  T key_expansion;
  T host_to_device;
  T kernel;
  T device_to_host;
  T write;
  T scatter;
  T gather;
};

// Busy nanoseconds; what was not measured is empty.
using Timeline = Phases<std::optional<double>>;
using TimelineSamples = Phases<std::vector<double>>;

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
