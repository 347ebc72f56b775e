#include "src/gpu/stream.hpp"

#include <algorithm>
#include <utility>

#include "paraes/error.hpp"
#include "src/gpu/context.hpp"

namespace paraes::gpu {
namespace {

constexpr std::size_t whole_blocks(std::size_t bytes) { return (bytes + 15) / 16 * 16; }

}  // namespace

std::size_t Stream::most_messages(std::size_t launch_bytes) noexcept {
  constexpr std::size_t bytes_of_message = 256;
  return launch_bytes / bytes_of_message + 1;
}

// Each message adds a tag and up to 15 bytes of padding to the text.
std::size_t Stream::capacity_for(std::size_t launch_bytes) noexcept {
  return launch_bytes + 32 * most_messages(launch_bytes);
}

Stream::Stream(DeviceContext& context, std::size_t launch_bytes, Transfer transfer)
    : queue_(context.device().make_queue()),
      capacity_(capacity_for(launch_bytes)),
      launches_(context, *queue_, most_messages(launch_bytes)),
      transfer_(transfer) {
  Device& device = context.device();
  const bool mapped = transfer == Transfer::mapped;
  in_pinned_ = device.allocate_pinned(capacity_, mapped);
  out_pinned_ = device.allocate_pinned(capacity_, mapped);
  // The padding of the text is copied, but never written.
  for (PinnedMemory* pinned : {in_pinned_.get(), out_pinned_.get()}) {
    std::fill(pinned->host().begin(), pinned->host().end(), std::uint8_t{0});
  }
  in_host_ = in_pinned_->host().data();
  out_host_ = out_pinned_->host().data();
  if (!mapped) {
    in_staged_ = SecretMemory(device, *queue_, capacity_);
    out_staged_ = SecretMemory(device, *queue_, capacity_);
  }
}

Stream::~Stream() = default;

void Stream::use_key(const KeyMaterial& key) {
  if (!launches_.keys().holds(key.id)) wipe_results();
  launches_.keys().use(key);
}

void Stream::forget_key(std::uint64_t id) {
  if (!launches_.keys().holds(id)) return;
  wipe();
  queue_->finish();
}

void Stream::forget_keys() noexcept {
  wipe_results();
  launches_.keys().forget_many();
}

void Stream::wipe() noexcept {
  launches_.keys().forget();
  wipe_results();
}

void Stream::wipe_results() noexcept {
  launches_.wipe();
  in_staged_.wipe();
  out_staged_.wipe();
}

LaunchBuffers Stream::buffers(std::size_t messages) {
  if (transfer_ == Transfer::mapped) {
    return {&in_pinned_->device_view(), &out_pinned_->device_view()};
  }
  const std::size_t written = staged_.out_bytes.value_or(staged_.bytes + 16 * messages);
  return {&in_staged_.read(), &out_staged_.write(written)};
}

void Stream::copy_in() {
  if (!to_stage_) return;
  Staged staged = *std::exchange(to_stage_, std::nullopt);
  if (transfer_ == Transfer::mapped) {
    in_pinned_->to_device();
    out_pinned_->to_device();
    return;
  }
  launches_.timer().begin(&PhaseTimes::host_to_device);
  if (staged.from == nullptr) {
    queue_->upload(in_staged_.write(staged.bytes), 0, in_host_ + staged.begin, staged.bytes);
  } else {
    const std::size_t bytes = std::exchange(staged.bytes, whole_blocks(staged.bytes));
    queue_->upload(in_staged_.write(staged.bytes), 0, staged.from, bytes);
    queue_->clear(in_staged_.read(), bytes, staged.bytes - bytes);
  }
  staged_ = staged;
  launches_.timer().end();
}

void Stream::stage_out(std::size_t bytes, std::size_t begin) {
  if (transfer_ == Transfer::mapped) return;
  launches_.timer().begin(&PhaseTimes::device_to_host);
  queue_->download(out_host_ + begin, out_staged_.read(), 0, bytes);
  launches_.timer().end();
}

void Stream::copy_out_to(std::uint8_t* to, std::size_t bytes, std::size_t end) {
  launches_.timer().begin(&PhaseTimes::device_to_host);
  queue_->download(to, out_staged_.read(), 0, bytes);
  if (const std::size_t rest = whole_blocks(bytes); rest < end) {
    queue_->download(out_host_ + rest, out_staged_.read(), rest, end - rest);
  }
  launches_.timer().end();
}

void Stream::finish() {
  queue_->finish();
  launches_.keys().wipe_staged();
  launches_.end_of_work();
  if (transfer_ == Transfer::mapped) {
    in_pinned_->to_host();
    out_pinned_->to_host();
    in_host_ = in_pinned_->host().data();
    out_host_ = out_pinned_->host().data();
  }
  launches_.timer().collect();
}

void Stream::settle() noexcept {
  to_stage_.reset();
  if (!launches_.timer().has_phases()) return;
  bool done = launches_.timer().all_ended();
  try {
    finish();
  } catch (const Error&) {
    done = false;
  }
  if (done) return;
  launches_.timer().reset();
  wipe();
  queue_->try_finish();
}

}  // namespace paraes::gpu
