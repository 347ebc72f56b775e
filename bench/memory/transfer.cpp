#include "bench/memory/transfer.hpp"

#include <cstring>
#include <optional>
#include <utility>
#include <vector>

#include "bench/memory/memory_case.hpp"
#include "bench/memory/oracle.hpp"
#include "bench/memory/ours.hpp"
#include "paraes/error.hpp"
#include "src/gpu/pool.hpp"

namespace paraes::bench {
namespace {

struct OpenedDevice {
  std::unique_ptr<gpu::Platform> platform;
  std::unique_ptr<gpu::Device> device;
};

OpenedDevice open_device(const std::string& id) {
  const std::size_t colon = id.find(':');
  OpenedDevice opened;
  opened.platform = gpu::open_platform(id.substr(0, colon));
  opened.device = opened.platform->open(static_cast<unsigned>(std::stoul(id.substr(colon + 1))));
  return opened;
}

class PinnedCopy : public Case {
 public:
  using Case::Case;

  void set_up() override try { open(); } catch (const Error& error) {
    throw Skip(error.what());
  }

  void call() override {
    down_->download(to_host_->host().data(), source_, 0, row().bytes);
    if (!row().overlap) down_->finish();
    up_->upload(uploaded_, 0, from_host_->host().data(), row().bytes);
    up_->finish();
    down_->finish();
  }

  [[nodiscard]] bool verify() override {
    std::uint8_t* const downloaded = to_host_->host().data();
    up_->clear(uploaded_, 0, row().bytes);
    up_->finish();
    std::memset(downloaded, 0xa5, row().bytes);
    call();
    const Job copy{.bytes = row().bytes};
    if (!is_answer(copy, downloaded, nullptr)) return false;
    // The uploaded bytes must be downloaded to be compared.
    std::memset(downloaded, 0xa5, row().bytes);
    down_->download(downloaded, uploaded_, 0, row().bytes);
    down_->finish();
    return is_answer(copy, downloaded, nullptr);
  }

 private:
  void open() {
    opened_ = open_device(row().device);
    gpu::Device& device = *opened_.device;
    from_host_ = device.allocate_pinned(row().bytes, false);
    to_host_ = device.allocate_pinned(row().bytes, false);
    uploaded_ = device.allocate(row().bytes);
    source_ = device.allocate(row().bytes);
    up_ = device.make_queue();
    down_ = device.make_queue();
    pattern(0, from_host_->host().data(), row().bytes);
    up_->upload(source_, 0, from_host_->host().data(), row().bytes);
    up_->finish();
  }

  // Queues and memory end before their device.
  OpenedDevice opened_;
  std::unique_ptr<gpu::PinnedMemory> from_host_;
  std::unique_ptr<gpu::PinnedMemory> to_host_;
  gpu::Memory uploaded_;  // device memory that a call writes
  gpu::Memory source_;    // device memory that a call reads
  std::unique_ptr<gpu::Queue> up_;
  std::unique_ptr<gpu::Queue> down_;
};

class TransferCase : public MemoryCase {
 public:
  TransferCase(Row row, const Job& job, std::shared_ptr<Arena> arena, Execution execution)
      : MemoryCase(std::move(row), job, nullptr, std::move(arena)),
        execution_(std::move(execution)) {}

  void set_up() override try {
    use(make_ours(job(), execution_));
    MemoryCase::set_up();
    // OpenCL says only when it launches a kernel that its groups would be too large.
    if (execution_.group_threads != 0) call();
  } catch (const Error& error) {
    throw Skip(error.what());
  }

  // Encrypts 64 bytes with a new cipher, on one stream. The sample is the time that the stream's
  // queue is busy with the key: copies it, expands it (KeyExpansion::device), and derives the
  // sliced key and the hash key. Expansion on the host is not included.
  bool expand_key() override {
    Job small = job();
    small.direction = Direction::encrypt;
    if (small.mode == Mode::cbc) small.mode = Mode::ecb;  // CBC encryption would run on the CPU
    small.bytes = small.unit = 64;
    std::vector<std::uint8_t> text(small.bytes);
    std::uint8_t tag[16];
    const auto fresh = make_ours(small, execution_);
    fresh->run(text.data(), text.data(), tag);
    key_expansion_ns_ = key_expansion_ns_.value_or(0) +
                        static_cast<double>(fresh->take_device_times().key_expansion);
    return true;
  }

  [[nodiscard]] PhaseNanoseconds take_phases() override {
    const PhaseTimes times = implementation().take_device_times();
    // With mapped memory there are no copies: the kernels read and write host memory.
    PhaseNanoseconds phases = execution_.transfer == Transfer::staged
                                  ? phases_of(times, {"host_to_device", "kernel", "device_to_host"})
                                  : phases_of(times, {"kernel"});
    if (const auto expansion_ns = std::exchange(key_expansion_ns_, std::nullopt)) {
      phases["key_expansion"] = *expansion_ns;
    }
    return phases;
  }

  [[nodiscard]] bool is_kernel_alone() const override { return false; }

 private:
  Execution execution_;
  std::optional<double> key_expansion_ns_;  // sum over expand_key() since take_phases()
};

}  // namespace

std::unique_ptr<Case> make_transfer(Row row, const Job& job, std::shared_ptr<Arena> arena,
                                    const Execution& execution) {
  return std::make_unique<TransferCase>(std::move(row), job, std::move(arena), execution);
}

std::function<Buffer()> page_locked_buffers(const std::string& device, std::uint64_t bytes) {
  return [device, bytes] {
    if (device.find('+') != std::string::npos) {
      throw Skip("memory is page-locked by one device, not by several joined");
    }
    struct Kept {
      OpenedDevice opened;
      std::unique_ptr<gpu::PinnedMemory> memory;
    };
    const auto kept = std::make_shared<Kept>();
    kept->opened = open_device(device);
    kept->memory = kept->opened.device->allocate_pinned(bytes, false);
    std::uint8_t* const data = kept->memory->host().data();
    if (!kept->opened.device->is_page_locked(data, bytes)) {
      throw Skip(device + " does not say which memory is page-locked, so it is staged");
    }
    return Buffer(kept, data);
  };
}

std::unique_ptr<Case> make_pinned_copy(Row row) {
  if (row.device.find('+') != std::string::npos) {
    throw Skip("pinned-copy measures one device, not several joined");
  }
  return std::make_unique<PinnedCopy>(std::move(row));
}

}  // namespace paraes::bench
