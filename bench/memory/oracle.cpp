#include "bench/memory/oracle.hpp"

#include <algorithm>
#include <cstring>
#include <vector>

#include "bench/rivals/evp.hpp"

namespace paraes::bench {
namespace {

// Inputs are computed again, a chunk at a time, rather than read back: work in place overwrites its
// input, and a faulty implementation might.
constexpr std::size_t chunk_bytes = std::size_t{1} << 20;

bool is_copy(std::uint64_t bytes, const std::uint8_t* out) {
  std::vector<std::uint8_t> expected(chunk_bytes);
  for (std::uint64_t at = 0; at < bytes; at += chunk_bytes) {
    const std::size_t step = std::min<std::uint64_t>(chunk_bytes, bytes - at);
    pattern(at, expected.data(), step);
    if (std::memcmp(expected.data(), out + at, step) != 0) return false;
  }
  return true;
}

bool is_xts(const Job& job, const std::uint8_t* out) {
  const EvpContext context = evp_context(job);
  const Units units(job.bytes, job.unit);
  std::vector<std::uint8_t> buffer(std::max<std::size_t>(units.unit, units.last));
  for (std::uint64_t u = 0; u < units.count; ++u) {
    const std::uint64_t at = u * units.unit;
    const std::size_t size = units.size(u);
    pattern(at, buffer.data(), size);
    evp_restart(context.get(), xts_tweak(material().first_unit + u).data());
    evp_update(context.get(), buffer.data(), buffer.data(), size);
    if (std::memcmp(buffer.data(), out + at, size) != 0) return false;
  }
  return true;
}

void start(const Job& job, EVP_CIPHER_CTX* context) {
  if (job.mode == Mode::gcm) evp_restart(context, material().nonce.data());
  if (job.mode == Mode::cbc || job.mode == Mode::ctr) evp_restart(context, material().iv.data());
}

Job with_direction(Job job, Direction direction) {
  job.direction = direction;
  return job;
}

std::array<std::uint8_t, 16> final_tag(EVP_CIPHER_CTX* context) {
  std::array<std::uint8_t, 16> tag{};
  std::uint8_t nothing[16];
  int written = 0;
  evp_check(EVP_CipherFinal_ex(context, nothing, &written));
  evp_check(EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_GET_TAG, 16, tag.data()));
  return tag;
}

}  // namespace

std::array<std::uint8_t, 16> gcm_tag_of_pattern(const Job& job) {
  const EvpContext to_plain = evp_context(with_direction(job, Direction::decrypt));
  const EvpContext to_cipher = evp_context(with_direction(job, Direction::encrypt));
  start(job, to_plain.get());
  start(job, to_cipher.get());
  // EVP decrypts before it knows the tag. Encrypting that plaintext gives the pattern again, and
  // its tag.
  std::vector<std::uint8_t> buffer(chunk_bytes);
  for (std::uint64_t at = 0; at < job.bytes; at += chunk_bytes) {
    const std::size_t step = std::min<std::uint64_t>(chunk_bytes, job.bytes - at);
    pattern(at, buffer.data(), step);
    evp_update(to_plain.get(), buffer.data(), buffer.data(), step);
    evp_update(to_cipher.get(), buffer.data(), buffer.data(), step);
  }
  return final_tag(to_cipher.get());
}

bool is_answer(const Job& job, const std::uint8_t* out, const std::uint8_t* tag) {
  if (!job.mode) return is_copy(job.bytes, out);
  if (job.mode == Mode::xts) return is_xts(job, out);
  const EvpContext context = evp_context(job);
  start(job, context.get());
  std::vector<std::uint8_t> buffer(chunk_bytes);
  for (std::uint64_t at = 0; at < job.bytes; at += chunk_bytes) {
    const std::size_t step = std::min<std::uint64_t>(chunk_bytes, job.bytes - at);
    pattern(at, buffer.data(), step);
    evp_update(context.get(), buffer.data(), buffer.data(), step);
    if (std::memcmp(buffer.data(), out + at, step) != 0) return false;
  }
  if (job.mode != Mode::gcm || job.direction == Direction::decrypt) return true;
  return std::memcmp(final_tag(context.get()).data(), tag, 16) == 0;
}

bool is_answer_in_segments(const Job& job, const std::uint8_t* out, const std::uint8_t* tags) {
  const bool decrypts = job.direction == Direction::decrypt;
  const EvpContext to_plain = evp_context(with_direction(job, Direction::decrypt));
  const EvpContext to_cipher = evp_context(with_direction(job, Direction::encrypt));
  std::vector<std::uint8_t> given(segment_bytes);
  std::vector<std::uint8_t> plain(segment_bytes);
  std::vector<std::uint8_t> cipher(segment_bytes);
  for (std::uint64_t s = 0; s < segments(job.bytes); ++s) {
    const std::uint64_t at = s * segment_bytes;
    const std::size_t size = std::min<std::uint64_t>(segment_bytes, job.bytes - at);
    const auto nonce = segment_nonce(s);
    pattern(at, given.data(), size);
    evp_restart(to_plain.get(), nonce.data());
    evp_restart(to_cipher.get(), nonce.data());
    if (decrypts) evp_update(to_plain.get(), given.data(), plain.data(), size);
    // The right tag of a decryption is the one that encrypting its plaintext gives.
    evp_update(to_cipher.get(), decrypts ? plain.data() : given.data(), cipher.data(), size);
    const std::uint8_t* const expected = decrypts ? plain.data() : cipher.data();
    if (std::memcmp(expected, out + at, size) != 0) return false;
    if (std::memcmp(final_tag(to_cipher.get()).data(), tags + 16 * s, 16) != 0) return false;
  }
  return true;
}

}  // namespace paraes::bench
