// A shared library that is opened at run time.
#pragma once

#include <span>
#include <string>

#include "src/core/non_copyable.hpp"

namespace paraes {

// A function of a library, and its name there.
template <class Signature>
struct Call {
  const char* name = nullptr;
  Signature* function = nullptr;  // nullptr if the library lacks it

  [[nodiscard]] explicit operator bool() const noexcept { return function != nullptr; }
  template <class... A>
  auto operator()(A... arguments) const {
    return function(arguments...);
  }
};

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

  enum class Need { required, optional };
  // Loads a function in the same way, and throws Unavailable if a required one is missing.
  template <class Signature>
  void load(Need need, const char* name, Call<Signature>& call) const {
    call.name = name;
    find(name, call.function);
    if (!call && need == Need::required) missing(name);
  }

  [[nodiscard]] const std::string& name() const noexcept { return name_; }

 private:
  [[nodiscard]] void* symbol(const char* name) const;
  [[noreturn]] void missing(const char* name) const;

  void* handle_ = nullptr;
  std::string name_;
};

}  // namespace paraes
