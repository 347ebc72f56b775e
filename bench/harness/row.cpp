#include "bench/harness/row.hpp"

namespace paraes::bench {

std::string_view to_string(Mode mode) {
  constexpr std::string_view names[] = {"ecb", "cbc", "ctr", "xts", "gcm"};
  return names[static_cast<unsigned>(mode)];
}

std::string_view to_string(Direction direction) {
  return direction == Direction::encrypt ? "encrypt" : "decrypt";
}

}  // namespace paraes::bench
