#include "src/core/bulk_copy.hpp"

#include <cstdint>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace paraes {

void bulk_copy(void* to, const void* from, std::size_t bytes) noexcept {
  if (bytes == 0) return;
#if defined(__SSE2__)
  constexpr std::size_t line = 64;
  auto* out = static_cast<std::uint8_t*>(to);
  const auto* in = static_cast<const std::uint8_t*>(from);
  const std::size_t head = (line - reinterpret_cast<std::uintptr_t>(out) % line) % line;
  if (bytes >= head + line) {
    std::memcpy(out, in, head);
    out += head;
    in += head;
    bytes -= head;
    for (; bytes >= line; bytes -= line, in += line, out += line) {
      const auto* const four = reinterpret_cast<const __m128i*>(in);
      auto* const target = reinterpret_cast<__m128i*>(out);
      const __m128i a = _mm_loadu_si128(four);
      const __m128i b = _mm_loadu_si128(four + 1);
      const __m128i c = _mm_loadu_si128(four + 2);
      const __m128i d = _mm_loadu_si128(four + 3);
      _mm_stream_si128(target, a);
      _mm_stream_si128(target + 1, b);
      _mm_stream_si128(target + 2, c);
      _mm_stream_si128(target + 3, d);
    }
    _mm_sfence();  // other threads and devices see these stores before any later one
  }
  std::memcpy(out, in, bytes);
#else
  std::memcpy(to, from, bytes);
#endif
}

}  // namespace paraes
