// CPU features that kernels ask for.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace paraes {

enum class CpuFeature : std::uint8_t {
  ssse3,
  sse41,
  aes,
  pclmulqdq,
  avx,
  avx2,
  vaes,
  vpclmulqdq,
  avx512f,
  avx512dq,
  avx512bw,
  avx512vl,
  avx512vbmi2,
};
inline constexpr unsigned cpu_feature_count = 13;

// A set of features as bits.
struct CpuFeatureSet {
  std::uint32_t bits = 0;

  constexpr CpuFeatureSet() = default;
  template <class... F>
  constexpr explicit CpuFeatureSet(F... features)
      : bits(((1U << static_cast<unsigned>(features)) | ... | 0U)) {}

  [[nodiscard]] constexpr bool has(CpuFeature f) const {
    return ((bits >> static_cast<unsigned>(f)) & 1U) != 0;
  }
  [[nodiscard]] constexpr bool contains(CpuFeatureSet other) const {
    return (bits & other.bits) == other.bits;
  }
  constexpr void add(CpuFeature f) { bits |= 1U << static_cast<unsigned>(f); }
  constexpr void remove(CpuFeature f) { bits &= ~(1U << static_cast<unsigned>(f)); }
};

[[nodiscard]] std::string_view cpu_feature_name(CpuFeature feature);
[[nodiscard]] std::vector<std::string_view> cpu_feature_names(CpuFeatureSet set);

// What the processor has and the operating system saves (XGETBV). A feature that is reported
// without one that it builds on (a hypervisor's inconsistent CPUID) is not in the set.
[[nodiscard]] CpuFeatureSet detected_cpu_features();

// `detected` less the features that `mask` (a comma list, as in PARAES_CPU_MASK) hides. Throws
// InvalidArgument for an unknown name, and for a mask that hides a feature but leaves a detected
// one that needs it.
[[nodiscard]] CpuFeatureSet masked_cpu_features(CpuFeatureSet detected, std::string_view mask);

// detected_cpu_features() under PARAES_CPU_MASK, which is read at each call.
[[nodiscard]] CpuFeatureSet usable_cpu_features();

}  // namespace paraes
