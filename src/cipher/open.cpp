#include "src/cipher/open.hpp"

#include <optional>
#include <string>
#include <utility>

#include "paraes/error.hpp"
#include "paraes/secret.hpp"
#include "src/cipher/cpu.hpp"
#include "src/cipher/fallback.hpp"
#include "src/cipher/gpu.hpp"
#include "src/cipher/gpu_gcm.hpp"
#include "src/cipher/gpu_kernels.hpp"
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

namespace {

// The devices on which a cipher works.
struct Location {
  const Kernel& kernel;  // of the CPU, which does some of the work even with GPUs
  Executor executor;
  std::shared_ptr<gpu::DevicePool> pool;  // nullptr: the CPU does all the work
  bool is_pair = false;                   // both do
  std::string fallback;                   // why `pool` is nullptr although GPUs were requested
};

// Which ciphers can work on the CPU and GPUs together.
enum class Pairs : bool { refuse, accept };

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
  const gpu::KernelRow& row = select_gpu_kernel(execution.kernel, execution.allow_leaky);
  gpu::check_group_threads(execution.group_threads);  // falls back on nothing
  gpu::PoolOptions options{.transfer = execution.transfer, .memory_limit = execution.device_memory};
  gpu::apply(execution.gpu_tuning, options);
  options.variant.group_threads = execution.group_threads;
  try {
    location.pool = gpu::open_pool({gpus->runtime, gpus->indices}, row, options);
  } catch (const Error& error) {
    if (!execution.fall_back) throw;
    location.fallback = error.what();
  }
  return location;
}

GpuUse use_of(const Execution& execution) {
  return {.key_expansion = execution.key_expansion, .overlap = execution.overlap};
}

}  // namespace

std::shared_ptr<const BlockCipher> open_block_cipher(Bytes key, const Execution& execution) {
  check_aes_key(key);
  Location location = find_location(execution, Pairs::refuse);
  if (!location.pool) {
    return make_cpu_block(location.kernel, location.executor, key, std::move(location.fallback));
  }
  return make_gpu_block(
      std::move(location.pool),
      std::make_unique<CipherKey>(location.kernel, key.data(), static_cast<unsigned>(key.size())),
      location.executor, use_of(execution));
}

std::shared_ptr<const XtsCipher> open_xts_cipher(Bytes key, const Execution& execution) {
  check_xts_key(key);
  Location location = find_location(execution, Pairs::refuse);
  if (!location.pool) {
    return make_cpu_xts(location.kernel, location.executor, key, std::move(location.fallback));
  }
  return make_gpu_xts(
      std::move(location.pool),
      std::make_unique<XtsKey>(location.kernel, key.data(), static_cast<unsigned>(key.size() / 2)),
      location.executor, use_of(execution));
}

namespace {

std::shared_ptr<const GcmCipher> open_gcm(Bytes key, const Execution& execution, Pairs pairs) {
  check_aes_key(key);
  Location location = find_location(execution, pairs);
  // make_unique, because only objects made with new lie in locked memory.
  std::shared_ptr<const GcmKey> own =
      std::make_unique<GcmKey>(location.kernel, key.data(), static_cast<unsigned>(key.size()));
  if (!location.pool)
    return make_cpu_gcm(std::move(own), location.executor, std::move(location.fallback));
  const std::shared_ptr<const GcmCipher> cpu = make_cpu_gcm(own, location.executor, {});
  auto gpu = std::make_unique<GpuGcm>(location.pool, own, location.executor, use_of(execution));
  std::shared_ptr<const GcmCipher> cipher;
  if (execution.fall_back) {
    cipher = with_fallback(std::move(gpu), cpu, own);
  } else {
    cipher = std::move(gpu);
  }
  if (!location.is_pair) return cipher;
  return make_pair_gcm(std::move(cipher), cpu, pair_rates(*location.pool, cpu->kernel()));
}

}  // namespace

std::shared_ptr<const GcmCipher> open_gcm_cipher(Bytes key, const Execution& execution) {
  return open_gcm(key, execution, Pairs::refuse);
}

std::shared_ptr<const GcmCipher> open_segment_cipher(Bytes key, const Execution& execution) {
  return open_gcm(key, execution, Pairs::accept);
}

}  // namespace paraes::detail
