// The CPU's features for the kernels of SUPERCOP: without PARAES_CPU_MASK, which is for tests.

#include "src/kernels/cpu_features.hpp"

namespace paraes {

CpuFeatureSet detected_cpu_features() { return reported_cpu_features(); }

}  // namespace paraes
