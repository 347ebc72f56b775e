// AES on GPUs of a shared library that the user named with --rival: rival_device.h is
// its interface. A row is timed like those of DeviceMemoryCase: from the call to an event behind
// its work.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "bench/harness/case.hpp"
#include "bench/memory/device_memory.hpp"
#include "bench/memory/job.hpp"
#include "bench/rivals/rival_device.h"

namespace paraes::bench {

class LibraryFile;

// The answers of rival_device_traffic(): how a call uses the text.
inline constexpr std::string_view reads_and_writes = "reads and writes";
inline constexpr std::string_view generates_only = "generates only";

// The functions of one library; those that it lacks are null.
struct DeviceRival {
  std::string name;
  decltype(&rival_device_open) open = nullptr;
  decltype(&rival_device_close) close = nullptr;
  decltype(&rival_device_ecb) ecb = nullptr;
  decltype(&rival_device_ctr) ctr = nullptr;
  decltype(&rival_device_gcm) gcm = nullptr;
  std::string traffic{reads_and_writes};

  // Throws Skip for a job that it has no function for.
  void refuse(const Job& job) const;
};

// The functions of a library that has a mode for GPUs, else nullptr. Throws InvalidArgument if it
// has one but not all that goes with it.
[[nodiscard]] std::shared_ptr<const DeviceRival> device_rival_of(const std::string& name,
                                                                 const LibraryFile& file);

class DeviceRivalCase : public Case {
 public:
  // Throws Skip for a job that the library cannot do.
  DeviceRivalCase(Row row, const Job& job, std::shared_ptr<const DeviceRival> rival,
                  std::shared_ptr<DeviceMemoryArena> arena);
  ~DeviceRivalCase() override;

  void set_up() override;
  void call() override;
  // DeviceMemoryCase does the same.
  void lead_in() override { call_untimed(); }
  [[nodiscard]] bool verify() override;
  [[nodiscard]] bool is_kernel_alone() const override { return true; }

 private:
  void open();
  // The work on a job, which is job_ but for its place in the pattern.
  [[nodiscard]] int enqueue(const Job& job, const std::array<std::uint8_t, 16>& counter);
  void call_checked(const Job& job, const std::array<std::uint8_t, 16>& counter);
  [[nodiscard]] std::array<std::uint8_t, 16> next_counter();
  void check_stream();
  // Calls a function of the library with the device current on this thread.
  int call_library(auto work);
  [[nodiscard]] bool is_key_stream(const Job& job, std::uint8_t* text) const;

  Job job_;
  std::shared_ptr<const DeviceRival> rival_;
  std::shared_ptr<DeviceMemoryArena> arena_;
  std::vector<std::uint8_t> nonces_;  // GCM: of the segments
  // The library may keep pointers to these until it closes.
  std::string runtime_;
  rival_device given_{};
  std::array<std::uint8_t, 16> counter_{};
  std::uint64_t calls_ = 0;
  void* state_ = nullptr;
  bool is_open_ = false;
};

}  // namespace paraes::bench
