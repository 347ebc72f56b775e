// Copies past the caches.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace paraes {

// As memcpy, with stores that do not bring the lines they write into the caches, where the machine
// has such stores. Other threads see them in order only after fence_copies.
inline void copy_past_caches(std::uint8_t* to, const std::uint8_t* from,
                             std::size_t bytes) noexcept {
#if defined(__SSE2__)
  const std::size_t head = (0 - reinterpret_cast<std::uintptr_t>(to)) & 63;
  if (bytes >= head + 64) {
    std::memcpy(to, from, head);
    to += head;
    from += head;
    bytes -= head;
    // Whole lines, so that each leaves the write-combining buffer in one piece.
    for (; bytes >= 64; bytes -= 64, to += 64, from += 64) {
      const auto* source = reinterpret_cast<const __m128i*>(from);
      auto* target = reinterpret_cast<__m128i*>(to);
      const __m128i a = _mm_loadu_si128(source);
      const __m128i b = _mm_loadu_si128(source + 1);
      const __m128i c = _mm_loadu_si128(source + 2);
      const __m128i d = _mm_loadu_si128(source + 3);
      _mm_stream_si128(target, a);
      _mm_stream_si128(target + 1, b);
      _mm_stream_si128(target + 2, c);
      _mm_stream_si128(target + 3, d);
    }
  }
#endif
  std::memcpy(to, from, bytes);
}

inline void fence_copies() noexcept {
#if defined(__SSE2__)
  _mm_sfence();
#endif
}

}  // namespace paraes
