// The CPU features of x86-64.

#include <cpuid.h>

#include <initializer_list>
#include <optional>

#include "src/kernels/cpu_features.hpp"

namespace paraes {
namespace {

using enum CpuFeature;

constexpr CpuFeatureRow rows[cpu_feature_count] = {
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

struct Registers {
  unsigned a = 0;
  unsigned b = 0;
  unsigned c = 0;
  unsigned d = 0;
};

// Returns what CPUID reports for a leaf, if the processor has it.
std::optional<Registers> cpuid(unsigned leaf) {
  Registers r;
  if (__get_cpuid_count(leaf, 0, &r.a, &r.b, &r.c, &r.d) == 0) return std::nullopt;
  return r;
}

// The printable characters in the bytes of CPUID's registers.
std::string text_of(std::initializer_list<unsigned> registers) {
  std::string text;
  for (const unsigned word : registers) {
    for (unsigned i = 0; i < 4; ++i) {
      const auto c = static_cast<char>(word >> 8 * i & 0xffU);
      if (c >= ' ' && c <= '~') text += c;
    }
  }
  return text;
}

std::uint64_t xgetbv0() {
  std::uint32_t low;
  std::uint32_t high;
  __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return (static_cast<std::uint64_t>(high) << 32) | low;
}

std::string vendor() {
  const auto leaf = cpuid(0);
  return leaf ? text_of({leaf->b, leaf->d, leaf->c}) : "";
}

bool find_intel_with_avx512() noexcept {
  return vendor() == "GenuineIntel" && detected_cpu_features().has(avx512f);
}

// Kernels read it. As a static variable of the function it would be initialized by the first call,
// which would then execute other instructions than each later one. Whoever reads it before this
// initializer has run finds false, which is slower on such a processor and never wrong.
const bool intel_with_avx512 = find_intel_with_avx512();

}  // namespace

std::span<const CpuFeatureRow> cpu_feature_rows() { return rows; }

CpuFeatureSet reported_cpu_features() {
  CpuFeatureSet set;
  const auto first = cpuid(1);
  if (!first) return set;
  const auto when = [&set](unsigned word, unsigned bit, CpuFeature feature) {
    if (((word >> bit) & 1U) != 0) set.add(feature);
  };
  when(first->c, 1, pclmulqdq);
  when(first->c, 9, ssse3);
  when(first->c, 19, sse41);
  when(first->c, 25, aes);
  // XCR0: bits 1 and 2 are the xmm and ymm state, bits 5 to 7 the opmask and zmm state. The
  // register can be read only with OSXSAVE.
  const bool osxsave = ((first->c >> 27) & 1U) != 0;
  const std::uint64_t xcr0 = osxsave ? xgetbv0() : 0;
  const bool ymm = (xcr0 & 0x06U) == 0x06U;
  const bool zmm = (xcr0 & 0xe6U) == 0xe6U;
  if (ymm) when(first->c, 28, avx);
  const auto extended = cpuid(7);
  if (!extended) return set;
  if (ymm) {
    when(extended->b, 5, avx2);
    when(extended->c, 9, vaes);
    when(extended->c, 10, vpclmulqdq);
  }
  if (zmm) {
    when(extended->b, 16, avx512f);
    when(extended->b, 17, avx512dq);
    when(extended->b, 30, avx512bw);
    when(extended->b, 31, avx512vl);
    when(extended->c, 6, avx512vbmi2);
  }
  return set;
}

std::string reported_cpu_model() {
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
  if (first == std::string::npos) return "";
  return name.substr(first, name.find_last_not_of(' ') - first + 1);
}

std::string reported_cpu_id() {
  const auto leaf = cpuid(1);
  if (!leaf) return "";
  unsigned family = leaf->a >> 8 & 0xfU;
  unsigned model = leaf->a >> 4 & 0xfU;
  if (family == 0x6 || family == 0xf) model += (leaf->a >> 16 & 0xfU) << 4;
  if (family == 0xf) family += leaf->a >> 20 & 0xffU;
  return vendor() + " family " + std::to_string(family) + " model " + std::to_string(model) +
         " stepping " + std::to_string(leaf->a & 0xfU);
}

std::string reported_hypervisor() {
  const auto leaf = cpuid(1);
  if (!leaf) return "";
  if (leaf->c >> 31 == 0) return "none";
  Registers r;
  __cpuid(0x40000000U, r.a, r.b, r.c,
          r.d);  // not __get_cpuid, which knows no leaves of hypervisors
  const std::string name = text_of({r.b, r.c, r.d});
  return name.empty() ? "unnamed" : name;
}

bool prefers_second_level_cache() noexcept { return intel_with_avx512; }

}  // namespace paraes
