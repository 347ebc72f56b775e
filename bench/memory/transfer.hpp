// Transfer scope: from host memory through a GPU to host memory.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "bench/harness/case.hpp"
#include "bench/memory/arena.hpp"
#include "bench/memory/job.hpp"

namespace paraes::bench {

// A call encrypts or decrypts a message on a GPU, copies included, through the public classes.
[[nodiscard]] std::unique_ptr<Case> make_transfer(Row row, const Job& job,
                                                  std::shared_ptr<Arena> arena,
                                                  const Execution& execution);

// Buffers of `bytes` bytes that are page-locked by a device, as its programs get them from
// cudaHostAlloc. The function throws Skip for several devices joined by `+`, and for devices that
// do not say what is page-locked.
[[nodiscard]] std::function<Buffer()> page_locked_buffers(const std::string& device,
                                                          std::uint64_t bytes);

// The rival: copies only, the limit that the bus of a GPU sets.
inline constexpr std::string_view pinned_copy_name = "pinned-copy";

// A call copies row.bytes from pinned host memory to row.device and as many from there to pinned
// host memory: both at the same time on two queues, or without row.overlap one after the other. The
// rate counts row.bytes once, as for a cipher, whose data also moves both ways. Throws Skip for
// several devices joined by `+`.
[[nodiscard]] std::unique_ptr<Case> make_pinned_copy(Row row);

}  // namespace paraes::bench
