// Opens libraries at run time. Rows whose library is missing are skipped.
#pragma once

#include <array>
#include <string>

#include "bench/harness/case.hpp"
#include "paraes/error.hpp"
#include "src/core/dynamic_library.hpp"

namespace paraes::bench {

// Throws Skip if the library is not installed.
[[nodiscard]] inline DynamicLibrary open_library(const char* name) try {
  return DynamicLibrary(std::array{name}, "");
} catch (const Unavailable&) {
  throw Skip(std::string(name) + " is not installed");
}

// A function of a library, as a pointer of the type that is wanted. Throws Skip if there is none.
struct LibraryFunction {
  const DynamicLibrary& library;
  const char* name;

  template <class F>
  operator F*() const {  // implicit: a row of a table of functions is one initializer
    F* pointer = nullptr;
    library.find(name, pointer);
    if (pointer == nullptr) throw Skip(library.name() + " has no " + name);
    return pointer;
  }
};

}  // namespace paraes::bench
