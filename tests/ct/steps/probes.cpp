// Operations that leak the first byte of the key on purpose, each in another way, so that tests see
// the tracer find it; and one that does not leak.
#include <cstring>

#include "tests/ct/steps/mark.hpp"
#include "tests/ct/steps/operations.hpp"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace paraes::steps {
namespace {

alignas(64) std::uint8_t memory[4096];

bool always(const Kernel&) { return true; }

// Not inlined, so that nothing of a probe moves over a mark.
template <class Body>
[[gnu::noinline]] void traced(const Body& body) {
  mark();
  body();
  mark();
}

void nothing(const Kernel&, const Shape&, const Secrets& secrets) {
  std::uint8_t sum = 0;
  traced([&] {
    for (int i = 0; i < 64; ++i) sum = static_cast<std::uint8_t>(sum + secrets.key[i]);
    __asm__ volatile("" : "+r"(sum));
  });
}

void branch(const Kernel&, const Shape&, const Secrets& secrets) {
  traced([&] {
    if (secrets.key[0] > 127) __asm__ volatile("" ::: "memory");
    if (secrets.key[0] % 2 != 0) __asm__ volatile("nop" ::: "memory");
  });
}

// The base is public, and the index is secret.
void address(const Kernel&, const Shape&, const Secrets& secrets) {
  const std::uint64_t index = secrets.key[0];
  traced([&] {
#if defined(__x86_64__)
    __asm__ volatile("mov (%0,%1,4), %%eax" ::"r"(memory), "r"(index) : "eax", "memory");
#else
    __asm__ volatile("ldr w9, [%0, %w1, uxtw #2]" ::"r"(memory), "r"(index) : "w9", "memory");
#endif
  });
}

void repetitions(const Kernel&, const Shape&, const Secrets& secrets) {
  const std::size_t count = 1 + std::size_t{secrets.key[0]};
  traced([&] {
#if defined(__x86_64__)
    void* to = memory;
    std::size_t left = count;
    __asm__ volatile("rep stosb" : "+D"(to), "+c"(left) : "a"(0) : "memory");
#else
    for (std::size_t i = 0; i < count; ++i) __asm__ volatile("" ::: "memory");
#endif
  });
}

#if defined(__x86_64__)
bool has_masks(const Kernel&) { return __builtin_cpu_supports("avx512bw") != 0; }

// The address is public, and which bytes are written is secret.
[[gnu::target("avx512bw"), gnu::noinline]] void store_masked(std::uint64_t bytes) {
  _mm512_mask_storeu_epi8(memory, bytes, _mm512_setzero_si512());
}

void mask(const Kernel&, const Shape&, const Secrets& secrets) {
  const std::uint64_t bytes = secrets.key[0];
  traced([&] { store_masked(bytes); });
}
#endif

constexpr Operation all[] = {
    {"nothing", always, nothing}, {"branch", always, branch},
    {"address", always, address}, {"repetitions", always, repetitions},
#if defined(__x86_64__)
    {"mask", has_masks, mask},
#endif
};

}  // namespace

std::span<const Operation> probes() { return all; }

}  // namespace paraes::steps
