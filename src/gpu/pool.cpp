#include "src/gpu/pool.hpp"

#include <map>
#include <tuple>
#include <utility>

#include "paraes/error.hpp"

namespace paraes::gpu {
namespace {

// The pools of this process, by device, kernel and options. They are never destroyed, because
// drivers may be unloaded before static objects are destroyed.
using PoolKey = std::tuple<std::string, std::string_view, PoolOptions>;
using Pools = std::map<PoolKey, std::shared_ptr<DevicePool>>;
std::mutex pools_mutex;
Pools* pools = nullptr;  // under pools_mutex

void forget(Stream& stream, std::uint64_t id) noexcept try {
  stream.forget_key(id);
} catch (const Error&) {
  // The device is lost, and its memory with it.
}

}  // namespace

DevicePool::DevicePool(std::vector<std::unique_ptr<DeviceContext>> contexts)
    : contexts_(std::move(contexts)),
      launch_bytes_(contexts_[0]->launch_bytes()),
      most_keys_(contexts_[0]->most_keys()) {
  for (const auto& context : contexts_) {
    std::vector<Stream*> streams;
    for (const auto& stream : context->streams()) streams.push_back(stream.get());
    streams_ += static_cast<unsigned>(streams.size());
    free_.push_back(std::move(streams));
    launch_bytes_ = std::min(launch_bytes_, context->launch_bytes());
    most_keys_ = std::min(most_keys_, context->most_keys());
  }
}

std::string DevicePool::id() const {
  std::string text = contexts_[0]->info().id;
  for (std::size_t i = 1; i < contexts_.size(); ++i) {
    const std::string& other = contexts_[i]->info().id;
    text += '+' + other.substr(other.find(':') + 1);
  }
  return text;
}

DevicePool::Lease::Lease(DevicePool& pool) : pool_(pool) {
  std::unique_lock lock(pool.mutex_);
  pool.changed_.wait(lock, [&] {
    const auto most = std::ranges::max_element(
        pool.free_, [](const auto& a, const auto& b) { return a.size() < b.size(); });
    if (most->empty()) return false;
    context_ = static_cast<std::size_t>(most - pool.free_.begin());
    return true;
  });
  stream_ = pool.free_[context_].back();
  pool.free_[context_].pop_back();
  ++pool.leased_;
}

DevicePool::Lease::~Lease() {
  stream_->settle();
  {
    const std::lock_guard lock(pool_.mutex_);
    for (const std::uint64_t id : pool_.forgotten_) forget(*stream_, id);
    pool_.free_[context_].push_back(stream_);
    if (--pool_.leased_ == 0) pool_.forgotten_.clear();
  }
  pool_.changed_.notify_one();
}

void DevicePool::forget_key(std::uint64_t id) noexcept {
  const std::lock_guard lock(mutex_);
  for (const auto& streams : free_) {
    for (Stream* stream : streams) forget(*stream, id);
  }
  // Leased streams that now work with other keys may still hold this one.
  if (leased_ != 0) forgotten_.push_back(id);
}

const Runtime& find_runtime(std::string_view name) {
  for (const Runtime& runtime : runtimes) {
    if (runtime.name == name) return runtime;
  }
  throw InvalidArgument(
      std::string("there is no runtime '").append(name).append("': use cuda, hip or opencl"));
}

std::unique_ptr<Platform> open_platform(std::string_view runtime) try {
  return find_runtime(runtime).open();
} catch (const Unavailable& error) {
  std::string text(runtime);
  throw Unavailable(text.append(": ").append(error.what()));
}

void require_gpus(const DeviceNames& names) {
  const std::vector<DeviceInfo> list = open_platform(names.runtime)->devices();
  for (const unsigned index : names.indices) {
    if (index >= list.size()) {
      throw UnknownDevice(DeviceNames{names.runtime, {index}}.text(),
                          names.runtime + " sees " + std::to_string(list.size()));
    }
    if (!list[index].available) {
      throw Unavailable(list[index].id + " (" + list[index].name + "): " + list[index].reason);
    }
  }
}

std::shared_ptr<DevicePool> open_pool(const DeviceNames& names, const GpuKernel& kernel,
                                      const PoolOptions& options) {
  const std::lock_guard lock(pools_mutex);
  if (pools == nullptr) pools = new Pools;
  auto& pool = (*pools)[{names.text(), kernel.name, options}];
  if (!pool) {
    std::vector<std::unique_ptr<DeviceContext>> contexts;
    for (const unsigned index : names.indices) {
      std::unique_ptr<Platform> platform = open_platform(names.runtime);
      std::unique_ptr<Device> opened = platform->open(index);
      contexts.push_back(
          std::make_unique<DeviceContext>(std::move(platform), std::move(opened), kernel, options));
    }
    pool = std::make_shared<DevicePool>(std::move(contexts));
  }
  return pool;
}

}  // namespace paraes::gpu
