#include "bench/memory/oracle.hpp"

#include <algorithm>
#include <cstring>
#include <vector>

#include "bench/rivals/evp.hpp"

namespace paraes::bench {
namespace {

// Inputs are computed again, a chunk at a time, rather than read back: work in place overwrites its
// input, and a faulty implementation might.
constexpr std::size_t oracle_chunk_bytes = std::size_t{1} << 20;

const Evp& evp() { return Evp::linked(); }

// Calls use(at, input, bytes) for each chunk of `bytes` bytes of the pattern from `from` on, until
// it returns false, and returns whether it never did.
bool each_chunk(std::uint64_t from, std::uint64_t bytes, const auto& use) {
  std::vector<std::uint8_t> buffer(std::min<std::uint64_t>(oracle_chunk_bytes, bytes));
  for (const std::uint64_t end = from + bytes; from < end; from += oracle_chunk_bytes) {
    const std::size_t step = std::min<std::uint64_t>(oracle_chunk_bytes, end - from);
    pattern(from, buffer.data(), step);
    if (!use(from, buffer.data(), step)) return false;
  }
  return true;
}

bool is_xts(const Job& job, const std::uint8_t* out) {
  const EvpContext context = evp().context(job);
  const Units units(job.bytes, job.unit);
  std::vector<std::uint8_t> buffer(std::max<std::size_t>(units.unit, units.last));
  for (std::uint64_t u = 0; u < units.count; ++u) {
    const std::uint64_t at = u * units.unit;
    const std::size_t size = units.size(u);
    pattern(at, buffer.data(), size);
    evp().restart(context.get(), xts_tweak(material().first_unit + u).data());
    evp().update(context.get(), buffer.data(), buffer.data(), size);
    if (std::memcmp(buffer.data(), out + at, size) != 0) return false;
  }
  return true;
}

Job with_direction(Job job, Direction direction) {
  job.direction = direction;
  return job;
}

// Computes GCM messages whose input is the pattern, one after another.
class GcmOracle {
 public:
  explicit GcmOracle(const Job& job)
      : job_(job),
        to_plain_(evp().context(with_direction(job, Direction::decrypt))),
        to_cipher_(evp().context(with_direction(job, Direction::encrypt))) {}

  // The message of this index, whose input is `size` bytes of the pattern, from `at` of the job's
  // text. Returns whether `out`, unless it is null, has its text there.
  bool compute(std::uint64_t index, std::uint64_t at, std::uint64_t size, const std::uint8_t* out) {
    const bool decrypts = job_.direction == Direction::decrypt;
    const auto nonce = segment_nonce(index);
    const auto key = message_key(index);
    const std::uint8_t* const own_key = job_.keys != Keys::one ? key.data() : nullptr;
    if (decrypts) evp().restart(to_plain_.get(), nonce.data(), own_key);
    // The right tag of a decryption is the one that encrypting its plaintext gives. EVP decrypts
    // before it knows the tag.
    evp().restart(to_cipher_.get(), nonce.data(), own_key);
    const auto use = [&](std::uint64_t from, std::uint8_t* text, std::size_t step) {
      if (decrypts) evp().update(to_plain_.get(), text, text, step);
      const auto is_out = [&] {
        return out == nullptr || std::memcmp(text, out + (from - job_.offset), step) == 0;
      };
      if (decrypts && !is_out()) return false;
      evp().update(to_cipher_.get(), text, text, step);
      return decrypts || is_out();
    };
    if (!each_chunk(job_.offset + at, size, use)) return false;
    evp().get_tag(to_cipher_.get(), tag_.data());
    return true;
  }

  // Both tags are of the last message.
  [[nodiscard]] bool is_tag(const std::uint8_t* tag) const {
    return std::equal(tag_.begin(), tag_.end(), tag);
  }
  [[nodiscard]] const std::array<std::uint8_t, tag_bytes>& tag() const { return tag_; }

 private:
  Job job_;
  EvpContext to_plain_;
  EvpContext to_cipher_;
  std::array<std::uint8_t, tag_bytes> tag_{};
};

// Decryption has checked the tags, and writes none.
bool is_gcm(const Job& job, const std::uint8_t* out, const std::uint8_t* tag) {
  const bool encrypts = job.direction == Direction::encrypt;
  GcmOracle oracle(job);
  if (job.message == 0) {
    return oracle.compute(0, 0, job.bytes, out) && (!encrypts || oracle.is_tag(tag));
  }
  const Messages messages(job);
  for (std::uint64_t m = 0; m < messages.count; ++m) {
    const std::uint64_t at = messages.offset(m);
    const std::size_t size = messages.size(m);
    if (!oracle.compute(m, at, size, out)) return false;
    if (encrypts && !oracle.is_tag(out + at + size)) return false;
  }
  return true;
}

}  // namespace

std::array<std::uint8_t, 16> gcm_tag_of_pattern(const Job& job) {
  GcmOracle oracle(with_direction(job, Direction::decrypt));
  oracle.compute(0, 0, job.bytes, nullptr);
  return oracle.tag();
}

bool is_answer(const Job& job, const std::uint8_t* out, const std::uint8_t* tag) {
  if (job.mode == Mode::xts) return is_xts(job, out);
  if (job.mode == Mode::gcm) return is_gcm(job, out, tag);
  const EvpContext context = job.mode ? evp().context(job) : EvpContext();  // null for a copy
  if (job.mode == Mode::cbc) evp().restart(context.get(), cbc_chain(job).data());
  if (job.mode == Mode::ctr) evp().restart(context.get(), ctr_block(job.offset / 16).data());
  const auto use = [&](std::uint64_t at, std::uint8_t* buffer, std::size_t step) {
    if (context) evp().update(context.get(), buffer, buffer, step);
    return std::memcmp(buffer, out + (at - job.offset), step) == 0;
  };
  return each_chunk(job.offset, job.bytes, use);
}

bool is_answer_in_segments(const Job& job, const std::uint8_t* out, const std::uint8_t* tags) {
  GcmOracle oracle(job);
  for (std::uint64_t s = 0; s < segments(job.bytes); ++s) {
    const std::uint64_t at = s * segment_bytes;
    const std::uint64_t size = std::min<std::uint64_t>(segment_bytes, job.bytes - at);
    if (!oracle.compute(s, at, size, out) || !oracle.is_tag(tags + tag_bytes * s)) return false;
  }
  return true;
}

void write_tags_of_pattern(const Job& job, std::uint8_t* in) {
  const Messages messages(job);
  GcmOracle oracle(with_direction(job, Direction::decrypt));
  for (std::uint64_t m = 0; m < messages.count; ++m) {
    oracle.compute(m, messages.offset(m), messages.size(m), nullptr);
    std::copy_n(oracle.tag().data(), tag_bytes, in + messages.offset(m) + messages.size(m));
  }
}

}  // namespace paraes::bench
