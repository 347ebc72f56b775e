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

// Calls use(at, input, bytes) for each chunk of a job's input, until it returns false, and returns
// whether it never did.
template <class Use>
bool each_chunk(std::uint64_t bytes, const Use& use) {
  std::vector<std::uint8_t> buffer(std::min<std::uint64_t>(oracle_chunk_bytes, bytes));
  for (std::uint64_t at = 0; at < bytes; at += oracle_chunk_bytes) {
    const std::size_t step = std::min<std::uint64_t>(oracle_chunk_bytes, bytes - at);
    pattern(at, buffer.data(), step);
    if (!use(at, buffer.data(), step)) return false;
  }
  return true;
}

bool is_copy(std::uint64_t bytes, const std::uint8_t* out) {
  return each_chunk(bytes, [out](std::uint64_t at, const std::uint8_t* in, std::size_t step) {
    return std::memcmp(in, out + at, step) == 0;
  });
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

void start(const Job& job, EVP_CIPHER_CTX* context) {
  if (job.mode == Mode::gcm) evp().restart(context, material().nonce.data());
  if (job.mode == Mode::cbc || job.mode == Mode::ctr) evp().restart(context, material().iv.data());
}

Job with_direction(Job job, Direction direction) {
  job.direction = direction;
  return job;
}

std::array<std::uint8_t, 16> final_tag(EVP_CIPHER_CTX* context) {
  std::array<std::uint8_t, 16> tag{};
  evp().get_tag(context, tag.data());
  return tag;
}

// Computes GCM messages whose input is the pattern, one after another.
class GcmOracle {
 public:
  explicit GcmOracle(const Job& job)
      : job_(job),
        to_plain_(evp().context(with_direction(job, Direction::decrypt))),
        to_cipher_(evp().context(with_direction(job, Direction::encrypt))) {}

  // The message of this index, whose input is `size` bytes of the pattern from `at`.
  void compute(std::uint64_t index, std::uint64_t at, std::size_t size) {
    text_.resize(size);
    cipher_.resize(size);
    pattern(at, text_.data(), size);
    const auto nonce = segment_nonce(index);
    const auto key = message_key(index);
    const std::uint8_t* const own_key = job_.key_each ? key.data() : nullptr;
    if (job_.direction == Direction::decrypt) {
      evp().restart(to_plain_.get(), nonce.data(), own_key);
      evp().update(to_plain_.get(), text_.data(), text_.data(), size);
    }
    // The right tag of a decryption is the one that encrypting its plaintext gives.
    evp().restart(to_cipher_.get(), nonce.data(), own_key);
    evp().update(to_cipher_.get(), text_.data(), cipher_.data(), size);
    tag_ = final_tag(to_cipher_.get());
    if (job_.direction == Direction::encrypt) text_.swap(cipher_);
  }

  [[nodiscard]] bool is_text(const std::uint8_t* text) const {
    return std::equal(text_.begin(), text_.end(), text);
  }
  [[nodiscard]] bool is_tag(const std::uint8_t* tag) const {
    return std::equal(tag_.begin(), tag_.end(), tag);
  }
  [[nodiscard]] const std::array<std::uint8_t, 16>& tag() const { return tag_; }

 private:
  Job job_;
  EvpContext to_plain_;
  EvpContext to_cipher_;
  std::vector<std::uint8_t> text_;  // the output
  std::vector<std::uint8_t> cipher_;
  std::array<std::uint8_t, 16> tag_{};
};

bool is_answer_in_messages(const Job& job, const std::uint8_t* out) {
  const Messages messages(job);
  GcmOracle oracle(job);
  for (std::uint64_t m = 0; m < messages.count; ++m) {
    const std::uint64_t at = messages.offset(m);
    const std::size_t size = messages.size(m);
    oracle.compute(m, at, size);
    if (!oracle.is_text(out + at)) return false;
    // Decryption has checked the tag, and writes none.
    if (job.direction == Direction::encrypt && !oracle.is_tag(out + at + size)) return false;
  }
  return true;
}

}  // namespace

std::array<std::uint8_t, 16> gcm_tag_of_pattern(const Job& job) {
  const EvpContext to_plain = evp().context(with_direction(job, Direction::decrypt));
  const EvpContext to_cipher = evp().context(with_direction(job, Direction::encrypt));
  start(job, to_plain.get());
  start(job, to_cipher.get());
  // EVP decrypts before it knows the tag. Encrypting that plaintext gives the pattern again, and
  // its tag.
  each_chunk(job.bytes, [&](std::uint64_t /*at*/, std::uint8_t* buffer, std::size_t step) {
    evp().update(to_plain.get(), buffer, buffer, step);
    evp().update(to_cipher.get(), buffer, buffer, step);
    return true;
  });
  return final_tag(to_cipher.get());
}

bool is_answer(const Job& job, const std::uint8_t* out, const std::uint8_t* tag) {
  if (!job.mode) return is_copy(job.bytes, out);
  if (job.mode == Mode::xts) return is_xts(job, out);
  if (job.message != 0) return is_answer_in_messages(job, out);
  const EvpContext context = evp().context(job);
  start(job, context.get());
  const bool same =
      each_chunk(job.bytes, [&](std::uint64_t at, std::uint8_t* buffer, std::size_t step) {
        evp().update(context.get(), buffer, buffer, step);
        return std::memcmp(buffer, out + at, step) == 0;
      });
  if (!same) return false;
  if (job.mode != Mode::gcm || job.direction == Direction::decrypt) return true;
  return std::memcmp(final_tag(context.get()).data(), tag, 16) == 0;
}

bool is_answer_in_segments(const Job& job, const std::uint8_t* out, const std::uint8_t* tags) {
  GcmOracle oracle(job);
  for (std::uint64_t s = 0; s < segments(job.bytes); ++s) {
    const std::uint64_t at = s * segment_bytes;
    oracle.compute(s, at, std::min<std::uint64_t>(segment_bytes, job.bytes - at));
    if (!oracle.is_text(out + at) || !oracle.is_tag(tags + tag_bytes * s)) return false;
  }
  return true;
}

void write_tags_of_pattern(const Job& job, std::uint8_t* in) {
  const Messages messages(job);
  GcmOracle oracle(with_direction(job, Direction::decrypt));
  for (std::uint64_t m = 0; m < messages.count; ++m) {
    oracle.compute(m, messages.offset(m), messages.size(m));
    std::copy_n(oracle.tag().data(), tag_bytes, in + messages.offset(m) + messages.size(m));
  }
}

}  // namespace paraes::bench
