// The secret of a call, as handles share it.
#pragma once

#include <memory>

#include "paraes/files.hpp"
#include "src/c/common.hpp"

// Handles that need it later share it, so that the caller may free it before them.
struct paraes_secret {
  std::shared_ptr<const paraes::MessageSecret> secret;
};

namespace paraes::c {

[[nodiscard]] inline const MessageSecret& secret_of(const paraes_secret* secret,
                                                    const char* name = "secret") {
  return *require(secret, name).secret;
}

// On all cores unless the caller says otherwise.
[[nodiscard]] inline Execution execution_of_messages(const paraes_execution* given) {
  return execution_of(given, 0);
}

}  // namespace paraes::c
