#include "src/gpu/caller_queue.hpp"

#include <algorithm>
#include <map>
#include <mutex>
#include <utility>

#include "paraes/error.hpp"
#include "src/gpu/pool.hpp"

namespace paraes::gpu {
namespace {

// How much of texts in place is copied at a time.
constexpr std::size_t most_copied = std::size_t{16} << 20;
constexpr std::size_t block = 16;

}  // namespace

CallerQueue::CallerQueue(std::shared_ptr<DeviceContext> context, std::unique_ptr<Queue> queue)
    : context_(std::move(context)),
      pinned_(std::make_shared<PinnedPool>(context_)),
      queue_(std::move(queue)),
      launches_(*context_, *queue_, 0, pinned_.get()) {}

// The members wipe and free their memory, and wait for that.
CallerQueue::~CallerQueue() {
  launches_.keys().forget_many();
  queue_->try_finish();
  pinned_->wipe();  // verdicts may keep the pool
}

void CallerQueue::use_keys(std::span<const std::unique_ptr<KeyMaterial>> keys) {
  if (keys.size() == 1) {
    launches_.keys().use(*keys[0]);
  } else {
    // Calls must not be the first to load it.
    static_cast<void>(context_->many_keys_program());
    std::vector<const KeyMaterial*> list;
    list.reserve(keys.size());
    for (const auto& key : keys) list.push_back(key.get());
    launches_.keys().use_many(list);
  }
  queue_->finish();
  launches_.keys().wipe_staged();
}

// Copies the ciphertext in pieces, because threads read the block before each of theirs.
void CallerQueue::cbc_decrypt_in_place(const Memory& buffer,
                                       std::span<const paraes_message> messages) {
  // The last ciphertext block of a piece, then the copies.
  if (!copies_) copies_ = SecretMemory(context_->device(), *queue_, block + most_copied);
  std::vector<paraes_message> pieces;
  std::size_t held = block;
  bool continues = false;  // whether the first piece needs the block of the last launch
  const auto launch = [&] {
    if (pieces.empty()) return;
    const LaunchBuffers buffers{&copies_.read(), &buffer};
    launches_.prepare(pieces, true);
    if (continues) launches_.set_first_iv(copies_.read(), 0);
    launches_.run_prepared("cbc_decrypt", buffers);
    queue_->copy(copies_.write(block), 0, copies_.read(), held - block, block);
    pieces.clear();
    held = block;
  };
  for (const paraes_message& message : messages) {
    for (std::uint64_t done = 0; done < message.bytes;) {
      if (held == block + most_copied) launch();
      paraes_message piece = message;
      piece.bytes = std::min<std::uint64_t>(message.bytes - done, block + most_copied - held);
      piece.in = held;
      piece.out = message.out + done;
      // Only a full launch divides a message, so what continues one is first in the next launch.
      if (pieces.empty()) continues = done != 0;
      queue_->copy(copies_.write(held + piece.bytes), held, buffer, piece.out, piece.bytes);
      pieces.push_back(piece);
      held += piece.bytes;
      done += piece.bytes;
    }
  }
  launch();
}

CallerQueue::Verdicts CallerQueue::download_verdicts(std::size_t messages) {
  Verdicts verdicts;
  if (messages == 0) return verdicts;
  verdicts.memory = pinned_->take(block * messages);
  try {
    queue_->download(verdicts.memory->host().data(), launches_.verdicts(), 0, block * messages);
    verdicts.mark = queue_->mark();
  } catch (...) {
    // The memory is freed, which the copy must not outlive.
    queue_->try_finish();
    throw;
  }
  return verdicts;
}

namespace {

// Contexts of CUDA and HIP are kept for the life of the process, like pools. Those of OpenCL are
// kept as long as ciphers use them, because they keep the caller's context alive.
struct Contexts {
  std::mutex mutex;
  std::map<std::pair<std::string, std::string>, std::shared_ptr<DeviceContext>> kept;
  std::map<std::pair<OpenClPlace, std::string>, std::weak_ptr<DeviceContext>> used;
};

Contexts& contexts() {
  static auto* const all = new Contexts;  // never destroyed: drivers may be unloaded before
  return *all;
}

std::shared_ptr<DeviceContext> make_context(std::unique_ptr<Platform> platform,
                                            std::unique_ptr<Device> device, const GpuKernel& kernel,
                                            const VariantOptions& variant) {
  PoolOptions options;
  options.streams = 0;
  options.variant = variant;
  return std::make_shared<DeviceContext>(std::move(platform), std::move(device), kernel, options);
}

}  // namespace

std::shared_ptr<DeviceContext> open_context(const DeviceNames& names, const GpuKernel& kernel,
                                            const VariantOptions& options) {
  std::unique_ptr<Platform> platform = open_platform(names.runtime);
  std::unique_ptr<Device> device = platform->open(names.indices.at(0));
  return make_context(std::move(platform), std::move(device), kernel, options);
}

std::shared_ptr<DeviceContext> open_context_of(const DeviceStream& stream,
                                               const GpuKernel& kernel) {
  const std::lock_guard lock(contexts().mutex);
  if (stream.device == "opencl") {
    std::erase_if(contexts().used, [](const auto& entry) { return entry.second.expired(); });
    std::weak_ptr<DeviceContext>& used =
        contexts().used[{opencl_place_of(stream.handle), std::string(kernel.name)}];
    std::shared_ptr<DeviceContext> context = used.lock();
    if (!context) {
      context = make_context(nullptr, open_opencl_device_of(stream.handle), kernel, {});
      used = context;
    }
    return context;
  }
  const std::optional<DeviceNames> names = parse_device(stream.device);
  if (!names || names->with_cpu || names->indices.size() != 1 || names->runtime == "opencl") {
    throw InvalidArgument(
        "a stream is on one device, such as cuda:0 or hip:1, or is a queue of "
        "'opencl', which knows its device: not '" +
        stream.device + "'");
  }
  auto& kept = contexts().kept[{names->text(), std::string(kernel.name)}];
  if (!kept) kept = open_context(*names, kernel);
  return kept;
}

}  // namespace paraes::gpu
