// The texts of errors.
#pragma once

#include <string>

namespace paraes::support {

// The message of the E that `action` throws; empty if it throws nothing.
template <class E, class F>
std::string message_of(const F& action) {
  try {
    action();
  } catch (const E& error) {
    return error.what();
  }
  return "";
}

}  // namespace paraes::support
