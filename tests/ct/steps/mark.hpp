// Marks the beginning and the end of what the tracer steps through.
#pragma once

namespace paraes::ct {

// Stops the program until the tracer continues it; without a tracer, ends it by SIGTRAP.
[[gnu::always_inline]] inline void mark() {
#if defined(__x86_64__)
  __asm__ volatile("int3" ::: "memory");
#elif defined(__aarch64__)
  __asm__ volatile("brk #0" ::: "memory");
#else
#error "no mark for this processor"
#endif
}

}  // namespace paraes::ct
