// Work that leaves keys, tweaks, tag masks, hashes and texts in the memory of a device.
#pragma once

#include <algorithm>
#include <array>
#include <functional>
#include <memory>
#include <vector>

#include "paraes/ciphers.hpp"
#include "src/cipher/device_memory.hpp"
#include "src/cipher/gpu.hpp"
#include "src/cipher/gpu_gcm.hpp"
#include "src/gpu/pool.hpp"
#include "src/kernels/registry.hpp"
#include "src/modes/gcm.hpp"
#include "src/modes/xts.hpp"
#include "tests/support/buffers.hpp"

namespace paraes::support {

// Is called while a cipher that has worked still exists.
using Look = std::function<void(const char* cipher)>;

inline std::shared_ptr<gpu::DevicePool> make_pool(const char* runtime, const char* kernel) {
  std::unique_ptr<gpu::Platform> platform = gpu::open_platform(runtime);
  std::unique_ptr<gpu::Device> device = platform->open(0);
  std::vector<std::unique_ptr<gpu::DeviceContext>> contexts;
  gpu::PoolOptions options;
  options.memory_limit = std::uint64_t{16} << 16;  // launches of 64 KiB
  contexts.push_back(std::make_unique<gpu::DeviceContext>(std::move(platform), std::move(device),
                                                          gpu::find_gpu_kernel(kernel), options));
  return std::make_shared<gpu::DevicePool>(std::move(contexts));
}

inline void work_in_block_modes(const std::shared_ptr<gpu::DevicePool>& pool,
                                const detail::GpuUse& use, const Look& look) {
  const Buffer key = make_key(32, 1);
  const Buffer plain = pattern(200'000);
  Buffer out(plain.size());
  const auto cipher = detail::make_gpu_block(
      pool, std::make_unique<CipherKey>(find_kernel("auto"), key.data(), 32U), Executor(1), use);
  Buffer iv = make_key(16, 2);
  cipher->ecb(Direction::encrypt, plain.data(), out.data(), plain.size());
  cipher->ctr(iv.data(), 0, plain.data(), out.data(), plain.size());
  cipher->cbc_decrypt(iv.data(), plain.data(), out.data(), plain.size());
  look("block modes");
}

inline void work_in_xts(const std::shared_ptr<gpu::DevicePool>& pool, const detail::GpuUse& use,
                        const Look& look) {
  const Buffer key = make_key(64, 3);
  const Buffer plain = pattern(200'000);
  Buffer out(plain.size());
  const auto cipher = detail::make_gpu_xts(
      pool, std::make_unique<XtsKey>(find_kernel("auto"), key.data(), 32U), Executor(1), use);
  const Buffer unit(16, 4);
  // One unit, and then more and more of them, for which tweaks need more memory.
  cipher->xts(Direction::encrypt, unit.data(), 0, plain.data(), out.data(), 5000);
  cipher->xts(Direction::encrypt, unit.data(), 4096, plain.data(), out.data(), 16384);
  cipher->xts(Direction::decrypt, unit.data(), 32, plain.data(), out.data(), plain.size());
  look("XTS");
}

inline void work_in_gcm(const std::shared_ptr<gpu::DevicePool>& pool, const detail::GpuUse& use,
                        const Look& look) {
  const Buffer key = make_key(32, 5);
  const Buffer plain = pattern(200'000);
  const Buffer nonce = make_key(20, 6);  // J0 depends on the hash key
  Buffer out(plain.size());
  Buffer tag(16);
  const detail::GpuGcm cipher(pool, std::make_shared<GcmKey>(find_kernel("auto"), key.data(), 32U),
                              Executor(1), use);
  cipher.seal({nonce.data(), nonce.size(), nullptr, 0, plain.data(), out.data(), plain.size(),
               tag.data(), nullptr, 0});
  look("GCM");
}

// `count` messages with keys of their own on one stream.
inline void work_with_many_keys(const std::shared_ptr<gpu::DevicePool>& pool,
                                const detail::GpuUse& use, unsigned count) {
  std::vector<std::unique_ptr<gpu::KeyMaterial>> materials;
  std::vector<const gpu::KeyMaterial*> keys;
  std::vector<paraes_message> messages;
  const Buffer counter = make_key(16, 7);
  for (unsigned i = 0; i < count; ++i) {
    materials.push_back(
        detail::make_key_material(make_key(32, 100 + i), 1, true, use.key_expansion));
    keys.push_back(materials.back().get());
    messages.push_back(gpu::make_message(64 * i, 64 * i, 64, counter.data()));
    messages.back().key = i;
    messages.back().tag = 64 * count + 16 * i;
  }
  gpu::DevicePool::Lease lease(*pool);
  gpu::Stream& stream = lease.stream();
  struct Wiper {
    gpu::Stream& stream;
    ~Wiper() { stream.forget_keys(); }
  };
  const Wiper wiper{stream};
  stream.use_keys(keys);
  const Buffer plain = pattern(64 * count);
  std::copy(plain.begin(), plain.end(), stream.input());
  stream.stage_in(plain.size());
  stream.launch("gcm_ctr", messages);
  stream.launch_hash(count);
  stream.stage_out(plain.size() + 16 * count);
  stream.finish();
}

// Device memory of the caller of a cipher, which wipes it like a cipher's.
class CallersTexts {
 public:
  static constexpr std::size_t bytes = 200'000;

  explicit CallersTexts(gpu::Device& device)
      : queue_(device.make_queue()), in_(device, *queue_, bytes), out_(device, *queue_, bytes) {
    const Buffer plain = pattern(bytes);
    const auto pinned = device.allocate_pinned(bytes, false);
    std::copy(plain.begin(), plain.end(), pinned->host().begin());
    for (gpu::SecretMemory* memory : {&in_, &out_}) {
      queue_->upload(memory->write(), 0, pinned->host().data(), bytes);
    }
    queue_->finish();
  }

  [[nodiscard]] DeviceBuffer in() const { return {in_.read().handle(), 0, bytes}; }
  [[nodiscard]] DeviceBuffer out() const { return {out_.read().handle(), 0, bytes}; }

  enum class Places { apart, in_place };
  // Messages as texts, with their tags in out().
  [[nodiscard]] std::vector<DeviceText> texts(Places places,
                                              std::span<const DeviceMessage> messages) const {
    std::vector<DeviceText> texts;
    for (const DeviceMessage& message : messages) {
      const std::uintptr_t from = places == Places::apart ? in().memory : out().memory;
      texts.push_back({.in = {from, message.in, message.bytes},
                       .out = {out().memory, message.out, message.bytes},
                       .key = message.key,
                       .iv = message.iv,
                       .tag = {out().memory, message.tag, 16},
                       .aad = message.aad});
    }
    return texts;
  }

 private:
  std::unique_ptr<gpu::Queue> queue_;
  gpu::SecretMemory in_;
  gpu::SecretMemory out_;
};

// A text that is hashed in one range, one in several, and a short one with associated data.
inline std::vector<DeviceMessage> callers_messages(unsigned keys, Bytes aad) {
  return {{.in = 0, .out = 0, .bytes = 5000, .key = 0, .tag = 5008},
          {.in = 6400, .out = 6400, .bytes = 100'000, .key = keys - 1, .tag = 106'400},
          {.in = 107'200, .out = 107'200, .bytes = 48, .key = 0, .tag = 107'248, .aad = aad}};
}

// Every mode over data that is already on the device, with one key or with several.
inline void work_in_callers_memory(const char* runtime, const char* kernel,
                                   const detail::GpuUse& use, unsigned keys, const Look& look) {
  const auto context = gpu::open_context({runtime, {0}}, gpu::find_gpu_kernel(kernel));
  const CallersTexts texts(context->device());
  const Buffer aad = pattern(30);
  const std::vector<DeviceMessage> messages = callers_messages(keys, aad);
  std::vector<std::unique_ptr<gpu::KeyMaterial>> materials;
  for (unsigned k = 0; k < keys; ++k) {
    materials.push_back(
        detail::make_key_material(make_key(32, 200 + k), 1, true, use.key_expansion));
  }
  const auto apart = texts.texts(CallersTexts::Places::apart, messages);
  const auto in_place = texts.texts(CallersTexts::Places::in_place, messages);
  {
    detail::DeviceCipherImpl cipher(context, {}, std::move(materials));
    gpu::CallerQueue& queue = cipher.queues().on_own();
    cipher.run(queue, "ctr", apart);
    cipher.cbc_decrypt(queue, std::span(in_place).last(1));
    cipher.gcm_encrypt(queue, apart);
    static_cast<void>(cipher.gcm_decrypt(queue, in_place));
    queue.queue().finish();
    look("data on the device");
  }
  materials.clear();
  materials.push_back(detail::make_key_material(make_key(64, 210), 2, false, use.key_expansion));
  detail::DeviceCipherImpl cipher(context, {}, std::move(materials));
  gpu::CallerQueue& queue = cipher.queues().on_own();
  cipher.xts(queue, Direction::encrypt, 64, std::span(apart).last(1));
  cipher.xts(queue, Direction::decrypt, 512, std::span(in_place).last(1));
  queue.queue().finish();
  look("XTS of data on the device");
}

}  // namespace paraes::support
