#include "bench/memory/ports.hpp"

#include <array>
#include <utility>
#include <vector>

#include "bench/rivals/evp.hpp"
#include "src/core/executor.hpp"
#include "src/core/key_schedule.hpp"
#include "src/kernels/registry.hpp"
#include "src/kernels/target.hpp"

#if defined(__x86_64__)
#include <immintrin.h>

PARAES_TARGET_BEGIN("sse4.1,aes")
namespace paraes::bench::ports_aesni {
namespace {

using Vec = __m128i;
// Leaves some of the 16 registers for round keys.
constexpr std::size_t groups = 12;
PARAES_INLINE Vec load(const std::uint8_t* p) {
  return _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
}
PARAES_INLINE void store(std::uint8_t* p, Vec a) {
  _mm_storeu_si128(reinterpret_cast<__m128i*>(p), a);
}
PARAES_INLINE Vec broadcast(const std::uint8_t* p) { return load(p); }
PARAES_INLINE Vec begin(Vec s, const Vec* keys) { return _mm_xor_si128(s, keys[0]); }
PARAES_INLINE Vec middle(Vec s, const Vec* keys, unsigned r) {
  return _mm_aesenc_si128(s, keys[r]);
}
PARAES_INLINE Vec last(Vec s, const Vec* keys, unsigned r) {
  return _mm_aesenclast_si128(s, keys[r]);
}
#include "bench/memory/ports_loop.inc"

}  // namespace
}  // namespace paraes::bench::ports_aesni
PARAES_TARGET_END

PARAES_TARGET_BEGIN("avx2,aes,vaes")
namespace paraes::bench::ports_vaes256 {
namespace {

using Vec = __m256i;
constexpr std::size_t groups = 12;
PARAES_INLINE Vec load(const std::uint8_t* p) {
  return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p));
}
PARAES_INLINE void store(std::uint8_t* p, Vec a) {
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), a);
}
PARAES_INLINE Vec broadcast(const std::uint8_t* p) {
  return _mm256_broadcastsi128_si256(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)));
}
PARAES_INLINE Vec begin(Vec s, const Vec* keys) { return _mm256_xor_si256(s, keys[0]); }
PARAES_INLINE Vec middle(Vec s, const Vec* keys, unsigned r) {
  return _mm256_aesenc_epi128(s, keys[r]);
}
PARAES_INLINE Vec last(Vec s, const Vec* keys, unsigned r) {
  return _mm256_aesenclast_epi128(s, keys[r]);
}
#include "bench/memory/ports_loop.inc"

}  // namespace
}  // namespace paraes::bench::ports_vaes256
PARAES_TARGET_END

PARAES_TARGET_BEGIN("avx512f,aes,vaes")
namespace paraes::bench::ports_vaes512 {
namespace {

using Vec = __m512i;
// With the 15 round keys of AES-256 they take 31 of the 32 registers.
constexpr std::size_t groups = 16;
PARAES_INLINE Vec load(const std::uint8_t* p) { return _mm512_loadu_si512(p); }
PARAES_INLINE void store(std::uint8_t* p, Vec a) { _mm512_storeu_si512(p, a); }
PARAES_INLINE Vec broadcast(const std::uint8_t* p) {
  return _mm512_broadcast_i32x4(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)));
}
PARAES_INLINE Vec begin(Vec s, const Vec* keys) { return _mm512_xor_si512(s, keys[0]); }
PARAES_INLINE Vec middle(Vec s, const Vec* keys, unsigned r) {
  return _mm512_aesenc_epi128(s, keys[r]);
}
PARAES_INLINE Vec last(Vec s, const Vec* keys, unsigned r) {
  return _mm512_aesenclast_epi128(s, keys[r]);
}
#include "bench/memory/ports_loop.inc"

}  // namespace
}  // namespace paraes::bench::ports_vaes512
PARAES_TARGET_END

#elif defined(__AARCH64EL__)
#include <arm_neon.h>

