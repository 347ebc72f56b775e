// The errors that actions throw.
#pragma once

#include <gtest/gtest.h>

#include <exception>
#include <optional>
#include <string>
#include <string_view>

namespace paraes::support {

// The E that `action` throws; nothing if it throws nothing.
template <class E, class Action>
std::optional<E> caught(const Action& action) {
  try {
    static_cast<void>(action());
  } catch (const E& error) {
    return error;
  }
  return std::nullopt;
}

// The message of the E that `action` throws; empty if it throws nothing.
template <class E, class Action>
std::string message_of(const Action& action) {
  try {
    static_cast<void>(action());
  } catch (const E& error) {
    return error.what();
  }
  return "";
}

// Whether `action` throws an E whose message has all these parts.
template <class E, class Action, class... Parts>
testing::AssertionResult throws(const Action& action, const Parts&... parts) {
  try {
    static_cast<void>(action());
  } catch (const E& error) {
    const std::string text = error.what();
    for (const std::string_view part : {std::string_view(), std::string_view(parts)...}) {
      if (text.find(part) != std::string::npos) continue;
      return testing::AssertionFailure() << "'" << part << "' is not in: " << text;
    }
    return testing::AssertionSuccess();
  } catch (const std::exception& error) {
    return testing::AssertionFailure() << "another exception is thrown: " << error.what();
  }
  return testing::AssertionFailure() << "nothing is thrown";
}

}  // namespace paraes::support
