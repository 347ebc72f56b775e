#include "bench/rivals/library_file.hpp"

#include <dlfcn.h>

#include <filesystem>
#include <utility>

#include "paraes/error.hpp"
#include "src/core/checked_path.hpp"
#include "src/core/system/process.hpp"

namespace paraes::bench {
namespace {

// A sanitizer's own functions must come before those of other libraries.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool is_sanitized = true;
#elif defined(__has_feature)
constexpr bool is_sanitized = __has_feature(address_sanitizer) || __has_feature(thread_sanitizer);
#else
constexpr bool is_sanitized = false;
#endif

// With RTLD_DEEPBIND the file's references find its own symbols before those of this process. A
// name space of its own (dlmopen) would bring a second C library, whose pthread_setspecific()
// writes to the slots of the first one.
#ifdef RTLD_DEEPBIND
constexpr int deep_bind = is_sanitized ? 0 : RTLD_DEEPBIND;
constexpr bool has_deep_bind = true;
#else
constexpr int deep_bind = 0;
constexpr bool has_deep_bind = false;
#endif

}  // namespace

bool LibraryFile::can_be_apart() { return deep_bind != 0; }

LibraryFile::LibraryFile(std::string flag, const std::string& path, Apart wanted)
    : flag_(std::move(flag)), path_(path) {
  if (system::has_more_rights_than_caller()) {
    refuse("a setuid process opens no library of its caller");
  }
  const CheckedPath checked = check_path(path);
  if (checked.path.empty()) refuse(checked.reason);
  if (!checked.reason.empty()) {
    refuse("it is not opened, because " + checked.reason +
           ": put it where only you or root can change it");
  }
  // Opening a pipe would wait for its writer.
  if (!std::filesystem::is_regular_file(checked.path)) refuse("it is no regular file");
  if (wanted == Apart::required && !has_deep_bind) {
    refuse("only glibc can keep another libcrypto apart (RTLD_DEEPBIND): use such a build");
  }
  if (wanted == Apart::required && is_sanitized) {
    refuse("a build with a sanitizer cannot open another libcrypto");
  }
  real_path_ = checked.path;
  handle_ = dlopen(real_path_.c_str(), RTLD_NOW | RTLD_LOCAL | deep_bind);
  if (handle_ != nullptr) return;
  const char* const error = dlerror();
  std::string reason = error != nullptr ? error : "it cannot be opened";
  if (reason.rfind(real_path_ + ": ", 0) == 0) reason.erase(0, real_path_.size() + 2);
  refuse(reason);
}

void LibraryFile::refuse(const std::string& reason) const {
  throw InvalidArgument(flag_ + ": " + path_ + ": " + reason);
}

void* LibraryFile::symbol(const std::string& name) const {
  void* const found = dlsym(handle_, name.c_str());
  Dl_info info{};
  if (found == nullptr || dladdr(found, &info) == 0) return nullptr;
  return std::filesystem::equivalent(info.dli_fname, real_path_) ? found : nullptr;
}

}  // namespace paraes::bench
