// The throughput of a core's AES units: rounds of AES on data that stays in registers. An upper
// bound for code that computes every round of every block. CTR and GCM can be faster, because they
// share the first round of 256 counter blocks (docs/decisions/0010).
#pragma once

#include <memory>
#include <span>
#include <string_view>

#include "bench/harness/case.hpp"
#include "bench/memory/job.hpp"

namespace paraes::bench {

inline constexpr std::size_t max_ports_bytes = 1024;

struct Ports {
  std::string_view rival;   // the name of the rival
  std::string_view kernel;  // the kernel that uses the same instructions
  std::size_t bytes;        // bytes in registers, at most max_ports_bytes
  // Encrypts each block of the `bytes` bytes at `blocks` `times` times in a row, in place, with
  // `rounds` + 1 round keys in the byte order of FIPS 197.
  void (*iterate)(const std::uint8_t (*round_keys)[16], unsigned rounds, std::uint8_t* blocks,
                  std::uint64_t times);
};

// One for each instruction set of this architecture. Whether the processor has the instructions is
// not checked.
[[nodiscard]] std::span<const Ports> all_ports();

// `job` is ECB encryption. Each thread encrypts its own ports.bytes over and over, as often as
// its share of job.bytes needs. Verified against OpenSSL, which does the same.
[[nodiscard]] std::unique_ptr<Case> make_ports(Row row, const Job& job, const Ports& ports);

}  // namespace paraes::bench
