// A shared library that is opened at run time.
#pragma once

#include <span>
#include <string>

#include "src/core/non_copyable.hpp"

namespace paraes {

class DynamicLibrary : NonCopyable {
 public:
  // Opens the first of `names` that can be opened. The loader finds a soname by its own rules, to
  // which LD_LIBRARY_PATH belongs. A path, which has a slash, is opened only if check_path()
  // accepts it. If there is none, throws Unavailable with the reason for the first name, the first
  // path that was refused and why, and `advice` (what to install).
  DynamicLibrary(std::span<const char* const> names, const std::string& advice);
  ~DynamicLibrary();

  // Sets `pointer` to the function `name`, or to nullptr if the library has none.
  template <class F>
  void find(const char* name, F*& pointer) const {
    pointer = reinterpret_cast<F*>(symbol(name));
  }

  // As find(), but throws Unavailable if the library has no such function.
  template <class F>
  void require(const char* name, F*& pointer) const {
    find(name, pointer);
    if (pointer == nullptr) missing(name);
  }

  [[nodiscard]] const std::string& name() const noexcept { return name_; }

 private:
  [[nodiscard]] void* symbol(const char* name) const;
  [[noreturn]] void missing(const char* name) const;

  void* handle_ = nullptr;
  std::string name_;
};

}  // namespace paraes
