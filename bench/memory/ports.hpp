// The throughput of the units that carry out AES rounds and carry-less multiplications, on data
// that stays in registers: upper bounds for kernels, which also load, add and store.
#pragma once

#include <memory>
#include <span>
#include <string_view>

#include "bench/harness/case.hpp"
#include "bench/memory/job.hpp"

namespace paraes::bench {

inline constexpr std::size_t max_ports_bytes = 1024;

// The registers of a GCM limit: blocks, products, and one of factors.
inline constexpr std::size_t gcm_block_registers = 8;
inline constexpr std::size_t gcm_product_registers = 6;
inline constexpr std::size_t gcm_registers = gcm_block_registers + gcm_product_registers + 1;

// An iteration of a GCM limit is the work of the kernels on two batches of eight registers: three
// multiplications for each register (Karatsuba), and two for the reduction that both share.
inline constexpr std::size_t gcm_text_registers = 2 * gcm_block_registers;
inline constexpr std::size_t gcm_multiplications = 3 * gcm_text_registers + 2;

struct Ports {
  std::string_view rival;      // the name of the rival
  std::string_view kernel;     // the kernel that uses the same instructions
  Mode mode;                   // ECB: every round of AES. GCM: as the kernels compute it
  std::size_t register_bytes;  // bytes of a register, a multiple of 16
  std::size_t registers;       // registers of `data`, at most max_ports_bytes together
  std::size_t text_registers;  // registers of text that an iteration stands for
  // Iterates `times` times on `data`, in place, with `rounds` + 1 round keys in the byte order of
  // FIPS 197.
  //
  // ECB: an iteration encrypts every block.
  //
  // GCM: an iteration encrypts every block of the first gcm_block_registers registers twice,
  // without round 1, which the kernels share among 256 counters (docs/decisions/0010): it adds the
  // second round key and applies the rounds from the second on. Beside this, it does
  // gcm_multiplications multiplications. Each replaces the next of the registers of products, in
  // turn: in each 16-byte lane, by the carry-less product of its low half and the low half of the
  // lane of factors.
  void (*iterate)(const std::uint8_t (*round_keys)[16], unsigned rounds, std::uint8_t* data,
                  std::uint64_t times);
};

// Two for each instruction set of this architecture. Whether the processor has the instructions is
// not checked.
[[nodiscard]] std::span<const Ports> all_ports();

// `job` is encryption in ports.mode. Each thread iterates on registers of its own, as often as its
// share of job.bytes needs. Verified without these instructions: ECB against OpenSSL, GCM against
// tables and products computed bit by bit.
[[nodiscard]] std::unique_ptr<Case> make_ports(Row row, const Job& job, const Ports& ports);

}  // namespace paraes::bench
