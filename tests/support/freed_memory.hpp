// Finds secrets in memory that is freed. An executable with freed_memory.cpp replaces the
// allocation functions by ones that search each block before they free it.
#pragma once

#include <cstddef>
#include <cstdint>

namespace paraes::support {

extern bool watching;  // whether blocks are searched
extern std::size_t blocks_freed;
extern std::size_t leaks;  // number of blocks that contained a needle

// A needle is 16 bytes that freed memory must not contain.
void forget_needles();  // also sets the counters to zero
void add_needle(const std::uint8_t* bytes);

// How many of the needles the locked memory contains.
[[nodiscard]] std::size_t needles_in_arena();

}  // namespace paraes::support
