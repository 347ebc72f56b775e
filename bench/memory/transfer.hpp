// Transfer scope: a call encrypts or decrypts a message from host memory to host memory on a GPU,
// copies included, through the public classes.
#pragma once

#include <memory>
#include <optional>

#include "bench/memory/memory_case.hpp"

namespace paraes::bench {

class TransferCase : public MemoryCase {
 public:
  TransferCase(Row row, const Job& job, std::shared_ptr<Arena> arena, Execution execution);

  void set_up() override;
  // Encrypts 64 bytes with a new cipher, on one stream. The sample is the time that the stream's
  // queue is busy with the key: copies it, expands it (KeyExpansion::device), and derives the
  // sliced key and the hash key. Expansion on the host is not included.
  bool expand_key() override;
  [[nodiscard]] PhaseNanoseconds take_phases() override;
  [[nodiscard]] bool is_kernel_alone() const override { return false; }

 private:
  Execution execution_;
  std::optional<double> key_expansion_ns_;  // sum over expand_key() since take_phases()
};

}  // namespace paraes::bench
