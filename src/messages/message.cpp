// A message and its cipher.

#include <utility>

#include "paraes/messages.hpp"
#include "src/messages/large_segments.hpp"

namespace paraes {

Message::Message(Parts parts, const Execution& execution)
    : parts_(std::move(parts)),
      cipher_(parts_.secret.key.span(), parts_.secret.base_nonce, parts_.secret.nonces,
              for_segments(execution, parts_.layout.segment_bytes)) {}

}  // namespace paraes
