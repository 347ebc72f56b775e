#include "src/core/dynamic_library.hpp"

#include <dlfcn.h>

#include "paraes/error.hpp"

namespace paraes {

DynamicLibrary::DynamicLibrary(std::span<const char* const> names, const std::string& advice) {
  std::string reason;
  for (const char* name : names) {
    // RTLD_LOCAL keeps symbols apart: two GPU runtimes may come with libraries of the same name.
    handle_ = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    if (handle_ != nullptr) {
      name_ = name;
      return;
    }
    if (const char* error = dlerror(); reason.empty() && error != nullptr) reason = error;
  }
  throw Unavailable(reason + "; " + advice);
}

// Does not unload the library: threads and handlers of a driver would crash afterwards.
DynamicLibrary::~DynamicLibrary() = default;

void* DynamicLibrary::symbol(const char* name) const { return dlsym(handle_, name); }

void DynamicLibrary::missing(const char* name) const {
  throw Unavailable(name_ + " has no function " + name +
                    ": it is too old; install a newer version");
}

}  // namespace paraes
