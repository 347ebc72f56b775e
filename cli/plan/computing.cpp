#include "cli/plan/computing.hpp"

#include <fmt/format.h>

#include <cstdlib>
#include <string_view>

#include "cli/arguments/options.hpp"
#include "cli/words/choices.hpp"
#include "paraes/devices.hpp"
#include "paraes/error.hpp"

namespace paraes::cli {
namespace {

// What PARAES_KERNEL says; empty for nothing.
std::string_view kernel_of_environment() {
  const char* kernel = std::getenv("PARAES_KERNEL");
  return kernel == nullptr ? "" : kernel;
}

std::string why_kernel(const std::optional<std::string>& named, std::string_view found) {
  if (named && *named != "auto") return "named by --kernel";
  if (!named && kernel_of_environment() == found) return "named by PARAES_KERNEL";
  return "the fastest constant-time one available";
}

}  // namespace

void plan_computing(const CryptOptions& options, Plan& plan) {
  if (plan.verb == Verb::info) return;
  const std::string device = options.device.value_or("auto");
  const std::string kernel = options.kernel.value_or("");
  if (device.starts_with("cpu+") && !is_authenticated(plan.format)) {
    throw InvalidArgument(fmt::format(
        "--device {} shares out segments, which --format {} does not have: name only one of them",
        device, format_name(plan.format)));
  }
  // Check the name before a passphrase is asked for.
  require_device(device);
  plan.kernel = select_kernel(kernel, device, options.allow_leaky);
  plan.why = why_kernel(options.kernel, plan.kernel.name);
  plan.on_gpu = device != "auto" && device != "cpu";
  const std::string_view wanted = kernel.empty() ? kernel_of_environment() : kernel;
  plan.may_choose =
      device == "auto" && (wanted.empty() || wanted == "auto") && is_authenticated(plan.format);
  plan.overlap = !options.no_overlap;
  plan.execution.kernel = kernel;
  plan.execution.threads = options.threads;
  plan.execution.device = device;
  plan.execution.allow_leaky = options.allow_leaky;
  plan.execution.transfer = options.transfer.value_or(Transfer::staged);
  plan.execution.key_expansion = options.key_expansion.value_or(KeyExpansion::host);
  plan.execution.overlap = plan.overlap;
}

}  // namespace paraes::cli
