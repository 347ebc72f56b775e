#include "src/cipher/gpu.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>
#include <vector>

#include "src/cipher/parallel_modes.hpp"
#include "src/core/bulk_copy.hpp"
#include "src/core/counter.hpp"
#include "src/kernels/block_modes.hpp"

namespace paraes::detail {
namespace {

using gpu::make_message;
using gpu::Stream;
using Block = std::array<std::uint8_t, block_bytes>;

Block load_block(const std::uint8_t from[16]) {
  Block block;
  std::memcpy(block.data(), from, block.size());
  return block;
}

// Copies the text to the device, calls `launch`, and copies the result back.
void launch_on_copy(Stream& stream, const DirectCopies& direct, const std::uint8_t* in,
                    std::uint8_t* out, std::size_t bytes, const auto& launch) {
  copy_text_in(stream, direct, in, bytes);
  launch();
  copy_text_out(stream, direct, out, bytes, padded(bytes));
  stream.finish();
  take_text(stream, direct, out, bytes);
}

class GpuBlock final : public OnGpu<BlockCipher, std::unique_ptr<const CipherKey>> {
 public:
  using OnGpu::OnGpu;

  void ecb(Direction direction, const std::uint8_t* in, std::uint8_t* out,
           std::size_t bytes) const override {
    const char* const entry = direction == Direction::encrypt ? "ecb_encrypt" : "ecb_decrypt";
    const DirectCopies direct = gpu_.direct_copies({in, bytes}, {out, bytes});
    gpu_.ranges(bytes, block_bytes, [&](Stream& stream, std::size_t from, std::size_t n) {
      launch(stream, direct, entry, in + from, out + from, n, nullptr);
    });
  }

  void cbc_encrypt(std::uint8_t chain[16], const std::uint8_t* in, std::uint8_t* out,
                   std::size_t bytes) const override {
    key_->kernel.cbc_encrypt(key_->schedule, chain, in, out, bytes / block_bytes);
  }

  void cbc_decrypt(std::uint8_t chain[16], const std::uint8_t* in, std::uint8_t* out,
                   std::size_t bytes) const override {
    if (bytes == 0) return;
    const std::size_t range =
        std::min(gpu_.pool().launch_bytes(),
                 std::max(padded(bytes / gpu_.streams() + 1), std::size_t{4096}));
    // Saved before any launch: in place, a launch may overwrite the ciphertext block that the next
    // one needs.
    std::vector<Block> chains((bytes + range - 1) / range);
    for (std::size_t i = 0; i < chains.size(); ++i) {
      chains[i] = load_block(i == 0 ? chain : in + i * range - block_bytes);
    }
    const Block last = load_block(in + bytes - block_bytes);
    const DirectCopies direct = gpu_.direct_copies({in, bytes}, {out, bytes});
    gpu_.launches(chains.size(), [&](Stream& stream, std::uint64_t i) {
      const std::size_t from = i * range;
      launch(stream, direct, "cbc_decrypt", in + from, out + from, std::min(range, bytes - from),
             chains[i].data());
    });
    std::memcpy(chain, last.data(), last.size());
  }

  void ctr(const std::uint8_t initial[16], std::uint64_t offset, const std::uint8_t* in,
           std::uint8_t* out, std::size_t bytes) const override {
    // The CPU processes the bytes before the first whole block of the key stream.
    const std::size_t head = std::min<std::size_t>((16 - offset % 16) % 16, bytes);
    parallel_ctr(executor_, *key_, initial, offset, in, out, head);
    Block counter = load_block(initial);
    add_be128(counter.data(), (offset + head) / 16);
    const DirectCopies direct = gpu_.direct_copies({in, bytes}, {out, bytes});
    gpu_.ranges(bytes - head, block_bytes, [&](Stream& stream, std::size_t from, std::size_t n) {
      Block first = counter;
      add_be128(first.data(), from / 16);
      launch(stream, direct, "ctr", in + head + from, out + head + from, n, first.data());
    });
  }

 private:
  static void launch(Stream& stream, const DirectCopies& direct, const char* entry,
                     const std::uint8_t* in, std::uint8_t* out, std::size_t bytes,
                     const std::uint8_t* counter) {
    launch_on_copy(stream, direct, in, out, bytes, [&] {
      paraes_message message = make_message(0, 0, bytes, counter);
      stream.launch(entry, {&message, 1});
    });
  }
};

class GpuXts final : public OnGpu<XtsCipher, std::unique_ptr<const XtsKey>> {
 public:
  using OnGpu::OnGpu;

