// The profile that `paraes tune` measures, and how `auto` uses it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "bench/suites/tune.hpp"
#include "cli/plan/plan.hpp"
#include "paraes/error.hpp"

namespace paraes::cli {

// The measurements of `tune`.
struct Profile {
  struct Device {
    std::string id;
    std::string name;
    std::string driver;
    bench::Measured start_seconds = {};  // of paraes with a tiny file, from start to exit
  };

  std::string version;  // of paraes
  std::string time;     // when it was measured
  std::string cpu;
  std::vector<std::string> features;
  int cores = 0;
  std::vector<Device> devices;
  std::vector<bench::Rate> rates;
};

// A profile with the current version, CPU and time, but without devices and rates.
[[nodiscard]] Profile new_profile();

// The file that PARAES_PROFILE names, else paraes/profile.json in $XDG_STATE_HOME or
// ~/.local/state. Empty if PARAES_PROFILE is "none", or if neither XDG_STATE_HOME nor HOME is an
// absolute path.
[[nodiscard]] std::string profile_path();

[[nodiscard]] std::string to_json(const Profile& profile);

// A profile of another version of this program.
class OtherSchema : public InvalidArgument {
 public:
  using InvalidArgument::InvalidArgument;
};

// Throws InvalidArgument for text that is not a profile.
[[nodiscard]] Profile parse_profile(const std::string& text);

// Returns nullopt if there is no such file. Throws InvalidArgument and IoError.
[[nodiscard]] std::optional<Profile> read_profile(const std::string& path);

// Why the profile is not valid for this CPU and version; empty if it is.
[[nodiscard]] std::string why_stale(const Profile& profile);

// A kernel and its tuning, in words.
[[nodiscard]] std::string with_tuning(const std::string& kernel, const std::string& gpu_tuning);

// The kernel for messages of `bytes` bytes on a device. The order of the table of kernels decides
// unless a later kernel is faster: its interval lies wholly above that of the earlier one. Only
// constant-time kernels, unless `allow_leaky` permits all of them on GPUs. A tuning of a kernel
// counts as a kernel that comes after it, for messages of the sizes at which it was measured.
// Returns nullopt if no kernel of the profile can run on this machine.
struct KernelChoice {
  std::string kernel;
  std::string gpu_tuning = {};
  bench::Measured bytes_per_second;
  std::vector<std::string> ties;  // kernels that may be as fast or faster; empty if it is sure
};
[[nodiscard]] std::optional<KernelChoice> choose_kernel(const Profile& profile,
                                                        const std::string& device,
                                                        std::uint64_t bytes, bool allow_leaky);

// The device that finishes a message of `bytes` bytes first, with its kernel. The order of devices,
// which begins with the CPU, decides unless the interval of a later one lies wholly below. Returns
// nullopt if no kernel of the profile can run on this machine.
struct Choice : KernelChoice {
  std::string device = {};
  bench::Measured seconds = {};  // expected time, the start included
  double other_seconds = 0;      // on the fastest of the other devices; 0 if there is none
  std::string other = {};
  std::vector<std::string> device_ties = {};  // devices that may be as fast or faster
};
[[nodiscard]] std::optional<Choice> choose(const Profile& profile, std::uint64_t bytes,
                                           bool allow_leaky);

// If the plan lets a profile choose, changes `plan` to the device and kernel that the profile says
// are fastest for `bytes` bytes. Ignores a profile that is not valid, with a line on standard
// error.
void use_profile(std::uint64_t bytes, Plan& plan);

}  // namespace paraes::cli
