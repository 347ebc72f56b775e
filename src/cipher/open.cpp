#include "src/cipher/open.hpp"

#include <algorithm>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "paraes/error.hpp"
#include "paraes/secret.hpp"
#include "src/cipher/cpu.hpp"
#include "src/cipher/gpu.hpp"
#include "src/cipher/gpu_gcm.hpp"
#include "src/cipher/pair.hpp"
#include "src/gpu/device_names.hpp"
#include "src/gpu/programs/program_variant.hpp"
#include "src/kernels/registry.hpp"

namespace paraes::detail {

void check_aes_key(Bytes key) {
  if (key.size() == 16 || key.size() == 24 || key.size() == 32) return;
  throw InvalidArgument("an AES key has 16, 24 or 32 bytes (FIPS 197 section 5), not " +
                        std::to_string(key.size()));
}

void check_xts_key(Bytes key) {
  if (key.size() == 48) {
    throw InvalidArgument(
        "XTS has no AES-192 (SP 800-38E section 3): the key has 32 bytes (AES-128) or 64 "
        "(AES-256), not 48");
  }
  if (key.size() != 32 && key.size() != 64) {
    throw InvalidArgument(
        "an XTS key has 32 bytes (AES-128) or 64 (AES-256), both halves together (IEEE 1619 "
        "section 5.1), not " +
        std::to_string(key.size()));
  }
  const std::size_t half = key.size() / 2;
  if (constant_time_equal(key.first(half), key.last(half))) {
    throw InvalidArgument(
        "the two halves of an XTS key must differ (FIPS 140-3 implementation guidance C.I)");
  }
}

const gpu::GpuKernel& select_gpu_kernel(std::string_view request, bool allow_leaky) {
  const std::string_view source = take_kernel_from_environment(request);
  if (request != "auto") return gpu::find_gpu_kernel(request, source);
  const std::span<const gpu::GpuKernel> kernels = gpu::gpu_kernel_table();
  return *std::find_if(kernels.begin(), kernels.end(), [&](const gpu::GpuKernel& kernel) {
    return allow_leaky || kernel.timing == Timing::constant;
  });
}

const Kernel& cpu_kernel(const Execution& execution) {
  if (gpu::parse_device(execution.device)) {
    throw InvalidArgument("the CPU does this, not the device '" + execution.device +
                          "': for messages with a key each, a GPU takes CipherSegments");
  }
  return find_kernel(execution.kernel);
}

namespace {

// The devices on which a cipher works.
struct Location {
  const Kernel& kernel;  // of the CPU, which does some of the work even with GPUs
  Executor executor;
  std::shared_ptr<gpu::DevicePool> pool;  // nullptr: the CPU does all the work
  bool is_pair = false;                   // both do
  std::string fallback;                   // why `pool` is nullptr although GPUs were requested
};

Location find_location(const Execution& execution, Pairs pairs) {
  const std::optional<gpu::DeviceNames> gpus = gpu::parse_device(execution.device);
  // With a GPU, execution.kernel names a GPU kernel.
  Location location{
      find_kernel(gpus ? "auto" : execution.kernel), Executor(execution.threads), {}, {}, {}};
  if (!gpus) return location;
  location.is_pair = gpus->with_cpu;
  if (gpus->with_cpu && pairs == Pairs::refuse) {
    const std::string text = gpus->text();
    throw InvalidArgument("'" + text + "' shares out the segments of a message: here, use '" +
                          text.substr(text.find('+') + 1) + "' or 'cpu'");
  }
  const gpu::GpuKernel& kernel = select_gpu_kernel(execution.kernel, execution.allow_leaky);
  gpu::check_group_threads(execution.group_threads);  // falls back on nothing
  gpu::PoolOptions options{.transfer = execution.transfer, .memory_limit = execution.device_memory};
  gpu::apply(execution.gpu_tuning, options);
  options.variant.group_threads = execution.group_threads;
  try {
    location.pool = gpu::open_pool({gpus->runtime, gpus->indices}, kernel, options);
  } catch (const Error& error) {
    if (!execution.fall_back) throw;
    location.fallback = error.what();
  }
  return location;
}

GpuUse use_of(const Execution& execution) {
  return {.key_expansion = execution.key_expansion, .overlap = execution.overlap};
}

// With new, because only such objects lie in locked memory. `count`: of the keys in `key`.
template <class Key>
std::unique_ptr<const Key> expand(const Kernel& kernel, Bytes key, std::size_t count) {
  return std::make_unique<Key>(kernel, key.data(), static_cast<unsigned>(key.size() / count));
}

}  // namespace

std::shared_ptr<const BlockCipher> open_block_cipher(Bytes key, const Execution& execution) {
  check_aes_key(key);
  Location at = find_location(execution, Pairs::refuse);
  auto own = expand<CipherKey>(at.kernel, key, 1);
  if (!at.pool) return make_cpu_block(std::move(own), at.executor, std::move(at.fallback));
  return make_gpu_block(std::move(at.pool), std::move(own), at.executor, use_of(execution));
}

std::shared_ptr<const XtsCipher> open_xts_cipher(Bytes key, const Execution& execution) {
  check_xts_key(key);
  Location at = find_location(execution, Pairs::refuse);
  auto own = expand<XtsKey>(at.kernel, key, 2);
  if (!at.pool) return make_cpu_xts(std::move(own), at.executor, std::move(at.fallback));
  return make_gpu_xts(std::move(at.pool), std::move(own), at.executor, use_of(execution));
}

std::shared_ptr<const GcmCipher> open_gcm_cipher(Bytes key, const Execution& execution,
                                                 Pairs pairs) {
  check_aes_key(key);
  Location at = find_location(execution, pairs);
  std::shared_ptr<const GcmCipher> cpu =
      make_cpu_gcm(at.kernel, key, at.executor, std::move(at.fallback));
  if (!at.pool) return cpu;
  std::shared_ptr<const GcmKey> own = expand<GcmKey>(at.kernel, key, 1);
  GpuUse use = use_of(execution);
  use.falls_back = execution.fall_back;
  auto gpu = std::make_unique<GpuGcm>(at.pool, own, at.executor, use);
  std::shared_ptr<const GcmCipher> cipher;
  if (execution.fall_back) {
    cipher = with_fallback(std::move(gpu), cpu, own);
  } else {
    cipher = std::move(gpu);
  }
  if (!at.is_pair) return cipher;
  return make_pair_gcm(std::move(cipher), cpu, pair_rates(*at.pool, cpu->kernel()));
}

}  // namespace paraes::detail
