// What `paraes tune` measured of this machine, and what `auto` makes of it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/crypt_options.hpp"
#include "cli/plan.hpp"

namespace paraes::cli {

struct Profile {
  struct Device {
    std::string id;
    std::string name;
    std::string driver;
    double start_seconds = 0;  // from the start of a program on a tiny file to its exit
  };
  struct Rate {
    std::string device;
    std::string kernel;
    std::uint64_t bytes = 0;  // of a message
    double bytes_per_second = 0;
  };

  std::string version;  // of paraes
  std::string time;     // when it was measured
  std::string cpu;
  std::vector<std::string> features;
  int cores = 0;
  std::vector<Device> devices;
  std::vector<Rate> rates;
};

// A profile of this program, CPU and moment, without devices and rates.
[[nodiscard]] Profile new_profile();

// The file that PARAES_PROFILE names, else paraes/profile.json in $XDG_STATE_HOME or
// ~/.local/state. Empty: there is none, because PARAES_PROFILE is "none" or nobody has a home.
[[nodiscard]] std::string profile_path();

[[nodiscard]] std::string to_json(const Profile& profile);

// Throws InvalidArgument for text that is no profile.
[[nodiscard]] Profile parse_profile(const std::string& text);

// Nothing if there is no such file. Throws InvalidArgument and IoError.
[[nodiscard]] std::optional<Profile> read_profile(const std::string& path);

// Why the profile does not hold for this CPU and version; empty if it does.
[[nodiscard]] std::string why_stale(const Profile& profile);

// Where a message of so many bytes is done soonest, among constant-time kernels; on GPUs among all
// with allow_leaky. Nothing if the profile knows no kernel that can run here.
struct Choice {
  std::string device;
  std::string kernel;
  double seconds = 0;        // what it should take, the start included
  double other_seconds = 0;  // on the next best device; 0: there is none
  std::string other = {};
};
[[nodiscard]] std::optional<Choice> choose(const Profile& profile, std::uint64_t bytes,
                                           bool allow_leaky);

// Where --device and --kernel are `auto` and the format is authenticated: has `plan` do what the
// profile of this machine says is best for so many bytes. A profile that does not hold is left
// aside with a line on standard error.
void use_profile(const CryptOptions& options, std::uint64_t bytes, Plan& plan);

}  // namespace paraes::cli
