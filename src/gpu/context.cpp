#include "src/gpu/context.hpp"

#include <algorithm>
#include <utility>

#include "paraes/error.hpp"

namespace paraes::gpu {
namespace {

constexpr std::size_t least_launch_bytes = std::size_t{64} << 10;

// GpuTuning::launch_bytes is a multiple of this.
constexpr std::size_t launch_unit = least_launch_bytes;
constexpr std::size_t most_launch_bytes = std::size_t{256} << 20;
constexpr unsigned most_streams = 64;
constexpr unsigned most_groups = 8;

void refuse_tuning(const char* what) {
  throw InvalidArgument(std::string("the tuning of a GPU: ") + what);
}

}  // namespace

void apply(const GpuTuning& tuning, PoolOptions& options) {
  if (tuning.streams > most_streams) refuse_tuning("there are 1 to 64 streams");
  if (tuning.launch_bytes > most_launch_bytes || tuning.launch_bytes % launch_unit != 0) {
    refuse_tuning("the bytes of a launch are a multiple of 64 KiB, at most 256 MiB");
  }
  if (tuning.tables > 4 || tuning.tables == 3) refuse_tuning("there are 1, 2 or 4 tables");
  if (tuning.groups_per_processor > most_groups) {
    refuse_tuning("there are 1 to 8 groups in a multiprocessor");
  }
  if (tuning.streams != 0) options.streams = tuning.streams;
  if (tuning.launch_bytes != 0) options.launch_bytes = tuning.launch_bytes;
  options.variant.tables = tuning.tables;
  options.variant.groups_per_unit = tuning.groups_per_processor;
  options.variant.tensor_hash = tuning.tensor_hash;
}

DeviceContext::DeviceContext(std::unique_ptr<Platform> platform, std::unique_ptr<Device> device,
                             const GpuKernel& kernel, const PoolOptions& options)
    : platform_(std::move(platform)),
      device_(std::move(device)),
      variant_(variant_for(kernel, device_->info(), options.variant)),
      program_(load_program(*device_, variant_)) {
  if (options.streams != 0) make_streams(options);
}

DeviceContext::~DeviceContext() = default;

Program& DeviceContext::program(const ProgramNeeds& needs) {
  ProgramNeeds other = needs;
  if (variant_.keys_in_memory) other.many_keys = false;
  if (other == ProgramNeeds{}) return *program_.program;
  const std::lock_guard lock(others_mutex_);
  LoadedProgram& loaded = others_[other];
  if (!loaded.program) loaded = load_program(*device_, variant_that(variant_, other));
  return *loaded.program;
}

std::size_t DeviceContext::most_keys() const noexcept {
  return KeySlots::most_keys(variant_, launch_bytes_);
}

std::uint64_t DeviceContext::launches() const noexcept {
  std::uint64_t sum = 0;
  for (const auto& stream : streams_) sum += stream->launches();
  return sum;
}

void DeviceContext::make_streams(const PoolOptions& options) {
  std::uint64_t budget = device_->free_bytes();
  if (options.memory_limit != 0) budget = std::min(budget, options.memory_limit);
  // A stream has two buffers of data, and XTS tweaks may take as much memory again.
  constexpr std::uint64_t buffers = 4;
  launch_bytes_ = options.launch_bytes;
  while (launch_bytes_ > least_launch_bytes && options.streams * buffers * launch_bytes_ > budget) {
    launch_bytes_ /= 2;
  }
  for (;;) {
    try {
      while (streams_.size() < options.streams) {
        streams_.push_back(std::make_unique<Stream>(*this, launch_bytes_, options.transfer));
      }
      break;
    } catch (const OutOfMemory&) {
      // Other processes use the device too. Two streams are enough.
      if (streams_.size() >= std::min(options.streams, 2U)) break;
      streams_.clear();
      if (launch_bytes_ <= least_launch_bytes) throw;
      launch_bytes_ /= 2;
    }
  }
}

}  // namespace paraes::gpu
