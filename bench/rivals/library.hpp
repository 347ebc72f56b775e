// A shared library that is opened at run time, so that no build and no user needs it.
#pragma once

#include <dlfcn.h>

#include <stdexcept>
#include <string>

#include "harness/variant.hpp"

namespace paraes::bench {

class Library {
 public:
  // Throws Skip when it is not installed. Stays open for good: such libraries keep threads' state
  // and exit handlers.
  explicit Library(const char* name) : handle_(dlopen(name, RTLD_NOW | RTLD_LOCAL)) {
    if (handle_ == nullptr) throw Skip(std::string(name) + " is not installed");
  }

  template <class Function>
  void find(Function*& function, const char* name) const {
    function = reinterpret_cast<Function*>(dlsym(handle_, name));
    if (function == nullptr) throw Skip(std::string("the library has no ") + name);
  }

 private:
  void* handle_;
};

}  // namespace paraes::bench
