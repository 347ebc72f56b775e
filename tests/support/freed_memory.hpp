// Finds secrets in memory that is freed. An executable with freed_memory.cpp replaces the
// allocation functions by ones that search each block before they free it.
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <initializer_list>

#include "paraes/ciphers.hpp"

namespace paraes::support {

extern bool watching;  // whether blocks are searched
extern std::size_t blocks_freed;
extern std::size_t leaks;  // number of blocks that contained a needle

// A needle is 16 bytes that freed memory must not contain.
void forget_needles();  // also sets the counters to zero
void add_needle(const std::uint8_t* bytes);

// How many of the needles the locked memory contains.
[[nodiscard]] std::size_t needles_in_arena();

// Makes needles of the 16-byte parts of these secrets.
inline void watch_for(std::initializer_list<Bytes> secrets) {
  forget_needles();
  for (const Bytes secret : secrets) {
    for (std::size_t at = 0; at + 16 <= secret.size(); at += 16) add_needle(secret.data() + at);
  }
}

// Searches the blocks that `work` frees, and the locked memory afterwards.
template <class Work>
void expect_nothing_left(const Work& work) {
  watching = true;
  work();
  watching = false;
  EXPECT_EQ(leaks, 0U);
  EXPECT_EQ(needles_in_arena(), 0U);
  EXPECT_GE(blocks_freed, 1U) << "the test saw no block freed";
}

}  // namespace paraes::support
