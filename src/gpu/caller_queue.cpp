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

CallerQueue::CallerQueue(DeviceContext& context, Queue& own, const SharedByQueues& shared)
    : context_(context),
      own_(own),
      pinned_(shared.pinned),
      queue_(own),
      launches_(context, queue_, shared) {}

// The caller's queue may no longer exist. The members wipe and free their memory on the own queue,
// and wait for that.
CallerQueue::~CallerQueue() {
  queue_.route(own_);
  try {
    if (last_) own_.wait_for(*last_);
  } catch (const Error&) {  // NOLINT(bugprone-empty-catch): the device is lost
  }
}

void CallerQueue::begin(std::unique_ptr<Queue> caller, void* handle) {
  // Waits even if the handle is the same one: it may be that of a newer queue.
  if (last_) caller->wait_for(*last_);
  queue_.route(*caller);
  caller_ = std::move(caller);
  handle_ = handle;
}

std::shared_ptr<const Mark> CallerQueue::end() noexcept {
  try {
    last_ = queue_.mark();
    queue_.flush();
  } catch (...) {  // also for lack of memory
    queue_.try_finish();
    last_.reset();
  }
  return last_;
}

bool CallerQueue::is_idle() const noexcept { return !last_ || PinnedPool::has_passed(*last_); }

CallerQueues::CallerQueues(std::shared_ptr<DeviceContext> context,
                           std::span<const std::unique_ptr<KeyMaterial>> keys)
    : context_(std::move(context)),
      pinned_(std::make_shared<PinnedPool>(context_)),
      own_(context_->device().make_queue()),
      timer_(*own_, false),
      launcher_(*context_, *own_),
      keys_(*context_, *own_, launcher_, timer_) {
  use_keys(keys);
  add_queue();  // for the first call
}

void CallerQueues::add_queue() {
  queues_.push_back(
      std::make_unique<CallerQueue>(*context_, *own_, SharedByQueues{*pinned_, keys_}));
}

void CallerQueues::use_keys(std::span<const std::unique_ptr<KeyMaterial>> keys) {
  if (keys.size() == 1) {
    keys_.use(*keys[0]);
  } else {
    // Calls must not be the first to load it.
    static_cast<void>(context_->program({.many_keys = true}));
    std::vector<const KeyMaterial*> list;
    list.reserve(keys.size());
    for (const auto& key : keys) list.push_back(key.get());
    keys_.use_many(list);
  }
  own_->finish();
  keys_.wipe_staged();
}

CallerQueues::~CallerQueues() {
  queues_.clear();
  on_own_.reset();
  keys_.forget_many();
  own_->try_finish();
  pinned_->wipe();  // verdicts may keep the pool
}

CallerQueue& CallerQueues::on_own() {
  if (!on_own_) {
    on_own_ = std::make_unique<CallerQueue>(*context_, *own_, SharedByQueues{*pinned_, keys_});
  }
  return *on_own_;
}

CallerQueue& CallerQueues::choose(void* handle) {
  CallerQueue* earliest = queues_.front().get();  // there always is one
  CallerQueue* idle = nullptr;
  for (const auto& queue : queues_) {
    if (queue->was_on(handle)) return *queue;
    if (idle == nullptr && queue->is_idle()) idle = queue.get();
    if (queue->turn() < earliest->turn()) earliest = queue.get();
  }
  if (idle != nullptr) return *idle;
  if (queues_.size() == most_queues) return *earliest;
  add_queue();
  return *queues_.back();
}

CallerQueue& CallerQueues::begin(void* handle) {
  // First, because what choose() asks and allocates would end a capture.
  std::unique_ptr<Queue> caller = borrow(context_->device(), handle);
  CallerQueue& queue = choose(handle);
  queue.begin(std::move(caller), handle);
  queue.set_turn(++turns_);
  return queue;
}

std::unique_ptr<Queue> borrow(Device& device, void* handle) {
  std::unique_ptr<Queue> queue = device.borrow_queue(handle);
  if (queue->is_captured()) {
    throw InvalidArgument(
        "the stream is being captured: a graph would run the work again, with the same nonces and "
        "counters");
  }
  return queue;
}

// Copies the ciphertext in pieces, because threads read the block before each of theirs.
void CallerQueue::cbc_decrypt_in_place(const Memory& buffer,
                                       std::span<const paraes_message> messages) {
  // The last ciphertext block of a piece, then the copies.
  if (!copies_) copies_ = SecretMemory(context_.device(), queue_, block + most_copied);
  std::vector<paraes_message> pieces;
  std::size_t held = block;
  bool continues = false;  // whether the first piece needs the block of the last launch
  const auto launch = [&] {
    if (pieces.empty()) return;
    const LaunchBuffers buffers{&copies_.read(), &buffer};
    launches_.prepare(pieces, true);
    if (continues) launches_.set_first_iv(copies_.read(), 0);
    launches_.run_prepared("cbc_decrypt", buffers);
    queue_.copy(copies_.write(block), 0, copies_.read(), held - block, block);
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
      queue_.copy(copies_.write(held + piece.bytes), held, buffer, piece.out, piece.bytes);
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
  verdicts.memory = pinned_.take(block * messages);
  try {
    queue_.download(verdicts.memory->host().data(), launches_.verdicts(), 0, block * messages);
    verdicts.mark = queue_.mark();
  } catch (...) {
    // The memory is freed, which the copy must not outlive.
    queue_.try_finish();
    throw;
  }
  return verdicts;
}

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
