// Fuzzes profiles: a text is refused with InvalidArgument, or it gives a profile that can be stored
// and read back, and by which a device can be chosen for any size.

#include "cli/plan/profile.hpp"

#include <cstdlib>

#include "paraes/error.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace paraes;
  const std::string text(reinterpret_cast<const char*>(data), size);
  cli::Profile profile;
  try {
    profile = cli::parse_profile(text);
  } catch (const InvalidArgument&) {
    return 0;
  }
  if (cli::to_json(cli::parse_profile(cli::to_json(profile))) != cli::to_json(profile))
    std::abort();
  for (unsigned shift = 0; shift < 64; shift += 3) {
    const auto choice = cli::choose(profile, (std::uint64_t{1} << shift) + shift, true);
    if (choice && !(choice->seconds.median >= 0 && choice->seconds.low >= 0)) std::abort();
  }
  return 0;
}
