// Transfer scope: a message in host memory through a GPU and back, by the public classes.
#pragma once

#include <memory>
#include <optional>

#include "bench/memory/memory_case.hpp"

namespace paraes::bench {

class TransferCase : public MemoryCase {
 public:
  TransferCase(Row row, const Job& job, std::shared_ptr<Arena> arena, Execution execution);

  void set_up() override;
  void tear_down() noexcept override;
  // By a cipher of its own, on a message that goes through one stream; timed by the device.
  bool expand_key() override;
  [[nodiscard]] PhaseNanoseconds take_phases() override;
  [[nodiscard]] bool is_kernel_alone() const override { return false; }

 private:
  Execution execution_;
  std::optional<double> key_expansion_ns_;  // of expand_key() alone
};

}  // namespace paraes::bench
