// Fuzzes profiles: a text is refused with InvalidArgument, or it gives a profile that can be stored
// and read back, and by which a device can be chosen for any size.

#include "cli/plan/profile.hpp"

#include "paraes/error.hpp"
#include "tests/fuzz/input.hpp"

namespace paraes::fuzz {

void fuzz(Input& input) {
  cli::Profile profile;
  if (throws<InvalidArgument>(
          [&] { profile = cli::parse_profile(input.ConsumeRemainingBytesAsString()); })) {
    return;
  }
  require(cli::to_json(cli::parse_profile(cli::to_json(profile))) == cli::to_json(profile));
  for (unsigned shift = 0; shift < 64; shift += 3) {
    const auto choice = cli::choose(profile, (std::uint64_t{1} << shift) + shift, true);
    require(!choice || (choice->seconds.median >= 0 && choice->seconds.low >= 0));
  }
}

}  // namespace paraes::fuzz
