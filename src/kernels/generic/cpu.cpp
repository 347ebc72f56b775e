// Architectures without kernels of their own.

#include "src/kernels/cpu_features.hpp"

namespace paraes {

std::span<const CpuFeatureRow> cpu_feature_rows() { return {}; }

CpuFeatureSet reported_cpu_features() { return {}; }

std::string reported_cpu_model() { return ""; }

std::string reported_cpu_id() { return ""; }

std::string reported_hypervisor() { return ""; }

bool prefers_second_level_cache() noexcept { return false; }

}  // namespace paraes
