// Whether a text has a part. A failure shows the text.
#pragma once

#include <gtest/gtest.h>

#include <string>

#define EXPECT_HAS(text, part) \
  EXPECT_PRED_FORMAT2(testing::IsSubstring, std::string(part), std::string(text))
#define EXPECT_LACKS(text, part) \
  EXPECT_PRED_FORMAT2(testing::IsNotSubstring, std::string(part), std::string(text))
