// The public mode classes. They check arguments once, against the limits of the standards.

#include "paraes/ciphers.hpp"

#include <algorithm>
#include <functional>

#include "paraes/error.hpp"
#include "paraes/secret.hpp"
#include "src/cipher/cipher.hpp"
#include "src/cipher/open.hpp"
#include "src/modes/gcm.hpp"
#include "src/modes/xts.hpp"

namespace paraes {

namespace {

// Functions that throw are apart from those that check: encrypting a short message takes less time
// than preparing a frame for the strings of an exception.
[[noreturn, gnu::cold, gnu::noinline]] void refuse_buffers(Bytes in, MutableBytes out) {
  if (in.size() != out.size()) {
    throw InvalidArgument("input has " + std::to_string(in.size()) +
                          " bytes but output has room for " + std::to_string(out.size()));
  }
  throw InvalidArgument(
      "input and output overlap partly; use the same buffer, or two that do not overlap");
}

void check_buffers(Bytes in, MutableBytes out) {
  const std::less<const std::uint8_t*> is_before;
  const bool overlap_partly = in.data() != out.data() &&
                              is_before(in.data(), out.data() + out.size()) &&
                              is_before(out.data(), in.data() + in.size());
  if (in.size() != out.size() || overlap_partly) refuse_buffers(in, out);
}

[[noreturn, gnu::cold, gnu::noinline]] void refuse_block(const char* name, std::size_t bytes) {
  throw InvalidArgument(std::string(name) + " has 16 bytes, not " + std::to_string(bytes));
}

std::array<std::uint8_t, block_bytes> to_block(Bytes bytes, const char* name) {
  if (bytes.size() != block_bytes) refuse_block(name, bytes.size());
  std::array<std::uint8_t, block_bytes> block;
  std::copy(bytes.begin(), bytes.end(), block.begin());
  return block;
}

void ecb_message(const detail::BlockCipher& cipher, Direction direction, Bytes in,
                 MutableBytes out) {
  check_buffers(in, out);
  detail::check_whole_blocks(in.size(), "ECB (SP 800-38A section 5.2)");
  cipher.ecb(direction, in.data(), out.data(), in.size());
}

// chain: the ciphertext block before `in`; becomes the last one.
void cbc_message(const detail::BlockCipher& cipher, Direction direction,
                 std::array<std::uint8_t, block_bytes>& chain, Bytes in, MutableBytes out) {
  check_buffers(in, out);
  detail::check_whole_blocks(in.size(), "CBC (SP 800-38A section 5.2)");
  if (direction == Direction::encrypt) {
    cipher.cbc_encrypt(chain.data(), in.data(), out.data(), in.size());
  } else {
    cipher.cbc_decrypt(chain.data(), in.data(), out.data(), in.size());
  }
}

[[noreturn, gnu::cold, gnu::noinline]] void refuse_long_stream() {
  throw InvalidArgument("a CTR stream has at most 2^64 - 1 bytes");
}

void ctr_message(const detail::BlockCipher& cipher, const std::uint8_t* counter,
                 std::uint64_t offset, Bytes in, MutableBytes out) {
  check_buffers(in, out);
  // Behind this end, positions and thus the key stream would begin again.
  if (in.size() > UINT64_MAX - offset) refuse_long_stream();
  cipher.ctr(counter, offset, in.data(), out.data(), in.size());
}

// Throws if XTS cannot process `bytes` bytes in units of unit_bytes.
[[gnu::cold, gnu::noinline]] void check_xts_text(std::size_t bytes, std::size_t unit_bytes) {
  if (bytes < block_bytes) {
    throw InvalidArgument("XTS needs at least one block of 16 bytes (IEEE 1619 section 5.1), not " +
                          std::to_string(bytes));
  }
  if (const std::size_t last = XtsUnits(bytes, unit_bytes).last; last > max_xts_unit_bytes) {
    throw InvalidArgument("a data unit has at most 2^20 blocks (SP 800-38E section 4), but the " +
                          std::string("last one would have ") + std::to_string(last) +
                          " bytes: use smaller units");
  }
}

void xts_message(const detail::XtsCipher& cipher, Direction direction, std::size_t unit_bytes,
                 Bytes first_unit, Bytes in, MutableBytes out) {
  check_buffers(in, out);
  // Not a copy: the kernel's load of 16 bytes could not be forwarded from the stores of a copy.
  if (first_unit.size() != block_bytes) {
    refuse_block("the number of the first data unit", first_unit.size());
  }
  // Up to max_xts_unit_bytes, no unit is too large.
  if (in.size() < block_bytes || in.size() > max_xts_unit_bytes) {
    check_xts_text(in.size(), unit_bytes);
  }
  cipher.xts(direction, first_unit.data(), unit_bytes, in.data(), out.data(), in.size());
}

// The standard has no lower limit. Shorter ones are used up too soon.
constexpr std::size_t least_new_nonce_bytes = 8;
constexpr std::size_t most_nonce_bytes = (std::size_t{1} << 61) - 1;

[[noreturn, gnu::cold, gnu::noinline]] void refuse_long_nonce() {
  throw InvalidArgument("a GCM nonce has at most 2^61 - 1 bytes (SP 800-38D section 5.2.1.1)");
}

[[noreturn, gnu::cold, gnu::noinline]] void refuse_new_message(std::size_t nonce_bytes,
                                                               std::size_t tag_bytes) {
  if (nonce_bytes > most_nonce_bytes) refuse_long_nonce();
  if (nonce_bytes < least_new_nonce_bytes) {
    throw InvalidArgument(
        "GCM encryption takes nonces of 8 bytes or more, best 12 (SP 800-38D section 8.2), not " +
        std::to_string(nonce_bytes));
  }
  throw InvalidArgument("GCM encryption makes tags of 16 bytes, not " + std::to_string(tag_bytes));
}

[[noreturn, gnu::cold, gnu::noinline]] void refuse_message(std::size_t nonce_bytes,
                                                           std::size_t tag_bytes) {
  if (nonce_bytes > most_nonce_bytes) refuse_long_nonce();
  if (nonce_bytes == 0) {
    throw InvalidArgument("a GCM nonce has at least 1 bit (SP 800-38D section 5.2.1.1)");
  }
  throw InvalidArgument(
      "a GCM tag has 4, 8, 12, 13, 14, 15 or 16 bytes (SP 800-38D section 5.2.1.2), not " +
      std::to_string(tag_bytes));
}

[[noreturn, gnu::cold, gnu::noinline]] void refuse_tag(MutableBytes out) {
  secure_zero(out.data(), out.size());
  throw IntegrityError(
      "the GCM tag does not match: wrong key, nonce or associated data, or "
      "damaged data");
}

// One comparison for both limits.
bool is_nonce_size(std::size_t bytes, std::size_t least) {
  return bytes - least <= most_nonce_bytes - least;
}

bool is_tag_size(std::size_t bytes) {
  return (bytes >= 12 && bytes <= 16) || bytes == 8 || bytes == 4;
}

constexpr std::size_t full_tag_bytes = 16;

[[noreturn, gnu::cold, gnu::noinline]] void refuse_null(const char* name) {
  throw InvalidArgument(std::string(name) + ": it is NULL");
}

// Throws InvalidArgument for a nullptr where there are bytes. One branch after another, of which
// none is taken for most messages: together they would take longer than the text.
void check_pointers(const void* nonce, const void* aad, std::size_t aad_bytes, const void* in,
                    std::size_t bytes, const void* out, const void* tag) {
  // Neither is ever empty.
  if (nonce == nullptr) [[unlikely]]
    refuse_null("nonce");
  if (tag == nullptr) [[unlikely]]
    refuse_null("tag");
  if (in == nullptr) [[unlikely]] {
    if (bytes != 0) refuse_null("in");
  }
  if (out == nullptr) [[unlikely]] {
    if (bytes != 0) refuse_null("out");
  }
  if (aad_bytes != 0) [[unlikely]] {
    if (aad == nullptr) refuse_null("aad");
  }
}

void check_new_message(Bytes nonce, Bytes aad, Bytes in, MutableBytes out, MutableBytes tag) {
  check_buffers(in, out);
  detail::check_gcm_sizes(aad.size(), in.size());
  if (!is_nonce_size(nonce.size(), least_new_nonce_bytes) || tag.size() != 16) {
    refuse_new_message(nonce.size(), tag.size());
  }
}

void check_message(Bytes nonce, Bytes aad, Bytes in, MutableBytes out, Bytes tag) {
  check_buffers(in, out);
  detail::check_gcm_sizes(aad.size(), in.size());
  if (!is_nonce_size(nonce.size(), 1) || !is_tag_size(tag.size())) {
    refuse_message(nonce.size(), tag.size());
  }
}

}  // namespace

void detail::check_text(Direction direction, const GcmText& text) {
  if (direction == Direction::encrypt) {
    check_new_message(text.nonce, text.aad, text.in, text.out, text.tag);
  } else {
    check_message(text.nonce, text.aad, text.in, text.out, text.expected_tag);
  }
}

void detail::refuse_gcm_sizes(std::uint64_t bytes) {
  if (bytes > gcm_max_text_bytes) {
    throw InvalidArgument(
        "GCM takes at most 2^36 - 32 bytes under one nonce (SP 800-38D section 5.2.1.1), not " +
        std::to_string(bytes));
  }
  throw InvalidArgument(
      "GCM takes at most 2^61 - 1 bytes of associated data (SP 800-38D section 5.2.1.1)");
}

void detail::check_whole_blocks(std::uint64_t bytes, const char* clause) {
  if (bytes % block_bytes == 0) return;
  throw InvalidArgument(std::string(clause) + " needs a whole number of 16-byte blocks, not " +
                        std::to_string(bytes) + " bytes");
}

void detail::check_xts_unit(std::uint64_t unit_bytes) {
  if (unit_bytes == 0 || (unit_bytes >= block_bytes && unit_bytes <= max_xts_unit_bytes)) return;
  throw InvalidArgument(
      "a data unit has 16 bytes (IEEE 1619 section 5.1) to 2^20 blocks (SP 800-38E section 4), "
      "not " +
      std::to_string(unit_bytes) + " bytes");
}

std::string_view Cipher::kernel() const noexcept { return on_device().kernel(); }
std::string Cipher::device() const { return on_device().device(); }
int Cipher::threads() const noexcept { return on_device().threads(); }
std::string Cipher::fallback() const { return on_device().fallback(); }
PhaseTimes Cipher::take_device_times() const { return on_device().take_times(); }

const detail::HostCipher& BlockKey::on_device() const noexcept { return *cipher_; }
const detail::HostCipher& Ecb::on_device() const noexcept { return *cipher_; }
const detail::HostCipher& Cbc::on_device() const noexcept { return *cipher_; }
const detail::HostCipher& Ctr::on_device() const noexcept { return *cipher_; }
const detail::HostCipher& Xts::on_device() const noexcept { return *cipher_; }
const detail::HostCipher& Gcm::on_device() const noexcept { return *cipher_; }

BlockKey::BlockKey(Bytes key, const Execution& execution)
    : cipher_(detail::open_block_cipher(key, execution)) {}

void BlockKey::ecb_encrypt(Bytes in, MutableBytes out) const {
  ecb_message(*cipher_, Direction::encrypt, in, out);
}
void BlockKey::ecb_decrypt(Bytes in, MutableBytes out) const {
  ecb_message(*cipher_, Direction::decrypt, in, out);
}
void BlockKey::cbc_encrypt(Bytes iv, Bytes in, MutableBytes out) const {
  auto chain = to_block(iv, "the CBC initialization vector");
  cbc_message(*cipher_, Direction::encrypt, chain, in, out);
}
void BlockKey::cbc_decrypt(Bytes iv, Bytes in, MutableBytes out) const {
  auto chain = to_block(iv, "the CBC initialization vector");
  cbc_message(*cipher_, Direction::decrypt, chain, in, out);
}
void BlockKey::ctr(Bytes counter, std::uint64_t offset, Bytes in, MutableBytes out) const {
  if (counter.size() != block_bytes) refuse_block("the CTR counter block", counter.size());
  ctr_message(*cipher_, counter.data(), offset, in, out);
}

Ecb::Ecb(Bytes key, const Execution& execution)
    : cipher_(detail::open_block_cipher(key, execution)) {}

void Ecb::encrypt(Bytes in, MutableBytes out) {
  ecb_message(*cipher_, Direction::encrypt, in, out);
}

void Ecb::decrypt(Bytes in, MutableBytes out) {
  ecb_message(*cipher_, Direction::decrypt, in, out);
}

Cbc::Cbc(Bytes key, Bytes iv, const Execution& execution)
    : cipher_(detail::open_block_cipher(key, execution)),
      chain_(to_block(iv, "the CBC initialization vector")) {}

void Cbc::encrypt(Bytes in, MutableBytes out) {
  owner_.check("a message in CBC");
  cbc_message(*cipher_, Direction::encrypt, chain_, in, out);
}

void Cbc::decrypt(Bytes in, MutableBytes out) {
  cbc_message(*cipher_, Direction::decrypt, chain_, in, out);
}

void Cbc::reset(Bytes iv) {
  chain_ = to_block(iv, "the CBC initialization vector");
  owner_ = OwnerProcess();
}

Ctr::Ctr(Bytes key, Bytes counter, const Execution& execution)
    : cipher_(detail::open_block_cipher(key, execution)),
      initial_(to_block(counter, "the CTR counter block")) {}

void Ctr::process(Bytes in, MutableBytes out) {
  owner_.check("a CTR stream");
  ctr_message(*cipher_, initial_.data(), offset_, in, out);
  offset_ += in.size();
}

void Ctr::seek(std::uint64_t offset) { offset_ = offset; }

void Ctr::reset(Bytes counter) {
  initial_ = to_block(counter, "the CTR counter block");
  offset_ = 0;
  owner_ = OwnerProcess();
}

Xts::Xts(Bytes key, std::size_t unit_bytes, const Execution& execution)
    : cipher_(detail::open_xts_cipher(key, execution)), unit_bytes_(unit_bytes) {
  detail::check_xts_unit(unit_bytes);
}

void Xts::encrypt(Bytes first_unit, Bytes in, MutableBytes out) {
  xts_message(*cipher_, Direction::encrypt, unit_bytes_, first_unit, in, out);
}

void Xts::decrypt(Bytes first_unit, Bytes in, MutableBytes out) {
  xts_message(*cipher_, Direction::decrypt, unit_bytes_, first_unit, in, out);
}

Gcm::Gcm(Bytes key, const Execution& execution)
    : cipher_(detail::open_gcm_cipher(key, execution, detail::Pairs::refuse)) {}

void Gcm::encrypt(Bytes nonce, Bytes aad, Bytes in, MutableBytes out, MutableBytes tag) {
  check_new_message(nonce, aad, in, out, tag);
  GcmMessage message = detail::message_of(nonce, aad, in, out);
  message.tag = tag.data();
  cipher_->seal(message);
}

void Gcm::decrypt(Bytes nonce, Bytes aad, Bytes in, MutableBytes out, Bytes tag) {
  check_message(nonce, aad, in, out, tag);
  GcmMessage message = detail::message_of(nonce, aad, in, out);
  message.expected_tag = tag.data();
  message.tag_bytes = tag.size();
  if (!cipher_->open(message)) refuse_tag(out);
}

void Gcm::encrypt(const std::uint8_t* nonce, std::size_t nonce_bytes, const std::uint8_t* aad,
                  std::size_t aad_bytes, const std::uint8_t* in, std::size_t bytes,
                  std::uint8_t* out, std::uint8_t* tag) const {
  check_pointers(nonce, aad, aad_bytes, in, bytes, out, tag);
  check_new_message({nonce, nonce_bytes}, {aad, aad_bytes}, {in, bytes}, {out, bytes},
                    {tag, full_tag_bytes});
  GcmMessage message =
      detail::message_of({nonce, nonce_bytes}, {aad, aad_bytes}, {in, bytes}, {out, bytes});
  message.tag = tag;
  cipher_->seal(message);
}

void Gcm::decrypt(const std::uint8_t* nonce, std::size_t nonce_bytes, const std::uint8_t* aad,
                  std::size_t aad_bytes, const std::uint8_t* in, std::size_t bytes,
                  std::uint8_t* out, const std::uint8_t* tag, std::size_t tag_bytes) const {
  check_pointers(nonce, aad, aad_bytes, in, bytes, out, tag);
  check_message({nonce, nonce_bytes}, {aad, aad_bytes}, {in, bytes}, {out, bytes},
                {tag, tag_bytes});
  GcmMessage message =
      detail::message_of({nonce, nonce_bytes}, {aad, aad_bytes}, {in, bytes}, {out, bytes});
  message.expected_tag = tag;
  message.tag_bytes = tag_bytes;
  if (!cipher_->open(message)) refuse_tag({out, bytes});
}

void Gcm::encrypt(std::span<GcmText> texts) {
  for (const GcmText& text : texts) detail::check_text(Direction::encrypt, text);
  cipher_->crypt_texts(Direction::encrypt, texts);
}

void Gcm::decrypt(std::span<GcmText> texts) {
  try {
    for (GcmText& text : texts) {
      text.intact = false;
      detail::check_text(Direction::decrypt, text);
    }
  } catch (...) {
    for (GcmText& text : texts) text.intact = false;
    throw;
  }
  cipher_->crypt_texts(Direction::decrypt, texts);
}

void detail::GcmCipher::crypt_texts(Direction direction, std::span<GcmText> texts) const {
  for (GcmText& text : texts) {
    if (direction == Direction::encrypt) {
      seal(message_of(text));
    } else {
      finish(direction, text, open(message_of(text)));
    }
  }
}

}  // namespace paraes
