// The rival of the transfer scope: what the bus of a GPU allows.
#pragma once

#include <memory>
#include <string_view>

#include "bench/harness/case.hpp"

namespace paraes::bench {

inline constexpr std::string_view pinned_copy_name = "pinned-copy";

// Copies row.bytes of pinned host memory to row.device and as many bytes of its memory back: at the
// same time on a second queue, or without row.overlap one after the other. Bytes are counted once,
// as for a cipher that reads and writes as many.
[[nodiscard]] std::unique_ptr<Case> make_pinned_copy(Row row);

}  // namespace paraes::bench
