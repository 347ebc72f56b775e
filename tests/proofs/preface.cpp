// Prefaces (src/messages/preface_fields.hpp) against the table in docs/formats.md.
// Bounds: beginnings of 0 to 40 bytes, each in memory of exactly its size; all their contents.

#include "src/messages/preface_fields.hpp"

#include <cstdlib>

#include "tests/proofs/proof.hpp"

using namespace paraes::detail;

// Whether the table allows these 32 bytes.
static bool is_preface(const std::uint8_t* p) {
  const char* const magic = "PARAES\r\n";
  for (unsigned i = 0; i < 8; ++i) {
    if (p[i] != static_cast<std::uint8_t>(magic[i])) return false;
  }
  if (p[8] != 1 || p[9] > 2 || p[10] == 0 || p[10] > 2) return false;
  const std::uint64_t w = (static_cast<std::uint64_t>(p[12]) << 24) |
                          (static_cast<std::uint64_t>(p[13]) << 16) |
                          (static_cast<std::uint64_t>(p[14]) << 8) | p[15];
  bool no_salt = true;
  for (unsigned i = 16; i < 32; ++i) {
    if (p[i] != 0) no_salt = false;
  }
  if (p[9] == 1) return p[11] != 0 && w == 0;  // scrypt
  if (p[11] != 0 || !no_salt) return false;
  if (p[9] == 0) return w == 0;
  return w > (p[10] == 2 ? 104 : 88) && w <= 262144;
}

// Any bytes; every second sample begins like a preface and ends with zeros.
static void any_beginning(std::uint8_t* start, std::size_t bytes) {
  any_bytes(start, bytes);
  if (any_bool()) return;
  const char* const known = "PARAES\r\n\1";
  for (unsigned i = 0; i < 9 && i < bytes; ++i) start[i] = static_cast<std::uint8_t>(known[i]);
  const bool any_size = any_bool();
  for (unsigned i = any_size ? 16 : 12; i < bytes; ++i) start[i] = 0;
}

// A beginning of any size is accepted only if it is a preface, and nothing outside it is read.
// Writing what was read gives the same bytes: no byte of a preface is ignored.
void prove_read_preface() {
  const std::size_t bytes = any_8();
  if (bytes > 40) return;
  std::uint8_t* const start = static_cast<std::uint8_t*>(std::malloc(bytes));
  if (start == nullptr) return;
  any_beginning(start, bytes);
  PrefaceFields fields;
  const bool accepted = read_preface(start, bytes, fields) == PrefaceFault::none;
  CHECK(accepted == (bytes >= 32 && is_preface(start)));
  if (accepted) {
    std::uint8_t again[32];
    write_preface(fields, again);
    for (unsigned i = 0; i < 32; ++i) CHECK(again[i] == start[i]);
    CHECK(fields.key_bits == 128 || fields.key_bits == 256);
    CHECK(fields.kdf != kdf_recipients || fields.wrap_bytes > slot_bytes_of(fields.key_bits));
  }
  std::free(start);
}

// What decides the format of an input: whether it begins with the magic as far as it goes.
void prove_begins_like_preface() {
  const std::size_t bytes = any_8();
  if (bytes > 40) return;
  std::uint8_t* const start = static_cast<std::uint8_t*>(std::malloc(bytes));
  if (start == nullptr) return;
  any_beginning(start, bytes);
  const char* const magic = "PARAES\r\n";
  bool same = true;
  for (unsigned i = 0; i < 8; ++i) {
    if (i < bytes && start[i] != static_cast<std::uint8_t>(magic[i])) same = false;
  }
  CHECK(begins_like_preface(start, bytes) == same);
  std::free(start);
}
