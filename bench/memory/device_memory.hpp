// Memory scope on a GPU: the ciphers of paraes/devices.hpp over data in the GPU's memory. A call
// launches what the cipher's call has launched, with the same descriptions of messages, and waits.
// It copies nothing.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "bench/harness/case.hpp"
#include "bench/memory/job.hpp"
#include "src/cipher/device_memory.hpp"

namespace paraes::bench {

// The input and output buffers that all cases of one device, program and size share, like Arena.
// The first acquire() opens the device and its GPU program.
class DeviceMemoryArena {
 public:
  DeviceMemoryArena(std::string device, std::string kernel, const gpu::VariantOptions& options,
                    std::uint64_t bytes);

  void acquire();  // unless that is done; throws Unavailable and DeviceError

  [[nodiscard]] const std::shared_ptr<gpu::DeviceContext>& context() const { return context_; }
  // The queue for work that is not paraes's.
  [[nodiscard]] gpu::Queue& queue() { return *queue_; }
  // Waits for the work of a queue of the device, as a timed call does.
  void wait(gpu::Queue& queue) const;
  // Each buffer has the text, then three times the tags of its segments, for the three key sizes.
  [[nodiscard]] DeviceBuffer in() const { return {in_.handle(), 0, in_.bytes()}; }
  [[nodiscard]] DeviceBuffer out() const { return {out_.handle(), 0, out_.bytes()}; }
  [[nodiscard]] std::size_t tags_at(int key_bits) const;

  // Writes the text: the pattern, or the one that begins at this place in it.
  void fill_in(std::uint64_t from = 0);
  [[nodiscard]] bool in_is_unchanged(std::uint64_t from);  // since fill_in(from)
  void spoil_out();  // makes a call that writes nothing detectable
  void enqueue_spoil_out();
  void enqueue_copy_in_to_out();  // the text, for work in place
  // Copies the tags for this key size from one buffer to the other.
  void copy_tags_to_in(int key_bits);
  // Whether nothing but zeros is behind the text in the output, except the tags for this key size.
  [[nodiscard]] bool rest_is_zero(std::optional<int> tags_of_key_bits);
  void read(const DeviceBuffer& buffer, std::size_t at, std::uint8_t* to, std::size_t bytes);

 private:
  std::string device_;
  std::string kernel_;
  gpu::VariantOptions options_;
  std::uint64_t bytes_;
  bool ready_ = false;
  std::shared_ptr<gpu::DeviceContext> context_;
  std::unique_ptr<gpu::Queue> queue_;
  gpu::Memory in_;
  gpu::Memory out_;
};

class DeviceMemoryCase : public Case {
 public:
  DeviceMemoryCase(Row row, const Job& job, KeyExpansion key_expansion,
                   std::shared_ptr<DeviceMemoryArena> arena);

  void set_up() override;
  void call() override;
  // A GPU lowers its clocks during a pause. The first call after it must not be timed.
  void lead_in() override { call_untimed(); }
  [[nodiscard]] bool verify() override;
  bool expand_key() override;
  [[nodiscard]] bool is_kernel_alone() const override { return true; }

 private:
  [[nodiscard]] std::vector<std::unique_ptr<gpu::KeyMaterial>> make_key() const;
  [[nodiscard]] std::unique_ptr<detail::DeviceCipherImpl> make_cipher() const;
  [[nodiscard]] std::vector<DeviceText> texts(const DeviceBuffer& in, const DeviceBuffer& out,
                                              const DeviceBuffer& tags) const;
  void launch();
  void make_tags();
  // Work in place is in the output: the rows of GCM decryption need the input unchanged.
  [[nodiscard]] DeviceBuffer in() const { return job_.in_place ? arena_->out() : arena_->in(); }

  Job job_;
  KeyExpansion key_expansion_;
  std::shared_ptr<DeviceMemoryArena> arena_;
  std::unique_ptr<detail::DeviceCipherImpl> cipher_;
  // Expands keys apart from the cipher that is timed.
  std::vector<std::unique_ptr<gpu::KeyMaterial>> expander_key_;
  std::unique_ptr<detail::DeviceCipherImpl> expander_;
};

// Throws Skip for jobs that cannot be repeated on data in GPU memory: GCM decryption in place, and
// XTS with ciphertext stealing, which the library computes on the CPU.
void refuse_device_memory(const Job& job);

}  // namespace paraes::bench
