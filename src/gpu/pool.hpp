// Several GPUs that work together as one device, and the leases of their streams.
#pragma once

#include <algorithm>
#include <array>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "src/core/non_copyable.hpp"
#include "src/gpu/context.hpp"
#include "src/gpu/device_names.hpp"

namespace paraes::gpu {

// Several threads may use it at once.
class DevicePool {
 public:
  // At least one context, all with the same kernel.
  explicit DevicePool(std::vector<std::unique_ptr<DeviceContext>> contexts);

  [[nodiscard]] std::span<const std::unique_ptr<DeviceContext>> contexts() const noexcept {
    return contexts_;
  }
  [[nodiscard]] const GpuKernel& kernel() const noexcept { return *contexts_[0]->variant().kernel; }
  [[nodiscard]] std::string id() const;  // "cuda:0+1"
  [[nodiscard]] unsigned streams() const noexcept { return streams_; }

  // Limits of one launch on any stream, which are the lowest of all devices: bytes of text,
  // messages, and keys of Stream::use_keys().
  [[nodiscard]] std::size_t launch_bytes() const noexcept { return launch_bytes_; }
  [[nodiscard]] std::size_t max_messages() const noexcept {
    return Stream::most_messages(launch_bytes_);
  }
  [[nodiscard]] std::size_t most_keys() const noexcept { return most_keys_; }
  // The bytes of Stream::input(), likewise.
  [[nodiscard]] std::size_t capacity() const noexcept {
    return Stream::capacity_for(launch_bytes_);
  }

  // Exclusive use of a stream, of the device that has the most free ones. The constructor waits
  // until a stream is free. The destructor settles the stream and returns it.
  class Lease : NonCopyable {
   public:
    explicit Lease(DevicePool& pool);
    ~Lease();
    [[nodiscard]] Stream& stream() noexcept { return *stream_; }

   private:
    DevicePool& pool_;
    std::size_t context_ = 0;
    Stream* stream_ = nullptr;
  };

  // Wipes the key with this id from all streams; from leased ones when they are returned. Nobody
  // may use the key any more.
  void forget_key(std::uint64_t id) noexcept;

 private:
  std::vector<std::unique_ptr<DeviceContext>> contexts_;
  std::vector<std::vector<Stream*>> free_;  // by context
  unsigned streams_ = 0;
  std::size_t launch_bytes_ = 0;
  std::size_t most_keys_ = 0;
  std::mutex mutex_;
  unsigned leased_ = 0;
  std::vector<std::uint64_t> forgotten_;  // keys that leased streams must still forget
  std::condition_variable changed_;
};

struct Runtime {
  std::string_view name;
  std::unique_ptr<Platform> (*open)();
};
inline constexpr std::array<Runtime, gpu_runtimes.size()> runtimes = {
    {{"cuda", open_cuda}, {"hip", open_hip}, {"opencl", open_opencl}}};
static_assert(std::equal(runtimes.begin(), runtimes.end(), gpu_runtimes.begin(),
                         [](const Runtime& runtime, std::string_view name) {
                           return runtime.name == name;
                         }));

// Throws InvalidArgument if there is none of this name.
[[nodiscard]] const Runtime& find_runtime(std::string_view name);

// Opens one of them. Throws Unavailable if it is not installed or finds no device.
[[nodiscard]] std::unique_ptr<Platform> open_platform(std::string_view runtime);

// Throws Unavailable if one of the GPUs cannot be used: UnknownDevice if the runtime does not find
// it.
void require_gpus(const DeviceNames& names);

// Opens the GPUs with the program of `kernel`. A process keeps each pool and opens it only once.
// Throws Unavailable if a GPU is missing, DeviceError if one fails, and what load_program throws.
[[nodiscard]] std::shared_ptr<DevicePool> open_pool(const DeviceNames& names,
                                                    const GpuKernel& kernel,
                                                    const PoolOptions& options);

}  // namespace paraes::gpu
