#include "tests/support/kernels.hpp"

#include <cstdio>

#include "paraes/error.hpp"

namespace paraes::support {

std::vector<const Kernel*> compiled_kernels() {
  const auto table = kernel_table();
  return {table.begin(), table.end()};
}

std::vector<const Kernel*> kernels_where(const std::function<bool(const Kernel&)>& condition) {
  std::vector<const Kernel*> found;
  for (const Kernel* kernel : compiled_kernels()) {
    if (condition(*kernel)) found.push_back(kernel);
  }
  return found;
}

std::string kernel_name(const Kernel& kernel) {
  std::string name(kernel.name);
  if (!kernel.variant.empty()) name.append("_").append(kernel.variant);
  for (char& c : name) {
    if (c == '-' || c == '.') c = '_';  // GoogleTest takes letters, digits and underscores only
  }
  return name;
}

std::string why_unavailable(const Kernel& kernel) {
  CpuFeatureSet missing;
  missing.bits = kernel.needs.bits & ~usable_cpu_features().bits;
  if (missing.bits == 0) return {};
  std::string text = "this machine lacks";
  for (const std::string_view name : cpu_feature_names(missing)) text.append(" ").append(name);
  return text;
}

std::string mask_text(CpuFeatureSet hidden) {
  std::string text;
  for (const std::string_view name : cpu_feature_names(hidden)) {
    if (!text.empty()) text += ',';
    text += name;
  }
  return text;
}

std::string mask_for(const Kernel& kernel) {
  const CpuFeatureSet detected = detected_cpu_features();
  CpuFeatureSet hidden;
  hidden.bits = detected.bits & ~usable_cpu_features().bits;
  // Every feature comes after those that it depends on. So, from the last to the first, each can be
  // hidden unless the kernel needs it or a feature that stays visible depends on it.
  for (unsigned i = cpu_feature_count; i-- > 0;) {
    const auto feature = static_cast<CpuFeature>(i);
    if (!detected.has(feature) || kernel.needs.has(feature)) continue;
    CpuFeatureSet more = hidden;
    more.add(feature);
    try {
      static_cast<void>(masked_cpu_features(detected, mask_text(more)));
      hidden = more;
    } catch (const InvalidArgument&) {
      continue;
    }
  }
  return mask_text(hidden);
}

void KernelTest::SetUp() {
  if (const std::string reason = why_unavailable(kernel()); !reason.empty()) {
    GTEST_SKIP() << "kernel " << kernel_name(kernel()) << " cannot run: " << reason;
  }
  mask_.emplace("PARAES_CPU_MASK", mask_for(kernel()));
  ASSERT_EQ(&find_kernel(kernel().name), &kernel())
      << "the mask " << mask_for(kernel()) << " does not select it";
  prepare();
}

void report(const std::string& line) {
  std::printf("ran: %s\n", line.c_str());
  std::fflush(stdout);
  ::testing::Test::RecordProperty("ran", line);
}

}  // namespace paraes::support
