// Compiles a region of a file for more than the baseline instruction set.
//
// The region is between PARAES_TARGET_BEGIN("…") and PARAES_TARGET_END. Headers are included before
// it, so that only .inc files are compiled in it. Its code is in a namespace of its own, so that no
// inline function is compiled twice under one name.
#pragma once

#define PARAES_PRAGMA(text) _Pragma(#text)

#if defined(__clang__)
#define PARAES_TARGET_BEGIN(features) \
  PARAES_PRAGMA(clang attribute push(__attribute__((target(features))), apply_to = function))
#define PARAES_TARGET_END PARAES_PRAGMA(clang attribute pop)
#define PARAES_UNROLL PARAES_PRAGMA(unroll)
#else
#define PARAES_TARGET_BEGIN(features) \
  PARAES_PRAGMA(GCC push_options)     \
  PARAES_PRAGMA(GCC target(features))
#define PARAES_TARGET_END PARAES_PRAGMA(GCC pop_options)
#define PARAES_UNROLL PARAES_PRAGMA(GCC unroll 32)
#endif

#define PARAES_INLINE inline __attribute__((always_inline))

// For functions that use all registers. GCC may inline several of them into a common caller,
// depending on the rest of the file, and then allocates registers worse. Clang's
// allocation does not suffer.
#if defined(__clang__)
#define PARAES_NOINLINE
#else
#define PARAES_NOINLINE __attribute__((noinline))
#endif
