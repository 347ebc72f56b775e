// A library to link or preload, whose dlsym() replaces two functions of OpenCL. The environment
// variable PARAES_FAKE_OPENCL says what they do, as directives separated by commas:
//   gpu           every device reports that it is a GPU
//   fail:N:CODE   the Nth launch and all later ones fail with CODE; the count starts again when the
//                 variable changes

#include <dlfcn.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <string>

namespace {

constexpr std::uint32_t device_type = 0x1000;
constexpr std::uint64_t type_gpu = 4;

using Dlsym = void* (*)(void*, const char*);
using GetDeviceInfo = int (*)(void*, std::uint32_t, std::size_t, void*, std::size_t*);
using Launch = int (*)(void*, void*, std::uint32_t, const std::size_t*, const std::size_t*,
                       const std::size_t*, std::uint32_t, const void*, void*);

GetDeviceInfo real_get_device_info = nullptr;
Launch real_launch = nullptr;

std::string directives() {
  const char* text = std::getenv("PARAES_FAKE_OPENCL");
  return text == nullptr ? "" : text;
}

int get_device_info(void* device, std::uint32_t name, std::size_t bytes, void* value,
                    std::size_t* needed) {
  const int status = real_get_device_info(device, name, bytes, value, needed);
  if (status == 0 && name == device_type && value != nullptr &&
      directives().find("gpu") != std::string::npos) {
    std::memcpy(value, &type_gpu, sizeof type_gpu);
  }
  return status;
}

std::atomic<unsigned long> failures = 0;

// The error code that this launch should return, or 0 if it should succeed.
int failure() {
  static std::mutex mutex;
  static std::string counted_for;
  static unsigned long count = 0;
  const std::string text = directives();
  const std::lock_guard lock(mutex);
  if (text != counted_for) {
    counted_for = text;
    count = 0;
  }
  const std::size_t at = text.find("fail:");
  if (at == std::string::npos) return 0;
  char* end = nullptr;
  const unsigned long first = std::strtoul(text.c_str() + at + 5, &end, 10);
  if (++count < first) return 0;
  ++failures;
  return static_cast<int>(std::strtol(end + 1, nullptr, 10));
}

int launch(void* queue, void* kernel, std::uint32_t dimensions, const std::size_t* offset,
           const std::size_t* global, const std::size_t* local, std::uint32_t waits,
           const void* wait_list, void* event) {
  if (const int code = failure(); code != 0) return code;
  return real_launch(queue, kernel, dimensions, offset, global, local, waits, wait_list, event);
}

}  // namespace

// How many launches have failed so far. For programs that are linked with this file.
extern "C" unsigned long paraes_failed_launches();
extern "C" unsigned long paraes_failed_launches() { return failures; }

extern "C" __attribute__((visibility("default"))) void* dlsym(void* handle, const char* name) {
  static const auto real = reinterpret_cast<Dlsym>(dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.2.5"));
  void* const found = real(handle, name);
  if (found == nullptr) return found;
  // These are functions of the ICD loader, which finds the driver's by other means than dlsym().
  if (std::strcmp(name, "clGetDeviceInfo") == 0) {
    real_get_device_info = reinterpret_cast<GetDeviceInfo>(found);
    return reinterpret_cast<void*>(get_device_info);
  }
  if (std::strcmp(name, "clEnqueueNDRangeKernel") == 0) {
    real_launch = reinterpret_cast<Launch>(found);
    return reinterpret_cast<void*>(launch);
  }
  return found;
}
