#include "bench/memory/device_memory.hpp"

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "bench/memory/arena.hpp"
#include "bench/memory/oracle.hpp"
#include "paraes/error.hpp"
#include "src/cipher/gpu_key.hpp"

namespace paraes::bench {
namespace {

// The size of the chunks in which the input is copied to the device, before anything is timed.
constexpr std::size_t chunk_bytes = std::size_t{16} << 20;

}  // namespace

DeviceMemoryArena::DeviceMemoryArena(std::string device, std::string kernel, std::uint64_t bytes)
    : device_(std::move(device)), kernel_(std::move(kernel)), bytes_(bytes) {}

void DeviceMemoryArena::acquire() {
  if (holders_ == 0) {
    pool_ = gpu::open_pool(gpu::parse_device(device_).value(), gpu::find_kernel_row(kernel_), {});
    gpu::Device& device = context().device();
    queue_ = device.make_queue();
    gpu::Memory in = device.allocate(tags_at());
    // Set last, so that a device without memory for both buffers keeps neither.
    out_ = device.allocate(tags_at() + 16 * segments(bytes_));
    in_ = std::move(in);
    fill_in();
  }
  ++holders_;
}

void DeviceMemoryArena::release() noexcept {
  if (holders_ == 0 || --holders_ > 0) return;
  in_ = {};
  out_ = {};
  queue_.reset();
  pool_.reset();
}

void DeviceMemoryArena::fill_in() {
  std::vector<std::uint8_t> chunk(std::min<std::uint64_t>(chunk_bytes, bytes_));
  for (std::uint64_t at = 0; at < bytes_; at += chunk.size()) {
    const std::size_t step = std::min<std::uint64_t>(chunk.size(), bytes_ - at);
    pattern(at, chunk.data(), step);
    queue_->upload(in_, at, chunk.data(), step);
    queue_->finish();
  }
}

void DeviceMemoryArena::spoil_out() {
  queue_->clear(out_, 0, out_.bytes());
  queue_->finish();
}

void DeviceMemoryArena::read_out(std::uint8_t* to) {
  queue_->download(to, out_, 0, out_.bytes());
  queue_->finish();
}

DeviceMemoryCase::DeviceMemoryCase(Row row, const Job& job, KeyExpansion key_expansion,
                                   std::shared_ptr<DeviceMemoryArena> arena)
    : Case(std::move(row)), job_(job), key_expansion_(key_expansion), arena_(std::move(arena)) {}

std::unique_ptr<gpu::KeyMaterial> DeviceMemoryCase::make_key() const {
  const unsigned count = job_.mode == Mode::xts ? 2 : 1;
  const auto bytes = static_cast<std::size_t>(job_.key_bits / 8) * count;
  return detail::make_key_material(Bytes(material().key).first(bytes), count,
                                   job_.mode == Mode::gcm, key_expansion_);
}

void DeviceMemoryCase::set_up() {
  try {
    arena_->acquire();
    holds_arena_ = true;
    key_ = make_key();
    const std::uint64_t messages = job_.mode == Mode::gcm ? segments(job_.bytes) : 1;
    stream_ =
        std::make_unique<gpu::Stream>(arena_->context(), arena_->in(), arena_->out(), messages);
    stream_->use_key(*key_);
    launch();
    stream_->finish();
  } catch (const Error& error) {
    throw Skip(error.what());
  }
}

void DeviceMemoryCase::tear_down() noexcept {
  expander_.reset();
  stream_.reset();
  key_.reset();
  if (holds_arena_) arena_->release();
  holds_arena_ = false;
}

void DeviceMemoryCase::launch() {
  const bool encrypts = job_.direction == Direction::encrypt;
  const std::uint8_t* const iv = material().iv.data();
  paraes_message message = gpu::make_message(0, 0, job_.bytes, nullptr);
  switch (job_.mode.value()) {
    case Mode::ecb:
      stream_->launch(encrypts ? "ecb_encrypt" : "ecb_decrypt", {&message, 1});
      break;
    case Mode::cbc:
      message = gpu::make_message(0, 0, job_.bytes, iv);
      stream_->launch("cbc_decrypt", {&message, 1});
      break;
    case Mode::ctr:
      message = gpu::make_message(0, 0, job_.bytes, iv);
      stream_->launch("ctr", {&message, 1});
      break;
    case Mode::xts: {
      const Units units(job_.bytes, job_.unit);
      message = gpu::make_message(0, 0, job_.bytes, xts_tweak(material().first_unit).data());
      stream_->launch_xts(job_.direction, message, static_cast<std::uint32_t>(units.size(0) / 16),
                          nullptr);
      break;
    }
    case Mode::gcm:
      launch_segments();
      break;
  }
}

void DeviceMemoryCase::launch_segments() {
  std::vector<paraes_message> messages;
  messages.reserve(segments(job_.bytes));
  for (std::uint64_t s = 0; s < segments(job_.bytes); ++s) {
    const std::uint64_t at = s * segment_bytes;
    std::uint8_t j0[16] = {};
    std::memcpy(j0, segment_nonce(s).data(), 12);
    j0[15] = 1;
    paraes_message message =
        gpu::make_message(at, at, std::min<std::uint64_t>(segment_bytes, job_.bytes - at), j0);
    message.flags = job_.direction == Direction::encrypt ? 0 : PARAES_HASH_INPUT;
    message.tag = arena_->tags_at() + 16 * s;
    messages.push_back(message);
  }
  stream_->launch("gcm_ctr", messages);
  stream_->launch_hash(messages.size());
}

void DeviceMemoryCase::call() {
  stream_->repeat();
  stream_->finish();
}

bool DeviceMemoryCase::verify() {
  arena_->fill_in();
  arena_->spoil_out();
  call();
  const Buffer out(arena_->out().bytes());
  arena_->read_out(out.data());
  if (job_.mode == Mode::gcm) {
    return is_answer_in_segments(job_, out.data(), out.data() + arena_->tags_at());
  }
  return is_answer(job_, out.data(), nullptr);
}

bool DeviceMemoryCase::expand_key() {
  if (!expander_) {
    expander_ = std::make_unique<gpu::Stream>(arena_->context(), arena_->in(), arena_->out(), 1);
  }
  const auto key = make_key();
  expander_->use_key(*key);
  expander_->finish();
  return true;
}

void refuse_device_memory(const Job& job) {
  if (job.in_place) throw Skip("GPU kernels need separate input and output buffers");
  if (job.mode != Mode::xts) return;
  const Units units(job.bytes, job.unit);
  if (job.bytes % 16 != 0 || units.size(0) % 16 != 0 || units.last != units.size(0)) {
    throw Skip(
        "a GPU computes complete XTS data units of whole blocks: the library leaves the rest to "
        "the cpu");
  }
}

}  // namespace paraes::bench
