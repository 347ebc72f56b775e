#include "paraes/secret.hpp"

#include <atomic>
#include <cstdint>
#include <utility>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include "src/core/locked_memory.hpp"

namespace paraes {

bool constant_time_equal(std::span<const std::uint8_t> a,
                         std::span<const std::uint8_t> b) noexcept {
  if (a.size() != b.size()) return false;
  std::uint8_t difference = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    difference |= static_cast<std::uint8_t>(a[i] ^ b[i]);
    // Hides the value from the optimizer, which could otherwise leave the loop early.
    __asm__ volatile("" : "+r"(difference));
  }
  return difference == 0;
}

namespace {

#if defined(__x86_64__)
// The widest vector registers that instructions may access. __builtin_cpu_supports says that as
// well, but with it, a constructor reads a dozen leaves of CPUID whenever a program starts, and in
// a virtual machine each takes several microseconds.
enum class VectorRegisters : std::uint8_t { unknown, xmm, ymm, zmm };

// Not a local static: its guard calls the C++ runtime while registers hold secrets, and makes the
// child of a fork() wait forever for a thread of its parent.
constinit std::atomic<VectorRegisters> widest_registers = VectorRegisters::unknown;

VectorRegisters find_vector_registers() noexcept {
  std::uint32_t a;
  std::uint32_t b;
  std::uint32_t c;
  std::uint32_t d;
  __cpuid(1, a, b, c, d);
  constexpr std::uint32_t osxsave_and_avx = 3U << 27;
  if ((c & osxsave_and_avx) != osxsave_and_avx) return VectorRegisters::xmm;
  // XCR0 says which registers the system saves: bits 1 and 2 are the xmm and ymm registers, bits 5
  // to 7 those of AVX-512.
  std::uint32_t xcr0;
  __asm__ volatile("xgetbv" : "=a"(xcr0), "=d"(d) : "c"(0));
  if ((xcr0 & 0x06U) != 0x06U) return VectorRegisters::xmm;
  if ((xcr0 & 0xe6U) != 0xe6U) return VectorRegisters::ymm;
  __cpuid_count(7, 0, a, b, c, d);
  constexpr std::uint32_t avx512f = 1U << 16;
  return (b & avx512f) != 0 ? VectorRegisters::zmm : VectorRegisters::ymm;
}
#endif

// Functions may change all of these registers (on AArch64: all but v8 to v15).
void wipe_vector_registers() noexcept {
#if defined(__x86_64__)
  __asm__ volatile(
      "pxor %%xmm0, %%xmm0\npxor %%xmm1, %%xmm1\npxor %%xmm2, %%xmm2\npxor %%xmm3, %%xmm3\n"
      "pxor %%xmm4, %%xmm4\npxor %%xmm5, %%xmm5\npxor %%xmm6, %%xmm6\npxor %%xmm7, %%xmm7\n"
      "pxor %%xmm8, %%xmm8\npxor %%xmm9, %%xmm9\npxor %%xmm10, %%xmm10\npxor %%xmm11, %%xmm11\n"
      "pxor %%xmm12, %%xmm12\npxor %%xmm13, %%xmm13\npxor %%xmm14, %%xmm14\npxor %%xmm15, %%xmm15"
      :
      :
      : "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10",
        "xmm11", "xmm12", "xmm13", "xmm14", "xmm15");
  VectorRegisters widest = widest_registers.load(std::memory_order_relaxed);
  if (widest == VectorRegisters::unknown) {
    widest = find_vector_registers();
    widest_registers.store(widest, std::memory_order_relaxed);
  }
  if (widest == VectorRegisters::xmm) return;
  __asm__ volatile("vzeroall"
                   :
                   :
                   : "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9",
                     "xmm10", "xmm11", "xmm12", "xmm13", "xmm14", "xmm15");
  if (widest == VectorRegisters::ymm) return;
  __asm__ volatile(
      "vpxorq %%zmm16, %%zmm16, %%zmm16\nvpxorq %%zmm17, %%zmm17, %%zmm17\n"
      "vpxorq %%zmm18, %%zmm18, %%zmm18\nvpxorq %%zmm19, %%zmm19, %%zmm19\n"
      "vpxorq %%zmm20, %%zmm20, %%zmm20\nvpxorq %%zmm21, %%zmm21, %%zmm21\n"
      "vpxorq %%zmm22, %%zmm22, %%zmm22\nvpxorq %%zmm23, %%zmm23, %%zmm23\n"
      "vpxorq %%zmm24, %%zmm24, %%zmm24\nvpxorq %%zmm25, %%zmm25, %%zmm25\n"
      "vpxorq %%zmm26, %%zmm26, %%zmm26\nvpxorq %%zmm27, %%zmm27, %%zmm27\n"
      "vpxorq %%zmm28, %%zmm28, %%zmm28\nvpxorq %%zmm29, %%zmm29, %%zmm29\n"
      "vpxorq %%zmm30, %%zmm30, %%zmm30\nvpxorq %%zmm31, %%zmm31, %%zmm31" ::
          :
#ifdef __AVX512F__
      // Without AVX-512 the compiler rejects these names. With it (-march=native), it may keep
      // values in these registers, also across a call of this function.
      "xmm16", "xmm17", "xmm18", "xmm19", "xmm20", "xmm21", "xmm22", "xmm23", "xmm24", "xmm25",
      "xmm26", "xmm27", "xmm28", "xmm29", "xmm30", "xmm31"
#endif
  );
#elif defined(__aarch64__)
  __asm__ volatile(
      "movi v0.2d, #0\nmovi v1.2d, #0\nmovi v2.2d, #0\nmovi v3.2d, #0\n"
      "movi v4.2d, #0\nmovi v5.2d, #0\nmovi v6.2d, #0\nmovi v7.2d, #0\n"
      "movi v16.2d, #0\nmovi v17.2d, #0\nmovi v18.2d, #0\nmovi v19.2d, #0\n"
      "movi v20.2d, #0\nmovi v21.2d, #0\nmovi v22.2d, #0\nmovi v23.2d, #0\n"
      "movi v24.2d, #0\nmovi v25.2d, #0\nmovi v26.2d, #0\nmovi v27.2d, #0\n"
      "movi v28.2d, #0\nmovi v29.2d, #0\nmovi v30.2d, #0\nmovi v31.2d, #0"
      :
      :
      : "v0", "v1", "v2", "v3", "v4", "v5", "v6", "v7", "v16", "v17", "v18", "v19", "v20", "v21",
        "v22", "v23", "v24", "v25", "v26", "v27", "v28", "v29", "v30", "v31");
#endif
}

[[gnu::noinline]] void wipe_below() noexcept {
  // More than what any operation of the library leaves there: tests/secrets searches the stacks.
  constexpr std::size_t bytes = std::size_t{16} << 10;
  std::uint8_t below[bytes];
  secure_zero(below, sizeof below);
}

}  // namespace

