// Maps the common source of the GPU programs to CUDA C++ (NVRTC), HIP C++ (hipRTC) and OpenCL C
// 1.2. The programs use a common subset of the three: no templates, no warp-level primitives (a
// wavefront has 32 or 64 threads) but where only CUDA compiles them, and loops over private arrays
// that unroll fully. The host passes -DPARAES_CUDA, -DPARAES_HIP or -DPARAES_OPENCL; without one,
// the compiler's own macros decide.
#if !defined(PARAES_CUDA) && !defined(PARAES_HIP) && !defined(PARAES_OPENCL)
#if defined(__OPENCL_VERSION__)
#define PARAES_OPENCL 1
#elif defined(__HIP__) || defined(__HIPCC_RTC__)
#define PARAES_HIP 1
#else
#define PARAES_CUDA 1
#endif
#endif

#ifdef PARAES_OPENCL
typedef uchar paraes_u8;
typedef uint paraes_u32;
typedef ulong paraes_u64;
typedef size_t paraes_address;
#else
typedef unsigned char paraes_u8;
typedef unsigned int paraes_u32;
typedef unsigned long long paraes_u64;
typedef unsigned long long paraes_address;
#endif

// PARAES_COMPACT=1 keeps loops rolled and large functions out of line. It is for OpenCL on CPUs,
// where arrays live in memory anyway and unrolled code takes too long to compile. It also leaves
// inlining to the compiler: oclgrind runs only programs that are compiled without optimization
// (-cl-opt-disable), and cannot simulate the instructions that forced inlining leaves in these.
#ifndef PARAES_COMPACT
#define PARAES_COMPACT 0
#endif

#define PARAES_NO_UNROLL _Pragma("unroll 1")
#if PARAES_COMPACT
#define PARAES_UNROLL
#else
#define PARAES_UNROLL _Pragma("unroll")
#endif

// PARAES_INLINE: must be inlined, so that constant arguments select code at compile time and arrays
// stay in registers. PARAES_LARGE: as PARAES_INLINE, but out of line with PARAES_COMPACT.
#if defined(PARAES_OPENCL)
#define PARAES_GLOBAL __global
#define PARAES_SHARED __local
#define PARAES_CONSTANT __constant
#if PARAES_COMPACT
#define PARAES_INLINE static
#else
#define PARAES_INLINE static inline __attribute__((always_inline))
#endif
#define PARAES_OUTLINE static __attribute__((noinline))
#define PARAES_BARRIER() barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE)
#elif defined(PARAES_HIP)
#define PARAES_GLOBAL
#define PARAES_SHARED
#define PARAES_CONSTANT static __device__ __constant__ const
#define PARAES_INLINE static __device__ inline __attribute__((always_inline))
#define PARAES_OUTLINE static __device__ __attribute__((noinline))
#define PARAES_BARRIER() __syncthreads()
#else
#define PARAES_GLOBAL
#define PARAES_SHARED
#define PARAES_CONSTANT static __device__ __constant__ const
#define PARAES_INLINE static __device__ __forceinline__
#define PARAES_OUTLINE static __device__ __noinline__
#define PARAES_BARRIER() __syncthreads()
#endif

// PARAES_WARP_BARRIER(): a barrier for the 32 threads of a warp and shared memory. Only CUDA has
// it.
#if defined(PARAES_CUDA)
#define PARAES_WARP_BARRIER() __syncwarp()
#endif

#if PARAES_COMPACT
#define PARAES_LARGE PARAES_OUTLINE
#else
#define PARAES_LARGE PARAES_INLINE
#endif

// Selects four of the bytes of `a` (numbers 0 to 3) and `b` (numbers 4 to 7), like CUDA's
// __byte_perm. Hexadecimal digit i of the selector is the number of the byte that becomes byte i of
// the result. The selector must be a compile-time constant.
#if defined(PARAES_CUDA)
#define paraes_permute(a, b, selector) __byte_perm(a, b, selector)
#elif defined(PARAES_HIP)
#define paraes_permute(a, b, selector)                                                         \
  __builtin_amdgcn_perm(b, a,                                                                  \
                        ((selector)&7u) | ((selector)&0x70u) << 4 | ((selector)&0x700u) << 8 | \
                            ((selector)&0x7000u) << 12)
#else
PARAES_INLINE paraes_u32 paraes_permute(paraes_u32 a, paraes_u32 b, paraes_u32 selector) {
  const paraes_u64 bytes = (paraes_u64)b << 32 | a;
  const paraes_u32 b0 = (paraes_u32)(bytes >> 8 * (selector & 7)) & 0xff;
  const paraes_u32 b1 = (paraes_u32)(bytes >> 8 * (selector >> 4 & 7)) & 0xff;
  const paraes_u32 b2 = (paraes_u32)(bytes >> 8 * (selector >> 8 & 7)) & 0xff;
  const paraes_u32 b3 = (paraes_u32)(bytes >> 8 * (selector >> 12 & 7)) & 0xff;
  return b0 | b1 << 8 | b2 << 16 | b3 << 24;
}
#endif

