// A message and its cipher.

#include <utility>

#include "paraes/messages.hpp"
#include "src/messages/large_segments.hpp"

namespace paraes {

namespace {

Message::Parts copy_of(const Message::Parts& parts) {
  return {.header = parts.header,
          .layout = parts.layout,
          .secret = {.key = SecretBytes(parts.secret.key.span()),
                     .base_nonce = parts.secret.base_nonce,
                     .nonces = parts.secret.nonces},
          .commits = parts.commits,
          .owner = parts.owner};
}

}  // namespace

Message::Message(Parts&& parts, const Execution& execution)
    : parts_(std::move(parts)),
      cipher_(parts_.secret.key.span(), parts_.secret.base_nonce, parts_.secret.nonces,
              for_segments(execution, parts_.layout.segment_bytes)) {
  cipher_.owner_ = parts_.owner;
}

Message::Message(const Parts& parts, const Execution& execution)
    : Message(copy_of(parts), execution) {}

}  // namespace paraes
