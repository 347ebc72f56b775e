#include "src/cipher/engine.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <string>

#include "paraes/error.hpp"
#include "paraes/kernels.hpp"
#include "src/core/counter.hpp"
#include "src/kernels/registry.hpp"

namespace paraes {
namespace {

void check_key(Bytes key) {
  if (key.size() == 16 || key.size() == 24 || key.size() == 32) return;
  throw InvalidArgument("an AES key has 16, 24 or 32 bytes (FIPS 197 section 5), not " +
                        std::to_string(key.size()));
}

// The kernel for the CPU's part: on a GPU the name is that of a GPU kernel.
const Kernel& cpu_kernel(const Execution& execution) {
  return find_kernel(gpu::names_gpu(execution.device) ? "auto" : execution.kernel);
}

void add_gpu(detail::Engine& engine, Bytes key, unsigned count, bool gcm,
             const Execution& execution) {
  const auto names = gpu::parse_device(execution.device);
  if (!names) return;
  const KernelInfo info = select_kernel(execution.kernel, execution.device, execution.allow_leaky);
  const gpu::PoolOptions options{.transfer = execution.transfer,
                                 .memory_limit = execution.device_memory};
  const GpuCipher::Use use{.key_expansion = execution.key_expansion,
                           .overlap = execution.overlap,
                           .spare = execution.fall_back ? engine.gcm.get() : nullptr};
  try {
    auto fleet = gpu::open_pool(*names, gpu::find_kernel_row(info.name), options);
    engine.gpu = std::make_unique<GpuCipher>(
        std::move(fleet), key.data(), static_cast<unsigned>(key.size() / count), count, gcm, use);
  } catch (const Error& error) {
    if (!execution.fall_back) throw;
    engine.fallback = error.what();
  }
}

// The number `units` after `first`.
std::array<std::uint8_t, 16> number_after(const std::uint8_t first[16], std::uint64_t units) {
  std::array<std::uint8_t, 16> number;
  std::memcpy(number.data(), first, 16);
  add_le128(number.data(), units);
  return number;
}

}  // namespace

detail::Engine::Engine(const Execution& execution)
    : kernel(cpu_kernel(execution)), executor(execution.threads) {}

std::unique_ptr<detail::Engine> make_plain_engine(Bytes key, const Execution& execution) {
  check_key(key);
  auto engine = std::make_unique<detail::Engine>(execution);
  engine->plain =
      std::make_unique<CipherKey>(engine->kernel, key.data(), static_cast<unsigned>(key.size()));
  add_gpu(*engine, key, 1, false, execution);
  return engine;
}

std::unique_ptr<detail::Engine> make_xts_engine(Bytes key, const Execution& execution) {
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
  add_gpu(*engine, key, 2, false, execution);
  return engine;
}

std::unique_ptr<detail::Engine> make_gcm_engine(Bytes key, const Execution& execution) {
  check_key(key);
  auto engine = std::make_unique<detail::Engine>(execution);
  engine->gcm =
      std::make_unique<GcmKey>(engine->kernel, key.data(), static_cast<unsigned>(key.size()));
  add_gpu(*engine, key, 1, true, execution);
  return engine;
}

void run_ecb(const detail::Engine& engine, Direction direction, const std::uint8_t* in,
             std::uint8_t* out, std::size_t bytes) {
  if (engine.gpu) {
    engine.gpu->ecb(direction, in, out, bytes);
  } else {
    parallel_ecb(engine.executor, *engine.plain, direction, in, out, bytes / block_bytes);
  }
}

void run_cbc_decrypt(const detail::Engine& engine, std::uint8_t chain[16], const std::uint8_t* in,
                     std::uint8_t* out, std::size_t bytes) {
  if (!engine.gpu) {
    parallel_cbc_decrypt(engine.executor, *engine.plain, chain, in, out, bytes / block_bytes);
    return;
  }
  if (bytes == 0) return;
  std::uint8_t last[16];
  std::memcpy(last, in + bytes - 16, 16);
  engine.gpu->cbc_decrypt(chain, in, out, bytes);
  std::memcpy(chain, last, 16);
}

void run_ctr(const detail::Engine& engine, const std::uint8_t initial[16], std::uint64_t offset,
             const std::uint8_t* in, std::uint8_t* out, std::size_t bytes) {
  if (!engine.gpu) {
    parallel_ctr(engine.executor, *engine.plain, initial, offset, in, out, bytes);
    return;
  }
  // Up to the first whole block of the stream.
  const std::size_t head = std::min<std::size_t>((16 - offset % 16) % 16, bytes);
  parallel_ctr(engine.executor, *engine.plain, initial, offset, in, out, head);
  std::uint8_t counter[16];
  std::memcpy(counter, initial, 16);
  add_be128(counter, (offset + head) / 16);
  engine.gpu->ctr(counter, in + head, out + head, bytes - head);
}

void run_xts(const detail::Engine& engine, Direction direction, const std::uint8_t first_unit[16],
             std::size_t unit_bytes, const std::uint8_t* in, std::uint8_t* out, std::size_t bytes) {
  const XtsKey& key = *engine.xts;
  const XtsUnits units(bytes, unit_bytes);
  if (!engine.gpu || (units.count > 1 && unit_bytes % 16 != 0)) {
    parallel_xts(engine.executor, key, direction, first_unit, unit_bytes, in, out, bytes);
    return;
  }
  std::size_t done = 0;
  if (units.count > 1) {
    const std::size_t whole = units.last == unit_bytes ? units.count : units.count - 1;
    done = whole * unit_bytes;
    engine.gpu->xts(direction, first_unit, unit_bytes, in, out, done);
    if (done == bytes) return;
    parallel_xts(engine.executor, key, direction, number_after(first_unit, whole).data(),
                 unit_bytes, in + done, out + done, bytes - done);
    return;
  }
  // One unit: the GPU takes its whole blocks, without the last two where one is stolen from.
  std::uint8_t tweak[16];
  key.tweak.kernel.ecb_encrypt(key.tweak.schedule, first_unit, tweak, 1);
  done = bytes % 16 == 0 ? bytes : bytes / 16 * 16 - 16;
  engine.gpu->xts_unit(direction, tweak, in, out, done);
  if (done != bytes) xts_unit(key.data, direction, tweak, in + done, out + done, bytes - done);
  secure_zero(tweak, sizeof tweak);
}

void run_gcm(const detail::Engine& engine, Direction direction, const GcmCounter& j0,
             std::uint8_t state[16], const std::uint8_t* in, std::uint8_t* out, std::size_t bytes) {
  if (engine.gpu) {
    engine.gpu->gcm(*engine.gcm, direction, j0, state, in, out, bytes);
    return;
  }
  GcmCounter counter = j0;
  add_be32(counter.block, 1);
  parallel_gcm(engine.executor, *engine.gcm, direction, counter, state, in, out, bytes);
}

namespace {

// The tag of `in` and its text to `out`, by the engine's device.
void gcm_message(const detail::Engine& engine, Direction direction, Bytes nonce, Bytes aad,
                 Bytes in, MutableBytes out, std::uint8_t tag[16]) {
  const GcmKey& key = *engine.gcm;
  const GcmCounter j0 = gcm_initial_counter(key, nonce.data(), nonce.size());
  std::uint8_t state[16] = {};
  gcm_hash(key, state, aad.data(), aad.size());
  run_gcm(engine, direction, j0, state, in.data(), out.data(), in.size());
  gcm_tag(key, j0, state, aad.size(), in.size(), tag);
}

}  // namespace

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

}  // namespace paraes
