#include "bench/memory/job.hpp"

#include <algorithm>
#include <cstring>

#include "bench/harness/random.hpp"
#include "src/core/bytes.hpp"
#include "src/core/counter.hpp"

namespace paraes::bench {

const Material& material() {
  static const Material values = [] {
    Material m{};
    Random random(0x70617261657300U);
    for (auto& byte : m.key) byte = static_cast<std::uint8_t>(random.next());
    for (auto& byte : m.iv) byte = static_cast<std::uint8_t>(random.next());
    for (auto& byte : m.nonce) byte = static_cast<std::uint8_t>(random.next());
    std::fill(m.iv.end() - 4, m.iv.end(), std::uint8_t{0});
    m.first_unit = 0x123456789aU;
    return m;
  }();
  return values;
}

std::array<std::uint8_t, 12> segment_nonce(std::uint64_t index) {
  std::array<std::uint8_t, 12> nonce = material().nonce;
  for (unsigned i = 0; i < 8; ++i) nonce[11 - i] ^= static_cast<std::uint8_t>(index >> (8 * i));
  return nonce;
}

Messages::Messages(const Job& job)
    : message(job.message),
      slot(job.message + tag_bytes),
      count(job.bytes / job.message + (job.bytes % job.message != 0 ? 1 : 0)),
      last(job.bytes - (count - 1) * job.message) {}

std::uint64_t buffer_bytes(const Job& job) {
  if (job.message == 0) return job.bytes;
  const Messages messages(job);
  return job.bytes + messages.count * tag_bytes;
}

std::array<std::uint8_t, 64> message_key(std::uint64_t index) {
  std::array<std::uint8_t, 64> key = material().key;
  store_le64(key.data(), load_le64(key.data()) ^ mix64(index));
  return key;
}

std::array<std::uint8_t, 16> xts_tweak(std::uint64_t unit) {
  std::array<std::uint8_t, 16> tweak{};
  store_le64(tweak.data(), unit);
  return tweak;
}

std::array<std::uint8_t, 16> ctr_block(std::uint64_t blocks) {
  std::array<std::uint8_t, 16> block = material().iv;
  add_be128(block.data(), blocks);
  return block;
}

std::array<std::uint8_t, 16> cbc_chain(const Job& job) {
  std::array<std::uint8_t, 16> chain = material().iv;
  if (job.offset != 0) pattern(job.offset - chain.size(), chain.data(), chain.size());
  return chain;
}

std::uint64_t first_unit(const Job& job) {
  return material().first_unit + (job.offset == 0 ? 0 : job.offset / job.unit);
}

Units::Units(std::uint64_t bytes, std::size_t unit_bytes)
    : unit(unit_bytes == 0 ? bytes : unit_bytes), count(1), last(bytes) {
  if (bytes <= unit) return;
  count = (bytes + unit - 1) / unit;
  last = bytes - (count - 1) * unit;
  if (last < 16) {
    last += unit;
    --count;
  }
}

void pattern(std::uint64_t from, std::uint8_t* out, std::size_t bytes) {
  std::uint64_t index = from / 8;
  std::size_t skip = from % 8;
  while (bytes > 0) {
    const std::uint64_t word = mix64(index++);
    std::uint8_t raw[8];
    std::memcpy(raw, &word, 8);
    const std::size_t take = std::min(bytes, 8 - skip);
    std::memcpy(out, raw + skip, take);
    out += take;
    bytes -= take;
    skip = 0;
  }
}

}  // namespace paraes::bench
