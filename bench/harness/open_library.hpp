// Opens libraries at run time. Rows whose library is missing are skipped.
#pragma once

#include <array>
#include <string>

#include "bench/harness/case.hpp"
#include "paraes/error.hpp"
#include "src/core/dynamic_library.hpp"

namespace paraes::bench {

// Throws Skip if the library is not installed.
[[nodiscard]] inline DynamicLibrary open_library(const char* name) {
  try {
    return DynamicLibrary(std::array{name}, "");
  } catch (const Unavailable&) {
    throw Skip(std::string(name) + " is not installed");
  }
}

// Throws Skip if `library` has no function `name`.
template <class F>
void find_function(const DynamicLibrary& library, F*& pointer, const char* name) {
  library.find(name, pointer);
  if (pointer == nullptr) throw Skip(library.name() + " has no " + name);
}

}  // namespace paraes::bench
