// How fast each device and kernel of this machine encrypts, by size: what a profile is made of.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "bench/harness/case.hpp"
#include "paraes/devices.hpp"

namespace paraes::bench {

struct TuneOptions {
  double seconds = 20;               // to spend, about
  std::string program;               // paraes itself
  std::vector<std::string> devices;  // "cpu", "cuda:0"
};

struct Rate {
  std::string device;
  std::string kernel;
  std::uint64_t bytes = 0;  // of the message
  double bytes_per_second = 0;
};

// A run of the program on a tiny file, from start to exit.
struct Start {
  std::string device;
  double seconds = 0;
};

struct Tuned {
  std::vector<Rate> rates;  // by device and kernel, sizes ascending
  std::vector<Start> starts;
  std::vector<Skipped> skipped;
};

// AES-256 in segments from memory to memory, with all cores or through the GPU and back; every
// kernel of a device, interleaved, as many sizes as the time allows. Throws Error if a kernel
// computes something wrong.
[[nodiscard]] Tuned tune(const TuneOptions& options,
                         const std::function<void(const std::string& what)>& progress);

}  // namespace paraes::bench
