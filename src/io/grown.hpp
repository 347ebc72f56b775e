// Buffers that grow with what they hold.
#pragma once

#include <cstddef>
#include <memory>

#include "paraes/io.hpp"

namespace paraes::detail {

// `bytes` bytes of a buffer that is made anew if it is smaller.
[[nodiscard]] inline MutableBytes grown(std::unique_ptr<IoBuffer>& buffer, std::size_t bytes) {
  if (!buffer || buffer->size() < bytes) buffer = std::make_unique<IoBuffer>(bytes);
  return buffer->span().first(bytes);
}

}  // namespace paraes::detail
