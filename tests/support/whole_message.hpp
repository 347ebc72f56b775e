// Seals and opens whole messages in memory, as files are.
#pragma once

#include <utility>

#include "paraes/messages.hpp"
#include "tests/support/memory_io.hpp"

namespace paraes::support {

[[nodiscard]] inline Buffer sealed(const Message& message, Buffer plain) {
  RandomSource source(std::move(plain));
  RandomSink sink;
  seal_message(source, message, sink);
  return sink.data;
}

[[nodiscard]] inline Buffer opened(const Message& message, Buffer sealed) {
  RandomSource source(std::move(sealed));
  RandomSink sink;
  open_message(source, message, sink);
  return sink.data;
}

}  // namespace paraes::support
