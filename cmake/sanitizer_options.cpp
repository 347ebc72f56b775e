// Options of AddressSanitizer for every program of a build under it.

extern "C" __attribute__((visibility("default"))) const char* __asan_default_options();

// LeakSanitizer of GCC 12 and Clang 14 takes thread-local memory at byte 16 of a page for a
// structure that glibc 2.19 had in front of it, reads two pointers there, and dies with signal 11
// when it follows them. The memory of a library that was opened later (an OpenCL driver) may begin
// there. This tracks no such memory by itself; it is still found through the thread that has it.
extern "C" const char* __asan_default_options() { return "intercept_tls_get_addr=0"; }
