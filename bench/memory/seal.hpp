// Whole messages of the default format's kind from memory to memory, as files go, without the file
// system: what `tune` compares devices by.
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
  // AES-256 in segments (c2sp). `row` says device, kernel, threads and bytes; the arena has
  // arena_bytes(row.bytes).
  SealCase(Row row, std::shared_ptr<Arena> arena);
  ~SealCase() override;

  void set_up() override;
  void tear_down() noexcept override;
  void call() override;
  // What the CPU makes of the ciphertext, with a kernel of its own choice.
  [[nodiscard]] bool verify() override;

  [[nodiscard]] static std::uint64_t arena_bytes(std::uint64_t bytes);

 private:
  [[nodiscard]] MutableBytes sealed() const;

  std::shared_ptr<Arena> arena_;
  std::optional<Message> message_;
};

}  // namespace paraes::bench
