// Measures how fast each device and kernel of this machine encrypts messages of several sizes, for
// the profile of `paraes tune`.
#pragma once

#include <compare>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace paraes::bench {

struct TuneOptions {
  double seconds = 20;               // approximate time to spend, without that of the starts
  std::string program;               // path of paraes itself
  std::vector<std::string> devices;  // "cpu", "cuda:0"
  std::vector<std::uint64_t> sizes = {std::uint64_t{64} << 10, std::uint64_t{1} << 20,
                                      std::uint64_t{16} << 20, std::uint64_t{256} << 20};
  // The smallest messages that measure other tunings of GPUs: smaller ones take one launch anyway.
  std::uint64_t least_tuned_bytes = std::uint64_t{16} << 20;
};

// A number, and the interval that contains its true median with a probability of at least 95 %.
struct Measured {
  double median = 0;
  double low = 0;
  double high = 0;
};

// A kernel of a device.
struct TunedKernel {
  std::string device;
  std::string kernel;
  std::string gpu_tuning = {};  // see parse_tuning(); empty: paraes's own choice

  // clang-tidy takes its comparison with 0 for a pointer.
  auto operator<=>(const TunedKernel&) const = default;  // NOLINT(modernize-use-nullptr)
};

struct Rate {
  TunedKernel name;
  std::uint64_t bytes = 0;  // of plaintext
  Measured bytes_per_second;
};

// The time of one execution of the program on a file of 16 bytes, from start to exit.
struct Start {
  std::string device;
  Measured seconds;
};

// A kernel that was not measured at a size, or at all (0 bytes).
struct Unmeasured {
  TunedKernel name;
  std::uint64_t bytes = 0;
  std::string reason;
};

struct Tuned {
  std::vector<Rate> rates;  // by name, sizes ascending
  std::vector<Start> starts;
  std::vector<Unmeasured> unmeasured;
  int signal = 0;  // that ended it, and then the rest is not complete; 0: none
};

// Measures AES-256 in segments from memory to memory, on all cores or through a GPU and back, with
// every kernel that is available, at as many sizes as the time allows; on GPUs also the fast
// kernels with other tunings, for large messages. The samples of one size are interleaved. Throws
// Error if a result is wrong.
[[nodiscard]] Tuned tune(const TuneOptions& options,
                         const std::function<void(const std::string& what)>& progress);

}  // namespace paraes::bench
