// Compiles a stretch of one file for more than the baseline instruction set.
//
// PARAES_TARGET_BEGIN("…") … PARAES_TARGET_END around definitions; all #includes stand before it.
// Code inside lives in a namespace of its own, so that no inline function exists in two builds
// under one name, and calls nothing that is not written there.
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

// For a function that fills the registers. GCC merges several such functions into the caller they
// share or does not, depending on all else in the file; Clang chooses registers as well after that.
#if defined(__clang__)
#define PARAES_NOINLINE
#else
#define PARAES_NOINLINE __attribute__((noinline))
#endif