PARAES_INLINE paraes_u32 paraes_swap_bytes(paraes_u32 a) { return paraes_permute(a, 0u, 0x0123u); }

// Rotates a word to the left.
PARAES_INLINE paraes_u32 paraes_rotate8(paraes_u32 a) { return a << 8 | a >> 24; }
PARAES_INLINE paraes_u32 paraes_rotate16(paraes_u32 a) { return a << 16 | a >> 16; }
PARAES_INLINE paraes_u32 paraes_rotate24(paraes_u32 a) { return a << 24 | a >> 8; }

// The high word of high:low shifted left by n < 32.
PARAES_INLINE paraes_u32 paraes_funnel_left(paraes_u32 high, paraes_u32 low, paraes_u32 n) {
#if defined(PARAES_CUDA)
  return __funnelshift_l(low, high, n);
#else
  return (paraes_u32)((((paraes_u64)high << 32 | low) << n) >> 32);
#endif
}

// The low word of high:low shifted right by n < 32.
PARAES_INLINE paraes_u32 paraes_funnel_right(paraes_u32 high, paraes_u32 low, paraes_u32 n) {
#if defined(PARAES_CUDA)
  return __funnelshift_r(low, high, n);
#else
  return (paraes_u32)(((paraes_u64)high << 32 | low) >> n);
#endif
}

// The 64-bit product. The assembly keeps the compiler from using a 64-bit multiplication.
PARAES_INLINE paraes_u64 paraes_multiply(paraes_u32 a, paraes_u32 b) {
#if defined(PARAES_CUDA)
  paraes_u64 r;
  asm("mul.wide.u32 %0, %1, %2;" : "=l"(r) : "r"(a), "r"(b));
  return r;
#else
  return (paraes_u64)a * b;
#endif
}

// The operations of the bitsliced circuits: one instruction each on NVIDIA GPUs. Without the
// assembly the compiler regroups chains of ^, and needs more instructions.
#if defined(PARAES_CUDA)
PARAES_INLINE paraes_u32 paraes_xor3(paraes_u32 a, paraes_u32 b, paraes_u32 c) {
  paraes_u32 r;
  asm("lop3.b32 %0, %1, %2, %3, 0x96;" : "=r"(r) : "r"(a), "r"(b), "r"(c));
  return r;
}
// (a & b) ^ c
PARAES_INLINE paraes_u32 paraes_and_xor(paraes_u32 a, paraes_u32 b, paraes_u32 c) {
  paraes_u32 r;
  asm("lop3.b32 %0, %1, %2, %3, 0x6a;" : "=r"(r) : "r"(a), "r"(b), "r"(c));
  return r;
}
// (a ^ b) & c
PARAES_INLINE paraes_u32 paraes_xor_and(paraes_u32 a, paraes_u32 b, paraes_u32 c) {
  paraes_u32 r;
  asm("lop3.b32 %0, %1, %2, %3, 0x28;" : "=r"(r) : "r"(a), "r"(b), "r"(c));
  return r;
}
// Bits of `a` where the mask has ones, bits of `b` elsewhere.
PARAES_INLINE paraes_u32 paraes_choose(paraes_u32 mask, paraes_u32 a, paraes_u32 b) {
  paraes_u32 r;
  asm("lop3.b32 %0, %1, %2, %3, 0xca;" : "=r"(r) : "r"(mask), "r"(a), "r"(b));
  return r;
}
#else
PARAES_INLINE paraes_u32 paraes_xor3(paraes_u32 a, paraes_u32 b, paraes_u32 c) { return a ^ b ^ c; }
PARAES_INLINE paraes_u32 paraes_and_xor(paraes_u32 a, paraes_u32 b, paraes_u32 c) {
  return (a & b) ^ c;
}
PARAES_INLINE paraes_u32 paraes_xor_and(paraes_u32 a, paraes_u32 b, paraes_u32 c) {
  return (a ^ b) & c;
}
PARAES_INLINE paraes_u32 paraes_choose(paraes_u32 mask, paraes_u32 a, paraes_u32 b) {
  return (a & mask) | (b & ~mask);
}
#endif

// Makes the compilers for AMD compute these words here, before any later load. They would otherwise
// load many round keys ahead, for which a state of 128 registers leaves no room.
PARAES_INLINE void paraes_settle(paraes_u32* words, const int count) {
#if defined(__AMDGCN__)
  PARAES_UNROLL
  for (int i = 0; i < count; ++i) __asm__ volatile("" : "+v"(words[i]));
#else
  (void)words;
  (void)count;
#endif
}

// Hides the value from the optimizer, which then recomputes what depends on it instead of keeping
// it in registers or spilling it.
PARAES_INLINE paraes_u64 paraes_anew(paraes_u64 a) {
#if defined(PARAES_CUDA)
  asm volatile("" : "+l"(a));
#elif defined(__AMDGCN__)
  __asm__ volatile("" : "+v"(a));
#endif
  return a;
}
