#include "tests/support/builds.hpp"

#include <cstdio>

#include "paraes/error.hpp"

namespace paraes::support {

std::vector<Build> all_builds() {
  const auto rows = kernel_rows();
  return {rows.begin(), rows.end()};
}

std::vector<Build> builds_where(const std::function<bool(const Kernel&)>& condition) {
  std::vector<Build> builds;
  for (const Build row : all_builds()) {
    if (condition(*row)) builds.push_back(row);
  }
  return builds;
}

std::string build_name(const Kernel& row) {
  std::string name(row.name);
  if (!row.variant.empty()) name.append("_").append(row.variant);
  for (char& c : name) {
    if (c == '-' || c == '.') c = '_';  // GoogleTest takes letters, digits and underscores only
  }
  return name;
}

std::string why_unavailable(const Kernel& row) {
  CpuFeatureSet missing;
  missing.bits = row.needs.bits & ~usable_cpu_features().bits;
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

std::string mask_for(const Kernel& row) {
  const CpuFeatureSet detected = detected_cpu_features();
  CpuFeatureSet hidden;
  hidden.bits = detected.bits & ~usable_cpu_features().bits;
  // Every feature comes after those that it depends on. So, from the last to the first, each can be
  // hidden unless the row needs it or a feature that stays visible depends on it.
  for (unsigned i = cpu_feature_count; i-- > 0;) {
    const auto feature = static_cast<CpuFeature>(i);
    if (!detected.has(feature) || row.needs.has(feature)) continue;
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

void BuildTest::SetUp() {
  if (const std::string reason = why_unavailable(row()); !reason.empty()) {
    GTEST_SKIP() << "kernel " << build_name(row()) << " cannot run: " << reason;
  }
  mask_.emplace("PARAES_CPU_MASK", mask_for(row()));
  ASSERT_EQ(&find_kernel(row().name), &row())
      << "the mask " << mask_for(row()) << " does not select this build";
}

void report(const std::string& line) {
  std::printf("ran: %s\n", line.c_str());
  std::fflush(stdout);
  ::testing::Test::RecordProperty("ran", line);
}

}  // namespace paraes::support
