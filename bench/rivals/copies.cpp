// Copies on the same number of threads, to compare a cipher with. The rate counts each byte once,
// though it is read and written.
#include <algorithm>
#include <cstring>
#include <utility>

#include "bench/harness/case.hpp"
#include "bench/rivals/rivals.hpp"
#include "bench/rivals/split.hpp"
#include "bench/system/machine.hpp"
#include "src/kernels/cpu_features.hpp"
#include "src/kernels/target.hpp"

namespace paraes::bench {
namespace {

// range(in, out, bytes) copies the bytes of one thread.
template <class Range>
std::unique_ptr<Implementation> make_copy(const Job& job, const std::string& name, Range range) {
  if (job.in_place) throw Skip(name + " cannot work in place");
  return std::make_unique<RangesRival<Range>>(job, name, std::move(range));
}

}  // namespace

// The C library's memcpy. This is no upper bound: work in place and kernels with non-temporal
// stores can be faster.
MemoryRival memcpy_rival() {
  const auto copy = [](const std::uint8_t* in, std::uint8_t* out, std::size_t bytes) {
    std::memcpy(out, in, bytes);
  };
  return {"memcpy", "memcpy", [copy](const Job& job) { return make_copy(job, "memcpy", copy); },
          c_library, true};
}

}  // namespace paraes::bench

// A copy by non-temporal stores, which do not read the lines that they overwrite. Work from one
// buffer to another that is larger than the caches can hardly be faster: it reads and writes each
// byte at least once.
#if defined(__x86_64__)
#include <immintrin.h>

namespace paraes::bench {
namespace {

struct Loop {
  std::size_t alignment;   // of the output
  std::size_t step_bytes;  // of which it copies whole multiples
  void (*copy)(const std::uint8_t* in, std::uint8_t* out, std::size_t steps);
};

}  // namespace
}  // namespace paraes::bench

PARAES_TARGET_BEGIN("sse2")
namespace paraes::bench::stream_sse2 {
namespace {

using Vec = __m128i;
PARAES_INLINE Vec load(const std::uint8_t* p) {
  return _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
}
PARAES_INLINE void store_nontemporal(std::uint8_t* p, Vec a) {
  _mm_stream_si128(reinterpret_cast<__m128i*>(p), a);
}
#include "bench/rivals/stream_copy_loop.inc"

}  // namespace
}  // namespace paraes::bench::stream_sse2
PARAES_TARGET_END

PARAES_TARGET_BEGIN("avx2")
namespace paraes::bench::stream_avx2 {
namespace {

using Vec = __m256i;
PARAES_INLINE Vec load(const std::uint8_t* p) {
  return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p));
}
PARAES_INLINE void store_nontemporal(std::uint8_t* p, Vec a) {
  _mm256_stream_si256(reinterpret_cast<__m256i*>(p), a);
}
#include "bench/rivals/stream_copy_loop.inc"

}  // namespace
}  // namespace paraes::bench::stream_avx2
PARAES_TARGET_END

PARAES_TARGET_BEGIN("avx512f")
namespace paraes::bench::stream_avx512 {
namespace {

using Vec = __m512i;
PARAES_INLINE Vec load(const std::uint8_t* p) { return _mm512_loadu_si512(p); }
PARAES_INLINE void store_nontemporal(std::uint8_t* p, Vec a) {
  _mm512_stream_si512(reinterpret_cast<__m512i*>(p), a);
}
#include "bench/rivals/stream_copy_loop.inc"

}  // namespace
}  // namespace paraes::bench::stream_avx512
PARAES_TARGET_END

namespace paraes::bench {
namespace {

// The widest vectors that may be used on this machine.
struct Widest {
  std::string name = "sse2";
  Loop loop = stream_sse2::loop;

  Widest() {
    const CpuFeatureSet features = usable_cpu_features();
    if (features.has(CpuFeature::avx512f)) {
      name = "avx512";
      loop = stream_avx512::loop;
    } else if (features.has(CpuFeature::avx2)) {
      name = "avx2";
      loop = stream_avx2::loop;
    }
  }
};

// The bytes before the first aligned vector, and those after the last whole step, are copied by
// ordinary stores.
void copy_by(const Loop& loop, const std::uint8_t* in, std::uint8_t* out, std::size_t bytes) {
  const std::size_t past = reinterpret_cast<std::uintptr_t>(out) % loop.alignment;
  const std::size_t head = std::min((loop.alignment - past) % loop.alignment, bytes);
  const std::size_t steps = (bytes - head) / loop.step_bytes;
  const std::size_t done = head + steps * loop.step_bytes;
  std::memcpy(out, in, head);
  loop.copy(in + head, out + head, steps);
  std::memcpy(out + done, in + done, bytes - done);
}

}  // namespace

MemoryRival stream_copy_rival() {
  const auto make = [](const Job& job) {
    return make_copy(job, "stream-copy",
                     [loop = Widest().loop](const std::uint8_t* in, std::uint8_t* out,
                                            std::size_t bytes) { copy_by(loop, in, out, bytes); });
  };
  return {"stream-copy", "stream-copy", make, [] { return Widest().name; }, true};
}

}  // namespace paraes::bench

#else

paraes::bench::MemoryRival paraes::bench::stream_copy_rival() {
  return absent_rival("stream-copy", "stream-copy needs an x86-64 processor", true);
}

#endif
