// How files are cut for the workers that transfer them.
#pragma once

#include <cstdint>

namespace paraes {

// The plaintext of a chunk on the CPU, in whole segments. Small enough for a chunk's plaintext and
// ciphertext to stay in the second-level cache from the read to the write; large enough for few
// system calls.
inline constexpr std::uint64_t cpu_chunk_bytes = std::uint64_t{256} << 10;

}  // namespace paraes
