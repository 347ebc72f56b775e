#include "src/core/dynamic_library.hpp"

#include <dlfcn.h>

#include "paraes/error.hpp"
#include "src/core/checked_path.hpp"

namespace paraes {

DynamicLibrary::DynamicLibrary(std::span<const char* const> names, const std::string& advice) {
  std::string reason;
  std::string refusal;
  for (const std::string name : names) {
    std::string path = name;
    // The loader finds a soname by its own rules. A path is checked here.
    if (name.find('/') != std::string::npos) {
      const CheckedPath checked = check_path(name);
      if (!checked.reason.empty()) {
        if (checked.path.empty()) {
          if (reason.empty()) reason = "cannot open " + name + ": " + checked.reason;
        } else if (refusal.empty()) {
          refusal = name + " is not opened, because " + checked.reason +
                    ": put the library where only you or root can change it (the folders of "
                    "LD_LIBRARY_PATH are not checked)";
        }
        continue;
      }
      path = checked.path;
    }
    // RTLD_LOCAL keeps symbols apart: two GPU runtimes may come with libraries of the same name.
    handle_ = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (handle_ != nullptr) {
      name_ = name;
      return;
    }
    if (const char* error = dlerror(); reason.empty() && error != nullptr) reason = error;
  }
  for (const std::string& more : {refusal, advice}) {
    if (!more.empty()) reason.append(reason.empty() ? "" : "; ").append(more);
  }
  throw Unavailable(reason);
}

// Does not unload the library: threads and handlers of a driver would crash afterwards.
DynamicLibrary::~DynamicLibrary() = default;

void* DynamicLibrary::symbol(const char* name) const { return dlsym(handle_, name); }

void DynamicLibrary::missing(const char* name) const {
  throw Unavailable(name_ + " has no function " + name +
                    ": it is too old; install a newer version");
}

}  // namespace paraes
