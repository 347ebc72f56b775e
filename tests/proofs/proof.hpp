// Where the harnesses get their inputs, and how they state what must hold.
//
// A harness is a function without parameters. CBMC takes each input for every value of its type, as
// far as the harness does not return early; tests/proofs/native.cpp calls the same functions with
// samples, so that they are compiled and run wherever the other tests are.
//
// CBMC 6.6 takes `condition ? word : 0` for an int, and cuts the word; with `0 : word` it does not.
// Neither the harnesses nor the headers that they include have the former.
#pragma once

#include <cstddef>
#include <cstdint>

#ifdef PARAES_CBMC
extern "C" {
void __CPROVER_assert(bool, const char*);
// CBMC gives functions of such names any value.
std::uint64_t nondet_64();
std::uint32_t nondet_32();
std::uint8_t nondet_8();
bool nondet_bool();
}
#define CHECK(condition) __CPROVER_assert(condition, #condition)
inline std::uint64_t any_64() { return nondet_64(); }
inline std::uint32_t any_32() { return nondet_32(); }
inline std::uint8_t any_8() { return nondet_8(); }
inline bool any_bool() { return nondet_bool(); }
#else
#define CHECK(condition) check(condition, #condition)
void check(bool holds, const char* condition);
std::uint64_t any_64();
std::uint32_t any_32();
std::uint8_t any_8();
bool any_bool();
#endif

__extension__ typedef unsigned __int128 Wide;  // in which no sum or product of a harness overflows

inline void any_bytes(std::uint8_t* to, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) to[i] = any_8();
}

// All harnesses.
#define HARNESSES(X)       \
  X(loads)                 \
  X(stores)                \
  X(add_be128)             \
  X(add_le128)             \
  X(add_be32)              \
  X(carryless_low)         \
  X(reverse_bits)          \
  X(counted_nonce)         \
  X(prefixed_nonce)        \
  X(read_preface)          \
  X(begins_like_preface)   \
  X(offsets)               \
  X(segment_at)            \
  X(contents_of_sealed)    \
  X(contents_of_any_size)  \
  X(refused_sizes)         \
  X(is_within)             \
  X(segments_of_range)     \
  X(place_of)              \
  X(contents_of_truncated) \
  X(share_begin)

#define PARAES_DECLARE(name) void prove_##name();
HARNESSES(PARAES_DECLARE)
