#include "src/kernels/cpu_features.hpp"

#include <sys/utsname.h>

#include <cstdlib>

#include "paraes/error.hpp"
#include "paraes/kernels.hpp"

namespace paraes {
namespace {

// Removes features without those that they build on. One pass is enough, because a row comes after
// those that it builds on.
CpuFeatureSet drop_unfounded(CpuFeatureSet set) {
  for (const CpuFeatureRow& row : cpu_feature_rows()) {
    if (!set.contains(row.builds_on)) set.remove(row.feature);
  }
  return set;
}

}  // namespace

std::string_view cpu_feature_name(CpuFeature feature) {
  return cpu_feature_rows()[static_cast<unsigned>(feature)].name;
}

std::vector<std::string_view> cpu_feature_names(CpuFeatureSet set) {
  std::vector<std::string_view> names;
  for (const CpuFeatureRow& row : cpu_feature_rows()) {
    if (set.has(row.feature)) names.push_back(row.name);
  }
  return names;
}

std::string cpu_feature_list(CpuFeatureSet set, std::string_view separator) {
  std::string list;
  for (const std::string_view name : cpu_feature_names(set)) {
    list.append(list.empty() ? "" : separator).append(name);
  }
  return list;
}

CpuFeatureSet detected_cpu_features() {
  static const CpuFeatureSet set = drop_unfounded(reported_cpu_features());
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
    for (const CpuFeatureRow& row : cpu_feature_rows()) {
      if (row.name == word) {
        hidden.add(row.feature);
        known = true;
      }
    }
    if (known) continue;
    CpuFeatureSet all;
    for (const CpuFeatureRow& row : cpu_feature_rows()) all.add(row.feature);
    throw InvalidArgument("PARAES_CPU_MASK: no CPU feature is called '" + std::string(word) +
                          (all.bits == 0 ? "'; no kernel for this architecture needs any"
                                         : "'; the names are " + cpu_feature_list(all, ", ")));
  }
  const CpuFeatureSet left = detected.without(hidden);
  if (const CpuFeatureSet orphans = left.without(drop_unfounded(left)); orphans.bits != 0) {
    throw InvalidArgument(
        "PARAES_CPU_MASK is inconsistent: it hides features but leaves others that build on them; "
        "hide these too: " +
        cpu_feature_list(orphans, ","));
  }
  return left;
}

CpuFeatureSet usable_cpu_features() {
  const char* mask = std::getenv("PARAES_CPU_MASK");
  return masked_cpu_features(detected_cpu_features(), mask != nullptr ? mask : "");
}

std::vector<std::string_view> cpu_features() { return cpu_feature_names(usable_cpu_features()); }

std::string cpu_model() {
  std::string model = reported_cpu_model();
  if (!model.empty()) return model;
  utsname system{};
  return uname(&system) == 0 ? system.machine : "unknown";
}

}  // namespace paraes
