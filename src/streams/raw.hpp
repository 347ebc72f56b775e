// Format raw, for formats that are built on it.
#pragma once

#include <memory>
#include <string>

#include "paraes/streams.hpp"

namespace paraes::detail {

// raw_stream. The error for bad padding says that one of `suspects` may be wrong: "key or mode".
// `derived`: see BadPadding.
[[nodiscard]] std::unique_ptr<StreamTransform> raw_stream(Direction direction,
                                                          const RawOptions& options,
                                                          std::string suspects, bool derived);

}  // namespace paraes::detail
