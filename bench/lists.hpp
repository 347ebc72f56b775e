// Lists of a few values, each of which occurs once.
#pragma once

#include <algorithm>

namespace paraes::bench {

[[nodiscard]] bool has(const auto& list, const auto& value) {
  return std::find(list.begin(), list.end(), value) != list.end();
}

void add_once(auto& list, const auto& value) {
  if (!has(list, value)) list.emplace_back(value);
}

}  // namespace paraes::bench
