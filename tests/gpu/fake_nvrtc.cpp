// A stand-in for NVRTC in tests, which shows by its version that it was opened. It compiles
// nothing.

#include <cstddef>

// This file defines functions that NVRTC's header declares, but does not include it.
#pragma GCC diagnostic ignored "-Wmissing-declarations"

namespace {

constexpr int internal_error = 11;

}  // namespace

extern "C" int nvrtcVersion(int* major, int* minor) {
  *major = 12;
  *minor = 999;
  return 0;
}

extern "C" int nvrtcCreateProgram(void**, const char*, const char*, int, const char* const*,
                                  const char* const*) {
  return internal_error;
}
extern "C" int nvrtcDestroyProgram(void**) { return internal_error; }
extern "C" int nvrtcCompileProgram(void*, int, const char* const*) { return internal_error; }
extern "C" int nvrtcGetProgramLogSize(void*, std::size_t*) { return internal_error; }
extern "C" int nvrtcGetProgramLog(void*, char*) { return internal_error; }
extern "C" int nvrtcGetCUBINSize(void*, std::size_t*) { return internal_error; }
extern "C" int nvrtcGetCUBIN(void*, char*) { return internal_error; }
