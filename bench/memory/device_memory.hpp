// Memory scope on a GPU: kernels over data that lies in the GPU's memory, without any copy.
#pragma once

#include <memory>
#include <string>

#include "bench/harness/case.hpp"
#include "bench/memory/job.hpp"
#include "src/gpu/pool.hpp"

namespace paraes::bench {

// The input and the output that all variants of one kernel, device and size share, like Arena. The
// device and its program are opened when the first of them asks.
class DeviceMemoryArena {
 public:
  DeviceMemoryArena(std::string device, std::string kernel, std::uint64_t bytes);

  void acquire();  // throws Unavailable and DeviceError
  void release() noexcept;

  [[nodiscard]] gpu::DeviceContext& context() const { return *pool_->contexts()[0]; }
  [[nodiscard]] const gpu::Memory& in() const { return in_; }
  // The text, then room for the tags of its segments.
  [[nodiscard]] const gpu::Memory& out() const { return out_; }
  [[nodiscard]] std::size_t tags_at() const { return (bytes_ + 15) / 16 * 16; }

  void fill_in();    // with the pattern
  void spoil_out();  // so that no run can be right by doing nothing
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
  // GPUs save energy too: a pause between samples must not be paid for by the next one.
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
  std::unique_ptr<gpu::Stream> expander_;  // keeps new keys away from the stream that is timed
};

// Throws Skip for what the library gives the CPU a part of, or keeps apart.
void refuse_device_memory(const Job& job);

}  // namespace paraes::bench
