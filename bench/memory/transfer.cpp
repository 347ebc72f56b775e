#include "memory/transfer.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "harness/statistics.hpp"
#include "memory/ours.hpp"
#include "paraes/error.hpp"

namespace paraes::bench {

TransferVariant::TransferVariant(Row row, const Job& job, std::shared_ptr<Arena> arena,
                                 Execution execution)
    : MemoryVariant(std::move(row), job, nullptr, std::move(arena)),
      execution_(std::move(execution)) {}

void TransferVariant::set_up() {
  try {
    use(make_ours(job(), execution_));
  } catch (const Error& error) {
    throw Skip(error.what());
  }
  MemoryVariant::set_up();
}

void TransferVariant::tear_down() noexcept {
  MemoryVariant::tear_down();
  use(nullptr);
}

void TransferVariant::call() {
  MemoryVariant::call();
  // The first call has the lanes take the key and the driver load the kernels.
  if (std::exchange(first_call_, false)) {
    (void)contender().take_device_times();
  } else {
    ++calls_;
  }
}

double TransferVariant::key_expansion_ns() const {
  // A fresh key on a message that goes through one lane.
  Job small = job();
  small.direction = Direction::encrypt;
  if (small.mode == Mode::cbc) small.mode = Mode::ecb;  // which the CPU encrypts
  small.bytes = small.unit = 64;
  std::vector<std::uint8_t> text(small.bytes);
  std::uint8_t tag[16];
  std::vector<double> samples;
  for (int i = 0; i < 9; ++i) {
    const auto fresh = make_ours(small, execution_);
    fresh->run(text.data(), text.data(), tag);
    samples.push_back(static_cast<double>(fresh->take_device_times().key_expansion));
  }
  return median_of(std::move(samples));
}

Timeline TransferVariant::timeline(double /*median_ns*/,
                                   std::optional<double> /*key_expansion_ns*/) const {
  const DeviceTimes times = contender().take_device_times();
  const auto mean = [&](std::uint64_t sum) {
    return static_cast<double>(sum) / static_cast<double>(std::max<std::uint64_t>(calls_, 1));
  };
  Timeline phases;
  phases.key_expansion = key_expansion_ns();
  phases.kernel = mean(times.kernel);
  // Through mapped memory the kernels themselves move the data.
  if (execution_.transfer == Transfer::staged) {
    phases.host_to_device = mean(times.host_to_device);
    phases.device_to_host = mean(times.device_to_host);
  }
  return phases;
}

}  // namespace paraes::bench
