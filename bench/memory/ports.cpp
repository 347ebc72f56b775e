#include "bench/memory/ports.hpp"

#include <array>
#include <cstring>
#include <utility>
#include <vector>

#include "bench/rivals/evp.hpp"
#include "src/core/bytes.hpp"
#include "src/core/executor.hpp"
#include "src/core/key_schedule.hpp"
#include "src/kernels/registry.hpp"
#include "src/kernels/target.hpp"

#if defined(__x86_64__)
#include <immintrin.h>

PARAES_TARGET_BEGIN("sse4.1,aes,pclmul")
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
PARAES_INLINE Vec multiply(Vec a, Vec b) { return _mm_clmulepi64_si128(a, b, 0x00); }
#include "bench/memory/ports_loop.inc"

}  // namespace
}  // namespace paraes::bench::ports_aesni
PARAES_TARGET_END

PARAES_TARGET_BEGIN("avx2,aes,pclmul,vaes,vpclmulqdq")
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
PARAES_INLINE Vec multiply(Vec a, Vec b) { return _mm256_clmulepi64_epi128(a, b, 0x00); }
#include "bench/memory/ports_loop.inc"

}  // namespace
}  // namespace paraes::bench::ports_vaes256
PARAES_TARGET_END

PARAES_TARGET_BEGIN("avx512f,aes,pclmul,vaes,vpclmulqdq")
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
PARAES_INLINE Vec multiply(Vec a, Vec b) { return _mm512_clmulepi64_epi128(a, b, 0x00); }
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
PARAES_INLINE Vec multiply(Vec a, Vec b) {
  const poly64x2_t x = vreinterpretq_p64_u8(a);
  const poly64x2_t y = vreinterpretq_p64_u8(b);
  return vreinterpretq_u8_p128(vmull_p64(vgetq_lane_p64(x, 0), vgetq_lane_p64(y, 0)));
}
#include "bench/memory/ports_loop.inc"

}  // namespace
}  // namespace paraes::bench::ports_armv8
PARAES_TARGET_END
#endif

namespace paraes::bench {
namespace {

using Registers = std::array<std::uint8_t, max_ports_bytes>;

struct Words {
  std::uint64_t low;
  std::uint64_t high;
};

// The carry-less product of two words, bit by bit.
Words carryless_product(std::uint64_t a, std::uint64_t b) {
  Words product{};
  for (unsigned bit = 0; bit < 64; ++bit) {
    if ((b >> bit & 1) == 0) continue;
    product.low ^= a << bit;
    if (bit != 0) product.high ^= a >> (64 - bit);
  }
  return product;
}

// `a` after `times` multiplications by `factor`, of which each but the last keeps the low half.
Words multiplied(std::uint64_t a, std::uint64_t factor, std::uint64_t times) {
  std::uint64_t power = factor;
  for (std::uint64_t left = times - 1; left != 0; left /= 2) {
    if (left % 2 != 0) a = carryless_product(a, power).low;
    power = carryless_product(power, power).low;
  }
  return carryless_product(a, factor);
}

// Does the iterations of a GCM limit, without instructions for AES or multiplication.
void iterate_gcm_slowly(const KeySchedule& schedule, const Ports& ports, std::uint8_t* data,
                        std::uint64_t times) {
  KeySchedule without_round_1;
  without_round_1.rounds = schedule.rounds - 1;
  std::memcpy(without_round_1.encrypt, schedule.encrypt[1], 16 * std::size_t{schedule.rounds});
  const std::size_t block_bytes = gcm_block_registers * ports.register_bytes;
  for (std::uint64_t i = 0; i < 2 * times; ++i) {
    find_kernel("ttable").ecb_encrypt(without_round_1, data, data, block_bytes / 16);
  }
  std::uint8_t* const products = data + block_bytes;
  const std::uint8_t* const factors = products + gcm_product_registers * ports.register_bytes;
  for (std::size_t p = 0; p < gcm_product_registers; ++p) {
    // The registers take turns, which begin with the first one in each iteration.
    const std::uint64_t turns =
        (gcm_multiplications - p + gcm_product_registers - 1) / gcm_product_registers;
    for (std::size_t lane = 0; lane < ports.register_bytes; lane += 16) {
      std::uint8_t* const at = products + p * ports.register_bytes + lane;
      const Words product = multiplied(load_le64(at), load_le64(factors + lane), times * turns);
      store_le64(at, product.low);
      store_le64(at + 8, product.high);
    }
  }
}

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
    times_ = share / (ports.text_registers * ports.register_bytes);
    if (times_ < 16) throw Skip("--size is too small to measure rounds alone");
    for (std::size_t r = 0; r < shares_.size(); ++r) {
      pattern(r * max_ports_bytes, shares_[r].data(), max_ports_bytes);
      if (ports.mode == Mode::gcm) make_factors_odd(shares_[r].data());
    }
  }

  void call() override {
    executor_.run(shares_.size(), 1, [&](unsigned r, std::uint64_t, std::uint64_t) {
      Registers own = shares_[r];
      ports_.iterate(schedule_.encrypt, schedule_.rounds, own.data(), times_);
      shares_[r] = own;
    });
  }

  [[nodiscard]] bool is_kernel_alone() const override { return true; }

  [[nodiscard]] bool verify() override {
    std::vector<Registers> expected = shares_;
    call();
    for (Registers& share : expected) {
      if (ports_.mode == Mode::gcm) {
        iterate_gcm_slowly(schedule_, ports_, share.data(), times_);
      } else {
        iterate_by_openssl(share.data());
      }
    }
    return expected == shares_;
  }

 private:
  // Multiplications by even factors would end at zero.
  void make_factors_odd(std::uint8_t* data) const {
    std::uint8_t* const factors = data + (gcm_registers - 1) * ports_.register_bytes;
    for (std::size_t lane = 0; lane < ports_.register_bytes; lane += 16) factors[lane] |= 1;
  }

  void iterate_by_openssl(std::uint8_t* data) const {
    const EvpContext context = Evp::linked().context(job_);
    for (std::uint64_t i = 0; i < times_; ++i) {
      Evp::linked().update(context.get(), data, data, ports_.registers * ports_.register_bytes);
    }
  }

  const Ports& ports_;
  Job job_;
  Executor executor_;
  KeySchedule schedule_;
  std::uint64_t times_ = 0;
  std::vector<Registers> shares_;
};

}  // namespace

std::span<const Ports> all_ports() {
#if defined(__x86_64__)
  static constexpr Ports list[] = {
      ports_aesni::ecb_limit("ports-aesni", "aesni"),
      ports_vaes256::ecb_limit("ports-vaes256", "vaes256"),
      ports_vaes512::ecb_limit("ports-vaes512", "vaes512"),
      ports_aesni::gcm_limit("ports-gcm-aesni", "aesni"),
      ports_vaes256::gcm_limit("ports-gcm-vaes256", "vaes256"),
      ports_vaes512::gcm_limit("ports-gcm-vaes512", "vaes512"),
  };
  return list;
#elif defined(__AARCH64EL__)
  static constexpr Ports list[] = {
      ports_armv8::ecb_limit("ports-armv8", "armv8"),
      ports_armv8::gcm_limit("ports-gcm-armv8", "armv8"),
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
