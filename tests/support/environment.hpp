// Environment variables of the tests.
#pragma once

#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>

namespace paraes::support {

// Whether QEMU's user mode runs this process, as tests/emulated says. It accepts the advice of
// madvise(), except MADV_DONTNEED, without passing it on to the kernel.
inline bool is_emulated() { return std::getenv("PARAES_EMULATED") != nullptr; }

// Whether exhaustive loops run: PARAES_LONG is set and not 0.
inline bool is_long() {
  const char* text = std::getenv("PARAES_LONG");
  return text != nullptr && std::string_view(text) != "" && std::string_view(text) != "0";
}

// Sets an environment variable while an object exists, and restores it afterwards.
class ScopedEnvironment {
 public:
  ScopedEnvironment(const char* name, const std::string& value) : name_(name) {
    if (const char* before = std::getenv(name)) before_ = before;
    setenv(name, value.c_str(), 1);
  }
  ~ScopedEnvironment() {
    if (before_) {
      setenv(name_, before_->c_str(), 1);
    } else {
      unsetenv(name_);
    }
  }
  ScopedEnvironment(const ScopedEnvironment&) = delete;
  ScopedEnvironment& operator=(const ScopedEnvironment&) = delete;

 private:
  const char* name_;
  std::optional<std::string> before_;
};

}  // namespace paraes::support
