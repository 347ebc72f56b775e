// Memory scope on a GPU: a call launches the kernels of a mode over data in the GPU's memory and
// waits for them. It copies nothing.
#pragma once

#include <memory>
#include <string>

#include "bench/harness/case.hpp"
#include "bench/memory/job.hpp"
#include "src/gpu/pool.hpp"

namespace paraes::bench {

// The input and output buffers that all cases of one kernel, device and size share, like Arena. The
// first acquire() opens the device and its GPU program.
class DeviceMemoryArena {
 public:
  DeviceMemoryArena(std::string device, std::string kernel, std::uint64_t bytes);

  void acquire();  // throws Unavailable and DeviceError
  void release() noexcept;

  [[nodiscard]] gpu::DeviceContext& context() const { return *pool_->contexts()[0]; }
  [[nodiscard]] const gpu::Memory& in() const { return in_; }
  // The text, then the tags of its segments from tags_at() on.
  [[nodiscard]] const gpu::Memory& out() const { return out_; }
  [[nodiscard]] std::size_t tags_at() const { return (bytes_ + 15) / 16 * 16; }

  void fill_in();    // with the pattern
  void spoil_out();  // makes a call that writes nothing detectable
  void read_out(std::uint8_t* to);

 private:
  std::string device_;
  std::string kernel_;
  std::uint64_t bytes_;
  int holders_ = 0;
  std::shared_ptr<gpu::DevicePool> pool_;
  std::unique_ptr<gpu::Queue> queue_;
  gpu::Memory in_;
  gpu::Memory out_;
};

class DeviceMemoryCase : public Case {
 public:
  DeviceMemoryCase(Row row, const Job& job, KeyExpansion key_expansion,
                   std::shared_ptr<DeviceMemoryArena> arena);

  void set_up() override;
  void tear_down() noexcept override;
  void call() override;
  // A GPU lowers its clocks during a pause. The first call after it must not be timed.
  void lead_in() override { call_untimed(); }
  [[nodiscard]] bool verify() override;
  bool expand_key() override;
  [[nodiscard]] bool is_kernel_alone() const override { return true; }

 private:
  [[nodiscard]] std::unique_ptr<gpu::KeyMaterial> make_key() const;
  void launch();
  void launch_segments();

  Job job_;
  KeyExpansion key_expansion_;
  std::shared_ptr<DeviceMemoryArena> arena_;
  bool holds_arena_ = false;
  std::unique_ptr<gpu::KeyMaterial> key_;
  std::unique_ptr<gpu::Stream> stream_;
  std::unique_ptr<gpu::Stream> expander_;  // expands keys apart from the stream that is timed
};

// Throws Skip for jobs that cannot run on data in GPU memory: in place, and XTS with an incomplete
// last data unit, which the library computes on the CPU.
void refuse_device_memory(const Job& job);

}  // namespace paraes::bench
