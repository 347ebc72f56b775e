// The GPUs that one --device names, and who works with which of their lanes.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "src/gpu/station.hpp"

namespace paraes::gpu {

class Fleet {
 public:
  explicit Fleet(std::vector<std::unique_ptr<Station>> stations);
  Fleet(const Fleet&) = delete;
  Fleet& operator=(const Fleet&) = delete;

  [[nodiscard]] std::span<const std::unique_ptr<Station>> stations() const noexcept {
    return stations_;
  }
  [[nodiscard]] const KernelRow& kernel() const noexcept { return *stations_[0]->variant().row; }
  [[nodiscard]] std::string id() const;  // "cuda:0+1"
  [[nodiscard]] unsigned lanes() const noexcept { return lanes_; }

  // What goes through any lane at once: the least of all devices.
  [[nodiscard]] std::size_t fragment_bytes() const noexcept { return fragment_bytes_; }
  [[nodiscard]] std::size_t max_messages() const noexcept { return max_messages_; }
  [[nodiscard]] std::size_t most_keys() const noexcept { return most_keys_; }

  // A lane of one's own, of the device with the most free ones; waits while there is none.
  class Hold {
   public:
    explicit Hold(Fleet& fleet);
    ~Hold();
    Hold(const Hold&) = delete;
    Hold& operator=(const Hold&) = delete;
    [[nodiscard]] Lane& lane() noexcept { return *lane_; }

   private:
    Fleet& fleet_;
    std::size_t station_ = 0;
    Lane* lane_ = nullptr;
  };

  // Wipes what the lanes hold of a key.
  void forget_key(std::uint64_t id) noexcept;

 private:
  std::vector<std::unique_ptr<Station>> stations_;
  std::vector<std::vector<Lane*>> free_;  // by station
  unsigned lanes_ = 0;
  std::size_t fragment_bytes_ = 0;
  std::size_t max_messages_ = 0;
  std::size_t most_keys_ = 0;
  std::mutex mutex_;
  std::condition_variable changed_;
};

// Whether `device` names GPUs ("cuda", "hip:1", "opencl:0+1"), not the CPU. Throws InvalidArgument
// if it names nothing that there is a word for.
[[nodiscard]] bool names_gpu(std::string_view device);

// "cuda", "hip" or "opencl". Throws Unavailable if it is not installed or sees no device.
[[nodiscard]] std::unique_ptr<Platform> open_platform(std::string_view runtime);

// Throws Unavailable if one of the GPUs is missing.
void require_gpus(std::string_view device);

// The GPUs of `device` with the program of `row`, opened once in a process and kept. Throws
// Unavailable if one is missing, DeviceError if one fails.
[[nodiscard]] std::shared_ptr<Fleet> open_fleet(std::string_view device, const KernelRow& row,
                                                const Options& options);

}  // namespace paraes::gpu
