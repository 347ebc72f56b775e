#include "src/gpu/stream.hpp"

#include "paraes/error.hpp"
#include "src/gpu/context.hpp"

namespace paraes::gpu {
namespace {

// A launch has at most one message per this many bytes of launch_bytes, and one more.
constexpr std::size_t message_share = 256;

std::size_t most_messages(std::size_t launch_bytes) { return launch_bytes / message_share + 1; }

// Each message adds a tag and up to 15 bytes of padding to the text.
std::size_t buffer_bytes(std::size_t launch_bytes) {
  return launch_bytes + 32 * most_messages(launch_bytes);
}

}  // namespace

Stream::Stream(DeviceContext& context, std::size_t launch_bytes, Transfer transfer)
    : queue_(context.device().make_queue()),
      timer_(*queue_),
      launcher_(context, *queue_),
      keys_(context, *queue_, launcher_, timer_),
      launches_(context, *queue_, launcher_, keys_, timer_, most_messages(launch_bytes)),
      transfer_(transfer) {
  Device& device = context.device();
  const std::size_t bytes = buffer_bytes(launch_bytes);
  const bool mapped = transfer == Transfer::mapped;
  in_pinned_ = device.allocate_pinned(bytes, mapped);
  out_pinned_ = device.allocate_pinned(bytes, mapped);
  in_host_ = in_pinned_->host().data();
  out_host_ = out_pinned_->host().data();
  if (!mapped) {
    in_staged_ = device.allocate(bytes);
    out_staged_ = device.allocate(bytes);
  }
}

Stream::Stream(DeviceContext& context, const Memory& in, const Memory& out,
               std::size_t max_messages)
    : queue_(context.device().make_queue()),
      timer_(*queue_),
      launcher_(context, *queue_),
      keys_(context, *queue_, launcher_, timer_),
      launches_(context, *queue_, launcher_, keys_, timer_, max_messages),
      transfer_(Transfer::staged),
      in_device_(&in),
      out_device_(&out) {}

Stream::~Stream() = default;

void Stream::use_key(const KeyMaterial& key) {
  keys_.use(key);
  if (in_device_ != nullptr) launches_.record();
}

LaunchBuffers Stream::buffers() {
  if (in_device_ != nullptr) return {in_device_, out_device_};
  if (transfer_ == Transfer::mapped) {
    return {&in_pinned_->device_view(), &out_pinned_->device_view()};
  }
  return {&in_staged_, &out_staged_};
}

void Stream::stage_in(std::size_t bytes) {
  if (transfer_ == Transfer::mapped) {
    in_pinned_->to_device();
    out_pinned_->to_device();
    return;
  }
  timer_.begin(&PhaseTimes::host_to_device);
  queue_->upload(in_staged_, 0, in_host_, bytes);
  timer_.end();
}

void Stream::stage_out(std::size_t bytes) {
  if (transfer_ == Transfer::mapped) return;
  timer_.begin(&PhaseTimes::device_to_host);
  queue_->download(out_host_, out_staged_, 0, bytes);
  timer_.end();
}

void Stream::finish() {
  queue_->finish();
  if (transfer_ == Transfer::mapped) {
    in_pinned_->to_host();
    out_pinned_->to_host();
    in_host_ = in_pinned_->host().data();
    out_host_ = out_pinned_->host().data();
  }
  timer_.collect();
}

void Stream::settle() noexcept {
  if (!timer_.has_phases()) return;
  bool done = timer_.all_ended();
  try {
    finish();
  } catch (const Error&) {
    done = false;
  }
  if (done) return;
  timer_.reset();
  try {
    keys_.forget();
  } catch (const Error&) {
    // The device is lost, and its memory with it.
  }
}

}  // namespace paraes::gpu
