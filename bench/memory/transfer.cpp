#include "bench/memory/transfer.hpp"

#include <cstdint>
#include <utility>
#include <vector>

#include "bench/memory/ours.hpp"
#include "paraes/error.hpp"

namespace paraes::bench {

TransferCase::TransferCase(Row row, const Job& job, std::shared_ptr<Arena> arena,
                           Execution execution)
    : MemoryCase(std::move(row), job, nullptr, std::move(arena)),
      execution_(std::move(execution)) {}

void TransferCase::set_up() {
  try {
    use(make_ours(job(), execution_));
  } catch (const Error& error) {
    throw Skip(error.what());
  }
  MemoryCase::set_up();
  if (execution_.group_threads == 0) return;
  try {
    call();  // OpenCL says only when it launches a kernel that its groups would be too large
  } catch (const Error& error) {
    throw Skip(error.what());
  }
}

bool TransferCase::expand_key() {
  Job small = job();
  small.direction = Direction::encrypt;
  if (small.mode == Mode::cbc) small.mode = Mode::ecb;  // CBC encryption would run on the CPU
  small.bytes = small.unit = 64;
  std::vector<std::uint8_t> text(small.bytes);
  std::uint8_t tag[16];
  const auto fresh = make_ours(small, execution_);
  fresh->run(text.data(), text.data(), tag);
  key_expansion_ns_ =
      key_expansion_ns_.value_or(0) + static_cast<double>(fresh->take_device_times().key_expansion);
  return true;
}

PhaseNanoseconds TransferCase::take_phases() {
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

}  // namespace paraes::bench
