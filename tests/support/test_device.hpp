// The device that tests of GPUs run on: PARAES_TEST_DEVICE, or opencl:0.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

#include "paraes/devices.hpp"
#include "paraes/error.hpp"

namespace paraes::support {

inline std::string test_device() {
  const char* name = std::getenv("PARAES_TEST_DEVICE");
  return name != nullptr && *name != '\0' ? name : "opencl:0";
}

// Why the device cannot be used; empty if it can.
inline std::string why_missing(const std::string& device) {
  try {
    require_device(device);
    return "";
  } catch (const Error& error) {
    return error.what();
  }
}

}  // namespace paraes::support

// For SetUp(): skips the test if the device is missing, or fails it if PARAES_REQUIRE_DEVICE is
// set.
#define PARAES_NEEDS_DEVICE(device)                                         \
  do {                                                                      \
    const std::string missing = paraes::support::why_missing(device);       \
    if (missing.empty()) break;                                             \
    if (std::getenv("PARAES_REQUIRE_DEVICE") != nullptr) FAIL() << missing; \
    GTEST_SKIP() << missing;                                                \
  } while (false)
