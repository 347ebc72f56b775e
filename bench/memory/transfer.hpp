// Transfer scope: a message in host memory through a GPU and back, by the public classes.
#pragma once

#include <cstdint>
#include <memory>

#include "memory/variant.hpp"

namespace paraes::bench {

class TransferVariant : public MemoryVariant {
 public:
  TransferVariant(Row row, const Job& job, std::shared_ptr<Arena> arena, Execution execution);

  void set_up() override;
  void tear_down() noexcept override;
  void call() override;
  bool expand_key() override { return false; }  // timeline() asks the device
  // Phases are means of the calls: the device tells only totals.
  [[nodiscard]] Timeline timeline(double median_ns,
                                  std::optional<double> key_expansion_ns) const override;

 private:
  [[nodiscard]] double key_expansion_ns() const;

  Execution execution_;
  bool first_call_ = true;
  std::uint64_t calls_ = 0;  // after the first
};

}  // namespace paraes::bench
