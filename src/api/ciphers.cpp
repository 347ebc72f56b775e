// The public mode objects: arguments are checked once, here, against the limits of the standards.

#include "paraes/ciphers.hpp"

#include <algorithm>
#include <functional>
#include <utility>

#include "api/engine.hpp"
#include "core/counter.hpp"
#include "kernels/registry.hpp"
#include "paraes/error.hpp"

namespace paraes {

detail::Engine::Engine(const Execution& execution)
    : kernel(find_kernel(execution.kernel)), executor(execution.threads) {}

namespace {

void check_key(Bytes key) {
  if (key.size() == 16 || key.size() == 24 || key.size() == 32) return;
  throw InvalidArgument("an AES key has 16, 24 or 32 bytes (FIPS 197 section 5), not " +
                        std::to_string(key.size()));
}

void check_buffers(Bytes in, MutableBytes out) {
  if (in.size() != out.size()) {
    throw InvalidArgument("input has " + std::to_string(in.size()) +
                          " bytes but output has room for " + std::to_string(out.size()));
  }
  const std::less<const std::uint8_t*> before;
  if (in.data() != out.data() && before(in.data(), out.data() + out.size()) &&
      before(out.data(), in.data() + in.size())) {
    throw InvalidArgument("input and output overlap in part; they may only be equal or apart");
  }
}

void check_whole_blocks(Bytes in, const char* clause) {
  if (in.size() % block_bytes == 0) return;
  throw InvalidArgument(std::string(clause) + " needs a whole number of 16-byte blocks, not " +
                        std::to_string(in.size()) + " bytes");
}

std::array<std::uint8_t, block_bytes> to_block(Bytes bytes, const char* what) {
  if (bytes.size() != block_bytes) {
    throw InvalidArgument(std::string(what) + " has 16 bytes, not " + std::to_string(bytes.size()));
  }
  std::array<std::uint8_t, block_bytes> block;
  std::copy(bytes.begin(), bytes.end(), block.begin());
  return block;
}

std::unique_ptr<detail::Engine> plain_engine(Bytes key, const Execution& execution) {
  check_key(key);
  auto engine = std::make_unique<detail::Engine>(execution);
  engine->plain =
      std::make_unique<CipherKey>(engine->kernel, key.data(), static_cast<unsigned>(key.size()));
  return engine;
}

std::unique_ptr<detail::Engine> xts_engine(Bytes key, const Execution& execution) {
  if (key.size() == 48) {
    throw InvalidArgument(
        "XTS has no AES-192 (SP 800-38E section 3): the key has 32 bytes (AES-128) or 64 "
        "(AES-256), not 48");
  }
  if (key.size() != 32 && key.size() != 64) {
    throw InvalidArgument(
        "an XTS key has 32 bytes (AES-128) or 64 (AES-256), both halves together (IEEE 1619 "
        "section 5.1), not " +
        std::to_string(key.size()));
  }
  const std::size_t half = key.size() / 2;
  if (constant_time_equal(key.first(half), key.last(half))) {
    throw InvalidArgument(
        "the two halves of an XTS key must differ (FIPS 140-3 implementation guidance C.I)");
  }
  auto engine = std::make_unique<detail::Engine>(execution);
  engine->xts = std::make_unique<XtsKey>(engine->kernel, key.data(), static_cast<unsigned>(half));
  return engine;
}

void check_gcm(Bytes aad, Bytes in) {
  if (in.size() > gcm_max_text_bytes) {
    throw InvalidArgument(
        "GCM takes at most 2^36 - 32 bytes under one nonce (SP 800-38D section "
        "5.2.1.1), not " +
        std::to_string(in.size()));
  }
  if (aad.size() > gcm_max_aad_bytes) {
    throw InvalidArgument(
        "GCM takes at most 2^61 - 1 bytes of associated data (SP 800-38D section 5.2.1.1)");
  }
}

// The tag of `in` and its text to `out`, spread over the engine's threads.
void gcm_message(const detail::Engine& engine, Direction direction, Bytes nonce, Bytes aad,
                 Bytes in, MutableBytes out, std::uint8_t tag[16]) {
  const GcmKey& key = *engine.gcm;
  const GcmCounter j0 = gcm_initial_counter(key, nonce.data(), nonce.size());
  GcmCounter counter = j0;
  add_be32(counter.block, 1);
  std::uint8_t state[16] = {};
  gcm_hash(key, state, aad.data(), aad.size());
  parallel_gcm(engine.executor, key, direction, counter, state, in.data(), out.data(), in.size());
  gcm_tag(key, j0, state, aad.size(), in.size(), tag);
}

void xts_message(const detail::Engine& engine, Direction direction, std::size_t unit_bytes,
                 Bytes first_unit, Bytes in, MutableBytes out) {
  check_buffers(in, out);
  const auto first = to_block(first_unit, "the number of the first data unit");
  if (in.size() < block_bytes) {
    throw InvalidArgument("XTS needs at least one block of 16 bytes (IEEE 1619 section 5.1), not " +
                          std::to_string(in.size()));
  }
  constexpr std::size_t max_unit = std::size_t{block_bytes} << 20;
  if (const std::size_t last = XtsUnits(in.size(), unit_bytes).last; last > max_unit) {
    throw InvalidArgument("a data unit has at most 2^20 blocks (SP 800-38E section 4), but the " +
                          std::string("last one would have ") + std::to_string(last) +
                          " bytes: use smaller units");
  }
  parallel_xts(engine.executor, *engine.xts, direction, first.data(), unit_bytes, in.data(),
               out.data(), in.size());
}

}  // namespace

std::unique_ptr<detail::Engine> make_gcm_engine(Bytes key, const Execution& execution) {
  check_key(key);
  auto engine = std::make_unique<detail::Engine>(execution);
  engine->gcm =
      std::make_unique<GcmKey>(engine->kernel, key.data(), static_cast<unsigned>(key.size()));
  return engine;
}

void gcm_seal(const detail::Engine& engine, Bytes nonce, Bytes aad, Bytes in, MutableBytes out,
              std::uint8_t* tag) {
  if (const auto seal = engine.kernel.gcm_seal; seal != nullptr && engine.executor.threads() == 1) {
    seal(engine.gcm->cipher.schedule, nonce.data(), nonce.size(), aad.data(), aad.size(), in.data(),
         out.data(), in.size(), tag);
    return;
  }
  gcm_message(engine, Direction::encrypt, nonce, aad, in, out, tag);
}

bool gcm_open(const detail::Engine& engine, Bytes nonce, Bytes aad, Bytes in, MutableBytes out,
              Bytes tag) {
  bool intact = false;
  if (const auto open = engine.kernel.gcm_open; open != nullptr && engine.executor.threads() == 1 &&
                                                nonce.size() <= max_library_nonce_bytes) {
    intact = open(engine.gcm->cipher.schedule, nonce.data(), nonce.size(), aad.data(), aad.size(),
                  in.data(), out.data(), in.size(), tag.data(), tag.size());
  } else {
    std::uint8_t expected[16];
    gcm_message(engine, Direction::decrypt, nonce, aad, in, out, expected);
    intact = constant_time_equal({expected, tag.size()}, tag);
    secure_zero(expected, sizeof expected);
  }
  if (!intact) secure_zero(out.data(), out.size());
  return intact;
}

Cipher::Cipher(std::unique_ptr<detail::Engine> engine) noexcept : engine_(std::move(engine)) {}
Cipher::Cipher(Cipher&&) noexcept = default;
Cipher& Cipher::operator=(Cipher&&) noexcept = default;
Cipher::~Cipher() = default;

std::string_view Cipher::kernel() const noexcept { return engine_->kernel.name; }
int Cipher::threads() const noexcept { return engine_->executor.threads(); }

Ecb::Ecb(Bytes key, const Execution& execution) : Cipher(plain_engine(key, execution)) {}

void Ecb::encrypt(Bytes in, MutableBytes out) {
  check_buffers(in, out);
  check_whole_blocks(in, "ECB (SP 800-38A section 5.2)");
  parallel_ecb(engine_->executor, *engine_->plain, Direction::encrypt, in.data(), out.data(),
               in.size() / block_bytes);
}

void Ecb::decrypt(Bytes in, MutableBytes out) {
  check_buffers(in, out);
  check_whole_blocks(in, "ECB (SP 800-38A section 5.2)");
  parallel_ecb(engine_->executor, *engine_->plain, Direction::decrypt, in.data(), out.data(),
               in.size() / block_bytes);
}

Cbc::Cbc(Bytes key, Bytes iv, const Execution& execution)
    : Cipher(plain_engine(key, execution)), chain_(to_block(iv, "the CBC initialization vector")) {}

void Cbc::encrypt(Bytes in, MutableBytes out) {
  check_buffers(in, out);
  check_whole_blocks(in, "CBC (SP 800-38A section 5.2)");
  engine_->kernel.cbc_encrypt(engine_->plain->schedule, chain_.data(), in.data(), out.data(),
                              in.size() / block_bytes);
}

void Cbc::decrypt(Bytes in, MutableBytes out) {
  check_buffers(in, out);
  check_whole_blocks(in, "CBC (SP 800-38A section 5.2)");
  parallel_cbc_decrypt(engine_->executor, *engine_->plain, chain_.data(), in.data(), out.data(),
                       in.size() / block_bytes);
}

void Cbc::reset(Bytes iv) { chain_ = to_block(iv, "the CBC initialization vector"); }

Ctr::Ctr(Bytes key, Bytes counter, const Execution& execution)
    : Cipher(plain_engine(key, execution)), initial_(to_block(counter, "the CTR counter block")) {}

void Ctr::process(Bytes in, MutableBytes out) {
  check_buffers(in, out);
  parallel_ctr(engine_->executor, *engine_->plain, initial_.data(), offset_, in.data(), out.data(),
               in.size());
  offset_ += in.size();
}

void Ctr::seek(std::uint64_t offset) { offset_ = offset; }

Xts::Xts(Bytes key, std::size_t unit_bytes, const Execution& execution)
    : Cipher(xts_engine(key, execution)), unit_bytes_(unit_bytes) {
  constexpr std::size_t max_unit = std::size_t{block_bytes} << 20;
  if (unit_bytes != 0 && (unit_bytes < block_bytes || unit_bytes > max_unit)) {
    throw InvalidArgument(
        "a data unit has 16 bytes (IEEE 1619 section 5.1) to 2^20 blocks (SP 800-38E section 4), "
        "not " +
        std::to_string(unit_bytes) + " bytes");
  }
}

void Xts::encrypt(Bytes first_unit, Bytes in, MutableBytes out) {
  xts_message(*engine_, Direction::encrypt, unit_bytes_, first_unit, in, out);
}

void Xts::decrypt(Bytes first_unit, Bytes in, MutableBytes out) {
  xts_message(*engine_, Direction::decrypt, unit_bytes_, first_unit, in, out);
}

Gcm::Gcm(Bytes key, const Execution& execution) : Cipher(make_gcm_engine(key, execution)) {}

void Gcm::encrypt(Bytes nonce, Bytes aad, Bytes in, MutableBytes out, MutableBytes tag) {
  check_buffers(in, out);
  check_gcm(aad, in);
  if (nonce.size() != 12) {
    throw InvalidArgument("GCM encryption takes nonces of 12 bytes (SP 800-38D section 8.2), not " +
                          std::to_string(nonce.size()));
  }
  if (tag.size() != 16) {
    throw InvalidArgument("GCM encryption makes tags of 16 bytes, not " +
                          std::to_string(tag.size()));
  }
  gcm_seal(*engine_, nonce, aad, in, out, tag.data());
}

void Gcm::decrypt(Bytes nonce, Bytes aad, Bytes in, MutableBytes out, Bytes tag) {
  check_buffers(in, out);
  check_gcm(aad, in);
  if (nonce.empty()) {
    throw InvalidArgument("a GCM nonce has at least 1 bit (SP 800-38D section 5.2.1.1)");
  }
  const std::size_t n = tag.size();
  if (n != 4 && n != 8 && (n < 12 || n > 16)) {
    throw InvalidArgument(
        "a GCM tag has 4, 8, 12, 13, 14, 15 or 16 bytes (SP 800-38D section 5.2.1.2), not " +
        std::to_string(n));
  }
  if (!gcm_open(*engine_, nonce, aad, in, out, tag)) {
    throw IntegrityError(
        "the GCM tag does not match: wrong key, nonce or associated data, or "
        "damaged data");
  }
}

}  // namespace paraes
