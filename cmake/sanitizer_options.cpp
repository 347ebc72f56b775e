// Default options of AddressSanitizer and LeakSanitizer, linked into every executable of a
// sanitizer build.

extern "C" __attribute__((visibility("default"))) const char* __asan_default_options();
extern "C" __attribute__((visibility("default"))) const char* __lsan_default_suppressions();

// The LeakSanitizer of GCC 12 and Clang 14 crashes if the thread-local memory of a library that was
// opened at run time (an OpenCL driver) begins at byte 16 of a page: it assumes a header of glibc
// 2.19 in front of it and follows two pointers there. This option turns that assumption off. Leaks
// in thread-local memory are still found through the thread that owns it.
extern "C" const char* __asan_default_options() { return "intercept_tls_get_addr=0"; }

// The OpenMP library of LLVM never frees the descriptors of its threads, and PoCL keeps what its
// compiler has allocated.
extern "C" const char* __lsan_default_suppressions() {
  return "leak:libomp.so\nleak:libpocl.so\nleak:libLLVM\n";
}