PARAES_TARGET_BEGIN("arch=armv8-a+crypto")
namespace paraes::bench::ports_armv8 {
namespace {

using Vec = uint8x16_t;
// With the 15 round keys of AES-256 they take 31 of the 32 registers.
constexpr std::size_t groups = 16;
PARAES_INLINE Vec load(const std::uint8_t* p) { return vld1q_u8(p); }
PARAES_INLINE void store(std::uint8_t* p, Vec a) { vst1q_u8(p, a); }
PARAES_INLINE Vec broadcast(const std::uint8_t* p) { return load(p); }
// AESE adds its key first.
PARAES_INLINE Vec begin(Vec s, const Vec*) { return s; }
PARAES_INLINE Vec middle(Vec s, const Vec* keys, unsigned r) {
  return vaesmcq_u8(vaeseq_u8(s, keys[r - 1]));
}
PARAES_INLINE Vec last(Vec s, const Vec* keys, unsigned r) {
  return veorq_u8(vaeseq_u8(s, keys[r - 1]), keys[r]);
}
#include "bench/memory/ports_loop.inc"

}  // namespace
}  // namespace paraes::bench::ports_armv8
PARAES_TARGET_END
#endif

namespace paraes::bench {
namespace {

using Blocks = std::array<std::uint8_t, max_ports_bytes>;

class PortsCase : public Case {
 public:
  PortsCase(Row row, const Job& job, const Ports& ports)
      : Case(std::move(row)),
        ports_(ports),
        job_(job),
        executor_(job.threads),
        shares_(static_cast<std::size_t>(executor_.threads())) {
    find_kernel("reference")
        .expand(schedule_, material().key.data(), static_cast<unsigned>(key_bytes(job)));
    const std::uint64_t share = job.bytes / shares_.size();
    times_ = share / ports.bytes;
    if (times_ < 16) throw Skip("--size is too small to measure rounds alone");
    for (std::size_t r = 0; r < shares_.size(); ++r) {
      pattern(r * max_ports_bytes, shares_[r].data(), max_ports_bytes);
    }
  }

  void call() override {
    executor_.run(shares_.size(), 1, [&](unsigned r, std::uint64_t, std::uint64_t) {
      Blocks own = shares_[r];
      ports_.iterate(schedule_.encrypt, schedule_.rounds, own.data(), times_);
      shares_[r] = own;
    });
  }

  [[nodiscard]] bool is_kernel_alone() const override { return true; }

  [[nodiscard]] bool verify() override {
    std::vector<Blocks> expected = shares_;
    call();
    const EvpContext context = Evp::linked().context(job_);
    for (Blocks& share : expected) {
      std::uint8_t* const blocks = share.data();
      for (std::uint64_t i = 0; i < times_; ++i) {
        Evp::linked().update(context.get(), blocks, blocks, ports_.bytes);
      }
    }
    return expected == shares_;
  }

 private:
  const Ports& ports_;
  Job job_;
  Executor executor_;
  KeySchedule schedule_;
  std::uint64_t times_ = 0;
  std::vector<Blocks> shares_;
};

}  // namespace

std::span<const Ports> all_ports() {
#if defined(__x86_64__)
  static constexpr Ports list[] = {
      {"ports-aesni", "aesni", ports_aesni::group_bytes, ports_aesni::iterate},
      {"ports-vaes256", "vaes256", ports_vaes256::group_bytes, ports_vaes256::iterate},
      {"ports-vaes512", "vaes512", ports_vaes512::group_bytes, ports_vaes512::iterate},
  };
  return list;
#elif defined(__AARCH64EL__)
  static constexpr Ports list[] = {
      {"ports-armv8", "armv8", ports_armv8::group_bytes, ports_armv8::iterate},
  };
  return list;
#else
  return {};
#endif
}

std::unique_ptr<Case> make_ports(Row row, const Job& job, const Ports& ports) {
  return std::make_unique<PortsCase>(std::move(row), job, ports);
}

}  // namespace paraes::bench