  void xts(Direction direction, const std::uint8_t first_unit[16], std::size_t unit_bytes,
           const std::uint8_t* in, std::uint8_t* out, std::size_t bytes) const override {
    const XtsUnits units(bytes, unit_bytes);
    if (units.count == 1) {
      one_unit(direction, first_unit, in, out, bytes);
      return;
    }
    std::size_t whole = units.last == unit_bytes ? units.count : units.count - 1;
    // The CPU processes units with ciphertext stealing and units that are larger than a launch.
    if (unit_bytes % 16 != 0 || unit_bytes > gpu_.pool().launch_bytes()) whole = 0;
    const std::size_t done = whole * unit_bytes;
    whole_units(direction, first_unit, unit_bytes, in, out, done);
    if (done == bytes) return;
    Block number = load_block(first_unit);
    add_le128(number.data(), whole);
    parallel_xts(executor_, *key_, direction, number.data(), unit_bytes, in + done, out + done,
                 bytes - done);
  }

 private:
  // `unit_bytes` is a multiple of 16, and `bytes` one of `unit_bytes`.
  void whole_units(Direction direction, const std::uint8_t first_unit[16], std::size_t unit_bytes,
                   const std::uint8_t* in, std::uint8_t* out, std::size_t bytes) const {
    const DirectCopies direct = gpu_.direct_copies({in, bytes}, {out, bytes});
    gpu_.ranges(bytes, unit_bytes, [&](Stream& stream, std::size_t from, std::size_t n) {
      launch_on_copy(stream, direct, in + from, out + from, n, [&] {
        Block number = load_block(first_unit);
        add_le128(number.data(), from / unit_bytes);
        paraes_message message = make_message(0, 0, n, number.data());
        stream.launch_xts(direction, message, static_cast<std::uint32_t>(unit_bytes / 16), nullptr);
      });
    });
  }

  // The GPU processes the blocks of a unit, except for the last two if ciphertext stealing joins
  // them.
  void one_unit(Direction direction, const std::uint8_t number[16], const std::uint8_t* in,
                std::uint8_t* out, std::size_t bytes) const {
    Block tweak;
    const CipherKey& tweak_key = key_->tweak;
    tweak_key.kernel.ecb_encrypt(tweak_key.schedule, number, tweak.data(), 1);
    const std::size_t done = bytes % 16 == 0 ? bytes : bytes / 16 * 16 - 16;
    blocks_of_unit(direction, tweak, in, out, done);
    if (done != bytes) {
      xts_unit(key_->data, direction, tweak.data(), in + done, out + done, bytes - done);
    }
    secure_zero(tweak.data(), tweak.size());
  }

  // `tweak` is the encrypted tweak of the first block, and on return that of the block after the
  // last one.
  void blocks_of_unit(Direction direction, Block& tweak, const std::uint8_t* in, std::uint8_t* out,
                      std::size_t bytes) const {
    const std::size_t range = gpu_.pool().launch_bytes();
    std::vector<Block> tweaks((bytes + range - 1) / range);
    for (std::size_t i = 0; i < tweaks.size(); ++i) {
      tweaks[i] = tweak;
      const std::size_t n = std::min(range, bytes - i * range);
      for (std::size_t b = 0; b < n / 16; ++b) block_modes::xts_next_tweak(tweak.data());
    }
    const DirectCopies direct = gpu_.direct_copies({in, bytes}, {out, bytes});
    gpu_.launches(tweaks.size(), [&](Stream& stream, std::uint64_t i) {
      const std::size_t from = i * range;
      const std::size_t n = std::min(range, bytes - from);
      launch_on_copy(stream, direct, in + from, out + from, n, [&] {
        paraes_message message = make_message(0, 0, n, nullptr);
        stream.launch_xts(direction, message, static_cast<std::uint32_t>(n / 16), tweaks[i].data());
      });
    });
    secure_zero(tweaks.data(), tweaks.size() * sizeof(Block));
  }
};

}  // namespace

std::shared_ptr<const BlockCipher> make_gpu_block(std::shared_ptr<gpu::DevicePool> pool,
                                                  std::unique_ptr<const CipherKey> key,
                                                  const Executor& executor, const GpuUse& use) {
  auto material = make_key_material({key.get()}, false, use.key_expansion);
  return std::make_shared<GpuBlock>(std::move(pool), std::move(material), std::move(key), executor,
                                    use);
}

std::shared_ptr<const XtsCipher> make_gpu_xts(std::shared_ptr<gpu::DevicePool> pool,
                                              std::unique_ptr<const XtsKey> key,
                                              const Executor& executor, const GpuUse& use) {
  auto material = make_key_material({&key->data, &key->tweak}, false, use.key_expansion);
  return std::make_shared<GpuXts>(std::move(pool), std::move(material), std::move(key), executor,
                                  use);
}

}  // namespace paraes::detail
