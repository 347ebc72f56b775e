// A shared library that is opened at run time, so that no build and no user needs it.
#pragma once

#include <dlfcn.h>

#include <string>
#include <utility>

#include "bench/harness/variant.hpp"

namespace paraes::bench {

class Library {
 public:
  // Throws Skip when it is not installed. Stays open for good: such libraries keep threads' state
  // and exit handlers.
  explicit Library(std::string name)
      : name_(std::move(name)), handle_(dlopen(name_.c_str(), RTLD_NOW | RTLD_LOCAL)) {
    if (handle_ == nullptr) throw Skip(name_ + " is not installed");
  }

  template <class Function>
  void find(Function*& function, const char* name) const {
    function = reinterpret_cast<Function*>(dlsym(handle_, name));
    if (function == nullptr) throw Skip(name_ + " has no " + name);
  }

 private:
  std::string name_;
  void* handle_;
};

}  // namespace paraes::bench
