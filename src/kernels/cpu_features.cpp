#include "src/kernels/cpu_features.hpp"

#include <cstdlib>
#include <string>

#include "paraes/error.hpp"
#include "paraes/kernels.hpp"

#if defined(__x86_64__) || defined(__i386__)
#include <cpuid.h>
#endif

namespace paraes {
namespace {

using enum CpuFeature;

struct FeatureRow {
  CpuFeature feature;
  std::string_view name;
  CpuFeatureSet builds_on;
};

constexpr FeatureRow feature_rows[cpu_feature_count] = {
    {ssse3, "ssse3", CpuFeatureSet()},
    {sse41, "sse4.1", CpuFeatureSet(ssse3)},
    {aes, "aes", CpuFeatureSet(sse41)},
    {pclmulqdq, "pclmulqdq", CpuFeatureSet(sse41)},
    {avx, "avx", CpuFeatureSet(sse41)},
    {avx2, "avx2", CpuFeatureSet(avx)},
    {vaes, "vaes", CpuFeatureSet(aes, avx2)},
    {vpclmulqdq, "vpclmulqdq", CpuFeatureSet(pclmulqdq, avx2)},
    {avx512f, "avx512f", CpuFeatureSet(avx2)},
    {avx512dq, "avx512dq", CpuFeatureSet(avx512f)},
    {avx512bw, "avx512bw", CpuFeatureSet(avx512f)},
    {avx512vl, "avx512vl", CpuFeatureSet(avx512f)},
    {avx512vbmi2, "avx512_vbmi2", CpuFeatureSet(avx512bw)},
};

// Removes features without those that they build on. One pass is enough, because a row comes after
// those that it builds on.
CpuFeatureSet drop_unfounded(CpuFeatureSet set) {
  for (const FeatureRow& row : feature_rows) {
    if (!set.contains(row.builds_on)) set.remove(row.feature);
  }
  return set;
}

#if defined(__x86_64__) || defined(__i386__)
std::uint64_t xgetbv0() {
  std::uint32_t low;
  std::uint32_t high;
  __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return (static_cast<std::uint64_t>(high) << 32) | low;
}

CpuFeatureSet detect() {
  CpuFeatureSet set;
  unsigned a = 0;
  unsigned b = 0;
  unsigned c = 0;
  unsigned d = 0;
  if (__get_cpuid(1, &a, &b, &c, &d) == 0) return set;
  const auto when = [&set](unsigned word, unsigned bit, CpuFeature feature) {
    if (((word >> bit) & 1U) != 0) set.add(feature);
  };
  when(c, 1, pclmulqdq);
  when(c, 9, ssse3);
  when(c, 19, sse41);
  when(c, 25, aes);
  // XCR0: bits 1 and 2 are the xmm and ymm state, bits 5 to 7 the opmask and zmm state. The
  // register can be read only with OSXSAVE.
  const bool osxsave = ((c >> 27) & 1U) != 0;
  const std::uint64_t xcr0 = osxsave ? xgetbv0() : 0;
  const bool ymm = (xcr0 & 0x06U) == 0x06U;
  const bool zmm = (xcr0 & 0xe6U) == 0xe6U;
  if (ymm) when(c, 28, avx);
  if (__get_cpuid_count(7, 0, &a, &b, &c, &d) == 0) return set;
  if (ymm) {
    when(b, 5, avx2);
    when(c, 9, vaes);
    when(c, 10, vpclmulqdq);
  }
  if (zmm) {
    when(b, 16, avx512f);
    when(b, 17, avx512dq);
    when(b, 30, avx512bw);
    when(b, 31, avx512vl);
    when(c, 6, avx512vbmi2);
  }
  return set;
}
#else
CpuFeatureSet detect() { return {}; }
#endif

}  // namespace

std::string_view cpu_feature_name(CpuFeature feature) {
  return feature_rows[static_cast<unsigned>(feature)].name;
}

std::vector<std::string_view> cpu_feature_names(CpuFeatureSet set) {
  std::vector<std::string_view> names;
  for (const FeatureRow& row : feature_rows) {
    if (set.has(row.feature)) names.push_back(row.name);
  }
  return names;
}

CpuFeatureSet detected_cpu_features() {
  static const CpuFeatureSet set = drop_unfounded(detect());
  return set;
}

CpuFeatureSet masked_cpu_features(CpuFeatureSet detected, std::string_view mask) {
  CpuFeatureSet hidden;
  while (!mask.empty()) {
    const std::size_t comma = mask.find(',');
    const std::string_view word = mask.substr(0, comma);
    mask = comma == std::string_view::npos ? std::string_view() : mask.substr(comma + 1);
    if (word.empty()) continue;
    bool known = false;
    for (const FeatureRow& row : feature_rows) {
      if (row.name == word) {
        hidden.add(row.feature);
        known = true;
      }
    }
    if (!known) {
      std::string names;
      for (const FeatureRow& row : feature_rows) {
        names += names.empty() ? "" : ", ";
        names += row.name;
      }
      throw InvalidArgument("PARAES_CPU_MASK: no CPU feature is called '" + std::string(word) +
                            "'; the names are " + names);
    }
  }
  CpuFeatureSet left;
  left.bits = detected.bits & ~hidden.bits;
  const CpuFeatureSet founded = drop_unfounded(left);
  if (founded.bits != left.bits) {
    CpuFeatureSet orphans;
    orphans.bits = left.bits & ~founded.bits;
    std::string names;
    for (const std::string_view name : cpu_feature_names(orphans)) {
      names += names.empty() ? "" : ",";
      names += name;
    }
    throw InvalidArgument(
        "PARAES_CPU_MASK is inconsistent: it hides features but leaves others that build on them; "
        "hide these too: " +
        names);
  }
  return left;
}

CpuFeatureSet usable_cpu_features() {
  const char* mask = std::getenv("PARAES_CPU_MASK");
  return masked_cpu_features(detected_cpu_features(), mask != nullptr ? mask : "");
}

std::vector<std::string_view> cpu_features() { return cpu_feature_names(usable_cpu_features()); }

std::string cpu_model() {
#if defined(__x86_64__) || defined(__i386__)
  unsigned words[12] = {};
  // Clang declares __get_cpuid_max as int.
  if (static_cast<unsigned>(__get_cpuid_max(0x80000000U, nullptr)) >= 0x80000004U) {
    for (unsigned i = 0; i < 3; ++i) {
      __get_cpuid(0x80000002U + i, &words[4 * i], &words[4 * i + 1], &words[4 * i + 2],
                  &words[4 * i + 3]);
    }
  }
  std::string name(reinterpret_cast<const char*>(words), sizeof words);
  name.resize(name.find('\0') != std::string::npos ? name.find('\0') : name.size());
  const std::size_t first = name.find_first_not_of(' ');
  if (first == std::string::npos) return "unknown";
  return name.substr(first, name.find_last_not_of(' ') - first + 1);
#else
  return "unknown";
#endif
}

}  // namespace paraes
