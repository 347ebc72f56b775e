// How files are cut for the threads that transfer them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

namespace paraes {

// A thread for less costs more than it saves.
inline constexpr std::uint64_t min_bytes_per_worker = std::uint64_t{256} << 10;

// How much of `bytes` bytes a GPU that takes launch_bytes at once, on launch_threads streams, gets
// in a launch: on every stream one, as long as it is worth one.
[[nodiscard]] inline std::uint64_t gpu_chunk_bytes(std::uint64_t bytes, std::uint64_t launch_bytes,
                                                   unsigned launch_threads) {
  constexpr std::uint64_t least = std::uint64_t{256} << 10;
  return std::min(launch_bytes, std::max(bytes / launch_threads, least));
}

// Upper bound on the size of all threads' buffers, unless one thread needs more, or a GPU needs one
// for each of its streams.
inline constexpr std::uint64_t max_buffered_bytes = std::uint64_t{32} << 20;

// The bytes of a chunk on the CPU, before it is cut to whole segments; nullopt if the size of the
// input is unknown. Large chunks need few system calls, and a chunk's plaintext and ciphertext
// still stay in the second-level cache from the read to the write. In small files, the system would
// spend longer on giving pages to large buffers than on copying the data.
[[nodiscard]] inline std::uint64_t cpu_chunk_bytes(std::optional<std::uint64_t> input_bytes) {
  constexpr std::uint64_t least = std::uint64_t{64} << 10;
  constexpr std::uint64_t most = std::uint64_t{256} << 10;
  if (!input_bytes) return most;
  return std::clamp(*input_bytes / 64 / least * least, least, most);
}

}  // namespace paraes
