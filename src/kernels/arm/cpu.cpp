// The CPU features of AArch64.

#if defined(__APPLE__)
#include <sys/sysctl.h>
#else
#include <sys/auxv.h>
#endif

#include <cstdio>

#include "src/kernels/cpu_features.hpp"

namespace paraes {
namespace {

using enum CpuFeature;

constexpr CpuFeatureRow rows[cpu_feature_count] = {
    {asimd, "asimd", CpuFeatureSet()},
    {aes, "aes", CpuFeatureSet(asimd)},
    {pmull, "pmull", CpuFeatureSet(aes)},
    {sha3, "sha3", CpuFeatureSet(asimd)},
};

#if defined(__APPLE__)
bool has(const char* name) {
  int value = 0;
  std::size_t size = sizeof value;
  return sysctlbyname(name, &value, &size, nullptr, 0) == 0 && value != 0;
}
#else
// The bits of AT_HWCAP, which Linux and FreeBSD share.
unsigned long hwcap() {
#if defined(__FreeBSD__)
  unsigned long bits = 0;
  return elf_aux_info(AT_HWCAP, &bits, sizeof bits) == 0 ? bits : 0;
#else
  return getauxval(AT_HWCAP);
#endif
}

// MIDR_EL1, the Main ID Register, whose reads the kernel emulates; 0 if it does not.
unsigned long main_id() {
  constexpr unsigned hwcap_cpuid_bit = 11;
  if (((hwcap() >> hwcap_cpuid_bit) & 1U) == 0) return 0;
  unsigned long midr = 0;
  __asm__("mrs %0, MIDR_EL1" : "=r"(midr));
  return midr;
}

struct Core {
  unsigned implementer;
  unsigned part;
  const char* name;
};

// From the technical reference manuals of the cores. On a machine with several kinds of cores, the
// register is that of the core that reads it.
constexpr Core cores[] = {
    {0x41, 0xd03, "Arm Cortex-A53"},      {0x41, 0xd04, "Arm Cortex-A35"},
    {0x41, 0xd05, "Arm Cortex-A55"},      {0x41, 0xd07, "Arm Cortex-A57"},
    {0x41, 0xd08, "Arm Cortex-A72"},      {0x41, 0xd09, "Arm Cortex-A73"},
    {0x41, 0xd0a, "Arm Cortex-A75"},      {0x41, 0xd0b, "Arm Cortex-A76"},
    {0x41, 0xd0c, "Arm Neoverse N1"},     {0x41, 0xd0d, "Arm Cortex-A77"},
    {0x41, 0xd40, "Arm Neoverse V1"},     {0x41, 0xd41, "Arm Cortex-A78"},
    {0x41, 0xd44, "Arm Cortex-X1"},       {0x41, 0xd46, "Arm Cortex-A510"},
    {0x41, 0xd47, "Arm Cortex-A710"},     {0x41, 0xd48, "Arm Cortex-X2"},
    {0x41, 0xd49, "Arm Neoverse N2"},     {0x41, 0xd4b, "Arm Cortex-A78C"},
    {0x41, 0xd4d, "Arm Cortex-A715"},     {0x41, 0xd4e, "Arm Cortex-X3"},
    {0x41, 0xd4f, "Arm Neoverse V2"},     {0x41, 0xd80, "Arm Cortex-A520"},
    {0x41, 0xd81, "Arm Cortex-A720"},     {0x41, 0xd82, "Arm Cortex-X4"},
    {0x41, 0xd84, "Arm Neoverse V3"},     {0x41, 0xd8e, "Arm Neoverse N3"},
    {0x46, 0x001, "Fujitsu A64FX"},       {0x48, 0xd01, "HiSilicon Kunpeng 920"},
    {0x4e, 0x004, "NVIDIA Carmel"},       {0x51, 0x001, "Qualcomm Oryon"},
    {0x61, 0x022, "Apple M1 (Icestorm)"}, {0x61, 0x023, "Apple M1 (Firestorm)"},
    {0xc0, 0xac3, "Ampere AmpereOne"},    {0xc0, 0xac4, "Ampere AmpereOne"},
};
#endif

}  // namespace

std::span<const CpuFeatureRow> cpu_feature_rows() { return rows; }

#if defined(__APPLE__)

CpuFeatureSet reported_cpu_features() {
  CpuFeatureSet set(asimd);
  if (has("hw.optional.arm.FEAT_AES")) set.add(aes);
  if (has("hw.optional.arm.FEAT_PMULL")) set.add(pmull);
  if (has("hw.optional.arm.FEAT_SHA3")) set.add(sha3);
  return set;
}

std::string reported_cpu_model() {
  char name[128] = {};
  std::size_t size = sizeof name - 1;
  return sysctlbyname("machdep.cpu.brand_string", name, &size, nullptr, 0) == 0 ? name : "";
}

std::string reported_cpu_id() { return ""; }

#else

CpuFeatureSet reported_cpu_features() {
  CpuFeatureSet set;
  const unsigned long bits = hwcap();
  const auto when = [&](unsigned bit, CpuFeature feature) {
    if (((bits >> bit) & 1U) != 0) set.add(feature);
  };
  when(1, asimd);
  when(3, aes);
  when(4, pmull);
  when(17, sha3);
  return set;
}

std::string reported_cpu_model() {
  const unsigned long midr = main_id();
  if (midr == 0) return "";
  const auto implementer = static_cast<unsigned>((midr >> 24) & 0xff);
  const auto part = static_cast<unsigned>((midr >> 4) & 0xfff);
  for (const Core& core : cores) {
    if (core.implementer == implementer && core.part == part) return core.name;
  }
  char text[64];
  static_cast<void>(std::snprintf(text, sizeof text, "AArch64, implementer 0x%02x, part 0x%03x",
                                  implementer, part));
  return text;
}

std::string reported_cpu_id() {
  const unsigned long midr = main_id();
  if (midr == 0) return "";
  char text[80];
  static_cast<void>(
      std::snprintf(text, sizeof text, "implementer 0x%02lx part 0x%03lx variant %lu revision %lu",
                    midr >> 24 & 0xff, midr >> 4 & 0xfff, midr >> 20 & 0xf, midr & 0xf));
  return text;
}

#endif

std::string reported_hypervisor() { return ""; }

bool prefers_second_level_cache() noexcept { return false; }

}  // namespace paraes
