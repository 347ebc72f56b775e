// Opens messages of Tink, whose headers do not say which key of a keyset they need.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "cli/secrets/tink_keyset.hpp"
#include "paraes/io.hpp"
#include "paraes/messages.hpp"

namespace paraes::cli {

// Reads up to `bytes` bytes.
[[nodiscard]] std::vector<std::uint8_t> read_start(Source& source, std::size_t bytes);

// Reads the header of a message from the start of `source`, and finds its key. Afterwards `source`
// continues after the header; it may be another object. If no key fits, the error of the message
// comes later, from the first one.
[[nodiscard]] Message::Parts open_tink_message(const std::vector<TinkKey>& keys,
                                               std::unique_ptr<Source>& source, Bytes context);

}  // namespace paraes::cli
