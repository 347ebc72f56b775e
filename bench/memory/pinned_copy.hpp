// The rival of the transfer scope: copies only, the limit that the bus of a GPU sets.
#pragma once

#include <memory>
#include <string_view>

#include "bench/harness/case.hpp"

namespace paraes::bench {

inline constexpr std::string_view pinned_copy_name = "pinned-copy";

// A call copies row.bytes from pinned host memory to row.device and as many from there to pinned
// host memory: both at the same time on two queues, or without row.overlap one after the other. The
// rate counts row.bytes once, as for a cipher, whose data also moves both ways. Throws Skip for
// several devices joined by `+`.
[[nodiscard]] std::unique_ptr<Case> make_pinned_copy(Row row);

}  // namespace paraes::bench
