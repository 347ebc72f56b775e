#pragma once

#include "tests/ct/operations.hpp"

namespace paraes::ct {

// Operations that test the tracer.
[[nodiscard]] std::span<const Operation> probes();

}  // namespace paraes::ct
