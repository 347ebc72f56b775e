// What the AES units of a core can do at most: rounds on data that never leaves the registers.
#pragma once

#include <memory>
#include <span>
#include <string_view>

#include "bench/harness/case.hpp"
#include "bench/memory/job.hpp"

namespace paraes::bench {

inline constexpr std::size_t max_ports_bytes = 1024;

struct Ports {
  std::string_view rival;   // how a row of it is called
  std::string_view kernel;  // whose instructions it uses
  std::size_t bytes;        // that it works on at once, at most max_ports_bytes
  // Encrypts the `bytes` bytes at `blocks` `times` times over, each block by itself (ECB of ECB of
  // …), with `rounds` + 1 round keys in the byte order of FIPS 197.
  void (*iterate)(const std::uint8_t (*round_keys)[16], unsigned rounds, std::uint8_t* blocks,
                  std::uint64_t times);
};

// None where the processor's architecture has no AES instructions that this knows.
[[nodiscard]] std::span<const Ports> all_ports();

// A job in ECB, encrypting: each thread encrypts its share of job.bytes as the same few blocks
// again and again. Verified like any row, against OpenSSL doing the same.
[[nodiscard]] std::unique_ptr<Case> make_ports(Row row, const Job& job, const Ports& ports);

}  // namespace paraes::bench
