// Lists of a few values, each of which occurs once.
#pragma once

#include <algorithm>

namespace paraes::bench {

template <class List, class Value>
[[nodiscard]] bool has(const List& list, const Value& value) {
  return std::find(list.begin(), list.end(), value) != list.end();
}

template <class List, class Value>
void add_once(List& list, const Value& value) {
  if (!has(list, value)) list.emplace_back(value);
}

}  // namespace paraes::bench
