// Encrypts whole messages in segments from memory to memory, as files are encrypted but without the
// file system. `paraes tune` compares devices by it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "bench/harness/case.hpp"
#include "bench/memory/arena.hpp"
#include "paraes/messages.hpp"

namespace paraes::bench {

class SealCase : public Case {
 public:
  // A call encrypts row.bytes in the format c2sp, with AES-256, on row.device with row.kernel and
  // row.threads, and on a GPU with `tuning`. `arena` has at least arena_bytes(row.bytes).
  SealCase(Row row, std::shared_ptr<Arena> arena, const GpuTuning& tuning = {});

  void set_up() override;
  void call() override;
  // Decrypts the output of one more call on the CPU, with the default kernel, and compares the
  // plaintext. There is no independent computation.
  [[nodiscard]] bool verify() override;

  // Bytes of a message whose plaintext has `bytes` bytes.
  [[nodiscard]] static std::uint64_t arena_bytes(std::uint64_t bytes);

 private:
  [[nodiscard]] MutableBytes sealed() const;

  std::shared_ptr<Arena> arena_;
  const GpuTuning tuning_;
  std::optional<Message> message_;
};

}  // namespace paraes::bench
