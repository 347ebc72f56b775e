// A GPU that is ready to work: the opened device, the programs of one kernel, and its streams.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "src/gpu/programs/load_program.hpp"
#include "src/gpu/runtime/runtime.hpp"
#include "src/gpu/stream.hpp"

namespace paraes::gpu {

struct PoolOptions {
  Transfer transfer = Transfer::staged;
  std::uint64_t memory_limit = 0;  // bytes on each device; 0: all that is free
  unsigned streams = 12;
  // Bytes of text of a launch. With three phases (to the device, kernel, back) a dozen launches
  // keep the bus busy both ways, and small ones fill it and drain it sooner.
  std::size_t launch_bytes = std::size_t{4} << 20;
  VariantOptions variant = {};

  // clang-tidy takes its comparison with 0 for a pointer.
  auto operator<=>(const PoolOptions&) const = default;  // NOLINT(modernize-use-nullptr)
};

// Sets what `tuning` does not leave open. Throws InvalidArgument for numbers that are out of range.
void apply(const GpuTuning& tuning, PoolOptions& options);

// Several threads may use it at once, but only one at a time may use each stream.
class DeviceContext {
 public:
  // Loads the program of `kernel` and creates the streams. `platform` may be nullptr. Throws what
  // variant_for and load_program throw, and OutOfMemory if the device lacks memory for two small
  // streams.
  DeviceContext(std::unique_ptr<Platform> platform, std::unique_ptr<Device> device,
                const GpuKernel& kernel, const PoolOptions& options);
  ~DeviceContext();

  [[nodiscard]] Device& device() noexcept { return *device_; }
  [[nodiscard]] const DeviceInfo& info() const noexcept { return device_->info(); }
  [[nodiscard]] const ProgramVariant& variant() const noexcept { return variant_; }
  // The program for launches with these needs. The first call for any but the usual ones may load
  // it, and throws what load_program throws.
  [[nodiscard]] Program& program(const ProgramNeeds& needs = {});
  [[nodiscard]] const std::string& program_origin() const noexcept { return program_.origin; }

  // Most keys of Stream::use_keys().
  [[nodiscard]] std::size_t most_keys() const noexcept;

  // Most bytes of text in one launch of its streams.
  [[nodiscard]] std::size_t launch_bytes() const noexcept { return launch_bytes_; }

  [[nodiscard]] std::span<const std::unique_ptr<Stream>> streams() const noexcept {
    return streams_;
  }

  // How many launches all streams have made, for tests.
  [[nodiscard]] std::uint64_t launches() const noexcept;

 private:
  void make_streams(const PoolOptions& options);

  std::unique_ptr<Platform> platform_;
  std::unique_ptr<Device> device_;
  ProgramVariant variant_;
  LoadedProgram program_;
  std::mutex others_mutex_;
  std::map<ProgramNeeds, LoadedProgram> others_;
  std::size_t launch_bytes_ = 0;
  std::vector<std::unique_ptr<Stream>> streams_;
};

}  // namespace paraes::gpu
