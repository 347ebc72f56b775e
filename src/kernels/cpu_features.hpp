// CPU features that kernels need.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace paraes {

#if defined(__x86_64__)
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
#elif defined(__AARCH64EL__)
enum class CpuFeature : std::uint8_t { asimd, aes, pmull, sha3 };
inline constexpr unsigned cpu_feature_count = 4;
#else
enum class CpuFeature : std::uint8_t {};
inline constexpr unsigned cpu_feature_count = 0;
#endif

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
  [[nodiscard]] constexpr CpuFeatureSet without(CpuFeatureSet other) const {
    CpuFeatureSet left;
    left.bits = bits & ~other.bits;
    return left;
  }
  constexpr void add(CpuFeature f) { bits |= 1U << static_cast<unsigned>(f); }
  constexpr void remove(CpuFeature f) { bits &= ~(1U << static_cast<unsigned>(f)); }
};

// Each architecture defines the following in src/kernels/ARCHITECTURE/cpu.cpp. A row comes after
// those that it builds on.
struct CpuFeatureRow {
  CpuFeature feature;
  std::string_view name;  // as Linux writes it in /proc/cpuinfo, except for sse4.1 and avx512_vbmi2
  CpuFeatureSet builds_on;
};
[[nodiscard]] std::span<const CpuFeatureRow> cpu_feature_rows();
// The features as the processor and the operating system report them.
[[nodiscard]] CpuFeatureSet reported_cpu_features();
// The processor's model, or "" if nothing names it.
[[nodiscard]] std::string reported_cpu_model();
// The processor's numbers, which tell apart what models share a name: vendor, family, model and
// stepping of x86-64; implementer, part, variant and revision of AArch64. "" if nothing tells them.
[[nodiscard]] std::string reported_cpu_id();
// The name by which a hypervisor announces itself to programs, such as KVMKVMKVM; "unnamed" if it
// announces itself without one, "none" if the processor says that there is none, and "" if nothing
// tells.
[[nodiscard]] std::string reported_hypervisor();
// How to use the caches for texts that the second-level cache does not hold: whether to fetch them
// into that cache, and to store them past all caches although the last-level cache could hold them.
// See docs/decisions/0048-texts-in-memory-on-intel.md.
[[nodiscard]] bool prefers_second_level_cache() noexcept;

[[nodiscard]] std::string_view cpu_feature_name(CpuFeature feature);
[[nodiscard]] std::vector<std::string_view> cpu_feature_names(CpuFeatureSet set);
[[nodiscard]] std::string cpu_feature_list(CpuFeatureSet set, std::string_view separator);

// Features that the processor has and whose registers the operating system saves. Does not include
// a feature if one that it builds on is missing, as a hypervisor may report it.
[[nodiscard]] CpuFeatureSet detected_cpu_features();

// `detected` without the features in `mask`, a comma-separated list as in PARAES_CPU_MASK. Throws
// InvalidArgument for an unknown name, and for a mask that hides a feature but not a detected one
// that builds on it.
[[nodiscard]] CpuFeatureSet masked_cpu_features(CpuFeatureSet detected, std::string_view mask);

// detected_cpu_features() without those in PARAES_CPU_MASK, which is read at each call.
[[nodiscard]] CpuFeatureSet usable_cpu_features();

}  // namespace paraes
