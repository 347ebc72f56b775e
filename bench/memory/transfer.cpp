#include "bench/memory/transfer.hpp"

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "bench/memory/memory_case.hpp"
#include "bench/memory/ours.hpp"
#include "paraes/error.hpp"

namespace paraes::bench {

namespace {

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

}  // namespace paraes::bench