[[gnu::noinline]] void wipe_stack() noexcept {
  // Before the array below exists: where a signal or the dynamic loader saves registers that are
  // not overwritten yet, the array will be.
  wipe_vector_registers();
  wipe_below();
}

SecretBytes::SecretBytes(std::size_t size)
    : data_(size != 0 ? static_cast<std::uint8_t*>(allocate_locked(size)) : nullptr),
      size_(size),
      capacity_(size) {}

SecretBytes::SecretBytes(std::span<const std::uint8_t> source) : SecretBytes(source.size()) {
  if (data_ != nullptr) std::memcpy(data_, source.data(), source.size());
}

SecretBytes::SecretBytes(SecretBytes&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)),
      size_(std::exchange(other.size_, 0)),
      capacity_(std::exchange(other.capacity_, 0)) {}

SecretBytes& SecretBytes::operator=(SecretBytes&& other) noexcept {
  if (this != &other) {
    free_locked(data_, capacity_);
    data_ = std::exchange(other.data_, nullptr);
    size_ = std::exchange(other.size_, 0);
    capacity_ = std::exchange(other.capacity_, 0);
  }
  return *this;
}

SecretBytes::~SecretBytes() { free_locked(data_, capacity_); }

void SecretBytes::truncate(std::size_t size) noexcept {
  if (size >= size_) return;
  secure_zero(data_ + size, size_ - size);
  size_ = size;
}

}  // namespace paraes
