// A library to preload. It times the calls that paraes makes of CUDA's or HIP's driver, and the
// opening of the driver's library. When the process ends, it writes to the file that
// PARAES_DRIVER_TIMES names:
//   {"calls": [{"name": "cuInit", "first_ns": N, "calls": N, "ns": N}, …], "end_ns": N}
// in the order of the first calls. All times but the sums in "ns" count from when this library was
// loaded, about the start of the process.

#include <dlfcn.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <string_view>
#include <vector>

#include "src/gpu/runtime/cuda_api.hpp"

namespace {

using paraes::Call;
using paraes::gpu::driver::DriverApi;
using Time = std::chrono::steady_clock::time_point;

struct Timed {
  const char* name = nullptr;
  Time first;
  std::uint64_t calls = 0;
  std::uint64_t ns = 0;
};

struct Times {
  const Time begin = std::chrono::steady_clock::now();
  std::mutex mutex;
  std::vector<Timed> all;  // in the order of the first calls
};
Times& times() {
  static auto* const the_times = new Times;  // calls may follow the end of static objects
  return *the_times;
}

std::uint64_t nanoseconds(Time from, Time to) {
  return static_cast<std::uint64_t>(
      std::chrono::duration_cast<std::chrono::nanoseconds>(to - from).count());
}

// Times a call from its construction to its end.
class Stopwatch {
 public:
  explicit Stopwatch(const char* name) : name_(name) {}
  ~Stopwatch() {
    const Time end = std::chrono::steady_clock::now();
    const std::lock_guard lock(times().mutex);
    auto& all = times().all;
    auto found = std::find_if(all.begin(), all.end(), [&](const Timed& one) {
      return std::string_view(one.name) == name_;
    });
    if (found == all.end()) found = all.insert(all.end(), {.name = name_, .first = begin_});
    ++found->calls;
    found->ns += nanoseconds(begin_, end);
  }
  Stopwatch(const Stopwatch&) = delete;
  Stopwatch& operator=(const Stopwatch&) = delete;

 private:
  const char* name_;
  const Time begin_ = std::chrono::steady_clock::now();
};

// The functions in whose places dlsym() gives these.
enum Symbol : unsigned {
#define PARAES_NUMBER(need, member, symbol) number_of_##symbol,
  PARAES_CUDA_CALLS(PARAES_NUMBER) PARAES_HIP_CALLS(PARAES_NUMBER)
#undef PARAES_NUMBER
};

template <class Signature, Symbol symbol>
struct Replaced;
template <class Result, class... Parameters, Symbol symbol>
struct Replaced<Call<Result(Parameters...)>, symbol> {
  static inline Result (*real)(Parameters...) = nullptr;
  static inline const char* name = nullptr;

  static Result call(Parameters... arguments) {
    const Stopwatch stopwatch(name);
    return real(arguments...);
  }
  static void* replace(const char* of, void* found) {
    name = of;
    real = reinterpret_cast<decltype(real)>(found);
    return reinterpret_cast<void*>(call);
  }
};

struct Replacement {
  const char* name;
  void* (*replace)(const char* name, void* found);
};
constexpr Replacement replacements[] = {
#define PARAES_REPLACEMENT(need, member, symbol) \
  {#symbol, Replaced<decltype(DriverApi::member), number_of_##symbol>::replace},
    PARAES_CUDA_CALLS(PARAES_REPLACEMENT) PARAES_HIP_CALLS(PARAES_REPLACEMENT)
#undef PARAES_REPLACEMENT
};

void* real_dlsym(void* handle, const char* name) {
  using Dlsym = void* (*)(void*, const char*);
  static const auto real = [] {
    // The first version of glibc for x86-64, AArch64 and s390x.
    for (const char* version : {"GLIBC_2.2.5", "GLIBC_2.17", "GLIBC_2.2"}) {
      if (void* const found = dlvsym(RTLD_NEXT, "dlsym", version)) {
        return reinterpret_cast<Dlsym>(found);
      }
    }
    std::abort();
  }();
  return real(handle, name);
}

__attribute__((constructor)) void begin() { times(); }

__attribute__((destructor)) void write() {
  const char* const path = std::getenv("PARAES_DRIVER_TIMES");
  std::FILE* const file = path != nullptr ? std::fopen(path, "w") : nullptr;
  if (file == nullptr) return;
  const Time begin = times().begin;
  const std::lock_guard lock(times().mutex);  // other threads may still make calls
  std::fprintf(file, "{\"calls\": [");
  const char* separator = "";
  for (const Timed& one : times().all) {
    std::fprintf(
        file, "%s{\"name\": \"%s\", \"first_ns\": %llu, \"calls\": %llu, \"ns\": %llu}", separator,
        one.name, static_cast<unsigned long long>(nanoseconds(begin, one.first)),
        static_cast<unsigned long long>(one.calls), static_cast<unsigned long long>(one.ns));
    separator = ", ";
  }
  std::fprintf(
      file, "], \"end_ns\": %llu}\n",
      static_cast<unsigned long long>(nanoseconds(begin, std::chrono::steady_clock::now())));
  std::fclose(file);
}

}  // namespace

extern "C" __attribute__((visibility("default"))) void* dlsym(void* handle, const char* name) {
  void* const found = real_dlsym(handle, name);
  if (found == nullptr) return found;
  for (const Replacement& one : replacements) {
    if (std::string_view(one.name) == name) return one.replace(one.name, found);
  }
  return found;
}

extern "C" __attribute__((visibility("default"))) void* dlopen(const char* name, int flags) {
  static const auto real =
      reinterpret_cast<void* (*)(const char*, int)>(real_dlsym(RTLD_NEXT, "dlopen"));
  const std::string_view file = name != nullptr ? name : "";
  for (const char* library : {"libcuda.so", "libamdhip64.so"}) {
    if (file.find(library) == std::string_view::npos) continue;
    const Stopwatch stopwatch("dlopen");
    return real(name, flags);
  }
  return real(name, flags);
}
