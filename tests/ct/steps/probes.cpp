// Operations that leak the first byte of the key on purpose, each in another way, so that tests see
// the tracer find it; and one that does not leak.
#include "tests/ct/operations.hpp"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace paraes::ct {
namespace {

alignas(64) std::uint8_t memory[4096];

void no_leak(const Work& work) {
  std::uint8_t sum = 0;
  for (int i = 0; i < 64; ++i) sum = static_cast<std::uint8_t>(sum + work.secrets.key[i]);
  __asm__ volatile("" : "+r"(sum));
}

void branch(const Work& work) {
  if (work.secrets.key[0] > 127) __asm__ volatile("" ::: "memory");
  if (work.secrets.key[0] % 2 != 0) __asm__ volatile("nop" ::: "memory");
}

// The base is public, and the index is secret.
void address(const Work& work) {
  const std::uint64_t index = work.secrets.key[0];
#if defined(__x86_64__)
  __asm__ volatile("mov (%0,%1,4), %%eax" ::"r"(memory), "r"(index) : "eax", "memory");
#else
  __asm__ volatile("ldr w9, [%0, %w1, uxtw #2]" ::"r"(memory), "r"(index) : "w9", "memory");
#endif
}

void repetitions(const Work& work) {
  const std::size_t count = 1 + std::size_t{work.secrets.key[0]};
#if defined(__x86_64__)
  void* to = memory;
  std::size_t left = count;
  __asm__ volatile("rep stosb" : "+D"(to), "+c"(left) : "a"(0) : "memory");
#else
  for (std::size_t i = 0; i < count; ++i) __asm__ volatile("" ::: "memory");
#endif
}

#if defined(__x86_64__)
bool has_masks(const Kernel&) { return __builtin_cpu_supports("avx512bw") != 0; }

// The address is public, and which bytes are written is secret.
[[gnu::target("avx512bw"), gnu::noinline]] void store_masked(std::uint64_t bytes) {
  _mm512_mask_storeu_epi8(memory, bytes, _mm512_setzero_si512());
}

void mask(const Work& work) { store_masked(work.secrets.key[0]); }
#endif

constexpr Operation all[] = {
    {"nothing", always, nothing, nothing, no_leak},
    {"branch", always, nothing, nothing, branch},
    {"address", always, nothing, nothing, address},
    {"repetitions", always, nothing, nothing, repetitions},
#if defined(__x86_64__)
    {"mask", has_masks, nothing, nothing, mask},
#endif
};

}  // namespace

std::span<const Operation> probes() { return all; }

}  // namespace paraes::ct
