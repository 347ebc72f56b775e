// Encrypts whole messages in segments from memory to memory, as files are encrypted but without the
// file system. `paraes tune` compares devices by it.
#pragma once

#include <cstdint>
#include <memory>

#include "bench/harness/case.hpp"
#include "bench/memory/arena.hpp"

namespace paraes::bench {

// A call encrypts row.bytes in the format c2sp, with AES-256, on row.device with row.kernel and
// row.threads, and on a GPU with `tuning`. `arena` has at least sealed_bytes(row.bytes).
[[nodiscard]] std::unique_ptr<Case> make_seal(Row row, std::shared_ptr<Arena> arena,
                                              const GpuTuning& tuning);

// Bytes of a message whose plaintext has `bytes` bytes.
[[nodiscard]] std::uint64_t sealed_bytes(std::uint64_t bytes);

}  // namespace paraes::bench
