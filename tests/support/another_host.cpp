// A library to preload, which makes a program appear to run on another host: gethostname() returns
// PARAES_TEST_HOST, and flock() succeeds without locking anything, as on file systems that keep
// locks local to a host.

#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <cstring>

extern "C" {

__attribute__((visibility("default"))) int flock(int /*descriptor*/, int /*operation*/) noexcept {
  return 0;
}

__attribute__((visibility("default"))) int gethostname(char* name, std::size_t size) noexcept {
  const char* host = std::getenv("PARAES_TEST_HOST");
  if (host == nullptr) host = "host";
  std::memcpy(name, host, std::min(size, std::strlen(host) + 1));
  return 0;
}
}
