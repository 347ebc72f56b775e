#include "src/kernels/registry.hpp"

#include <algorithm>
#include <cstdlib>
#include <string>

#include "paraes/error.hpp"

namespace paraes {
namespace {

// `auto` selects the first available kernel whose timing is constant. OpenSSL and the table kernels
// are last, and are selected only by name.
constexpr const Kernel* table[] = {
#if defined(__x86_64__)
    &vaes512_kernel,       &vaes256_kernel, &aesni_kernel,  &bitslice_avx512_kernel,
    &bitslice_avx2_kernel,
#elif defined(__AARCH64EL__)
    &armv8_eor3_kernel, &armv8_kernel,   &bitslice_neon_kernel,
#endif
    &bitslice_kernel,      &openssl_kernel, &ttable_kernel, &reference_kernel,
};

std::string missing_reason(const Kernel& kernel, CpuFeatureSet usable) {
  const CpuFeatureSet missing = kernel.needs.without(usable);
  const bool hidden = missing.without(detected_cpu_features()).bits != missing.bits;
  return "this machine lacks " + cpu_feature_list(missing, ", ") +
         (hidden ? " (hidden by PARAES_CPU_MASK)" : "");
}

KernelInfo describe(const Kernel& kernel, CpuFeatureSet usable) {
  KernelInfo info;
  info.name = kernel.name;
  info.variant = kernel.variant;
  info.needs = cpu_feature_names(kernel.needs);
  info.timing = kernel.timing;
  info.available = usable.contains(kernel.needs);
  if (!info.available) info.reason = missing_reason(kernel, usable);
  return info;
}

}  // namespace

std::span<const Kernel* const> kernel_table() { return table; }

std::string_view take_kernel_from_environment(std::string_view& request) {
  if (!request.empty()) return {};
  request = kernel_of_environment();
  if (!request.empty()) return "PARAES_KERNEL";
  request = "auto";
  return {};
}

const Kernel& find_kernel(std::string_view request) {
  const CpuFeatureSet usable = usable_cpu_features();
  const std::string_view source = take_kernel_from_environment(request);
  const Kernel* named = nullptr;
  for (const Kernel* kernel : table) {
    const bool wanted =
        request == "auto" ? kernel->timing == Timing::constant : kernel->name == request;
    if (!wanted) continue;
    if (usable.contains(kernel->needs)) return *kernel;
    named = kernel;
  }
  if (named == nullptr) {
    std::string text(source);
    if (!source.empty()) text += ": ";
    text += "there is no kernel '";
    text += request;
    text += "'; the kernels are auto";
    std::string_view last;
    for (const Kernel* kernel : table) {
      if (kernel->name != last) text.append(", ").append(kernel->name);
      last = kernel->name;
    }
    throw UnknownKernel(text, std::string(request), std::string(source));
  }
  throw Unavailable("kernel '" + std::string(named->name) +
                    "' cannot run here: " + missing_reason(*named, usable));
}

std::string_view kernel_of_environment() noexcept {
  const char* const kernel = std::getenv("PARAES_KERNEL");
  return kernel == nullptr ? std::string_view() : kernel;
}

std::vector<KernelInfo> kernels() {
  const CpuFeatureSet usable = usable_cpu_features();
  std::vector<KernelInfo> list;
  for (const Kernel* kernel : table) {
    KernelInfo info = describe(*kernel, usable);
    const auto same = std::find_if(list.begin(), list.end(),
                                   [&](const KernelInfo& k) { return k.name == info.name; });
    if (same == list.end()) {
      list.push_back(std::move(info));
    } else if (!same->available) {
      *same = std::move(info);
    }
  }
  return list;
}

KernelInfo select_kernel(std::string_view request) {
  return describe(find_kernel(request), usable_cpu_features());
}

}  // namespace paraes
