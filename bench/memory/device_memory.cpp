#include "bench/memory/device_memory.hpp"

#include <algorithm>
#include <utility>

#include "bench/memory/arena.hpp"
#include "bench/memory/oracle.hpp"
#include "paraes/error.hpp"
#include "src/cipher/gpu_key.hpp"
#include "src/gpu/device_names.hpp"

namespace paraes::bench {
namespace {

// The size of the chunks in which the input is copied to the device, before anything is timed.
constexpr std::size_t chunk_bytes = std::size_t{16} << 20;

constexpr std::size_t key_sizes = 3;

std::size_t padded(std::uint64_t bytes) { return (bytes + 15) / 16 * 16; }

// Calls use(at, bytes, chunk) for pieces of a text, whose bytes `chunk` gets.
void each_piece(std::uint64_t bytes, const auto& use) {
  std::vector<std::uint8_t> chunk(std::min<std::uint64_t>(chunk_bytes, bytes));
  for (std::uint64_t at = 0; at < bytes; at += chunk.size()) {
    use(at, std::min<std::uint64_t>(chunk.size(), bytes - at), chunk.data());
  }
}

DeviceBuffer part(const DeviceBuffer& all, std::uint64_t offset, std::uint64_t bytes) {
  return {all.memory, all.offset + offset, bytes};
}

}  // namespace

DeviceMemoryArena::DeviceMemoryArena(std::string device, std::string kernel,
                                     const gpu::VariantOptions& options, std::uint64_t bytes)
    : device_(std::move(device)), kernel_(std::move(kernel)), options_(options), bytes_(bytes) {}

std::size_t DeviceMemoryArena::tags_at(int key_bits) const {
  const std::size_t set = key_bits == 128 ? 0 : key_bits == 192 ? 1 : 2;
  return padded(bytes_) + set * 16 * segments(bytes_);
}

void DeviceMemoryArena::acquire() {
  if (ready_) return;
  context_ = gpu::open_context(gpu::parse_device(device_).value(), gpu::find_gpu_kernel(kernel_),
                               options_);
  gpu::Device& device = context_->device();
  queue_ = device.make_queue();
  const std::size_t all = padded(bytes_) + key_sizes * 16 * segments(bytes_);
  gpu::Memory in = device.allocate(all);
  // Set last, so that a device without memory for both buffers keeps neither.
  out_ = device.allocate(all);
  in_ = std::move(in);
  fill_in();
  enqueue_spoil_out();
  enqueue_copy_in_to_out();  // work in place begins with a text, not with equal blocks
  queue_->finish();
  ready_ = true;
}

void DeviceMemoryArena::fill_in(std::uint64_t from) {
  each_piece(bytes_, [&](std::uint64_t at, std::size_t size, std::uint8_t* chunk) {
    pattern(from + at, chunk, size);
    queue_->upload(in_, at, chunk, size);
    queue_->finish();
  });
}

bool DeviceMemoryArena::in_is_unchanged(std::uint64_t from) {
  bool unchanged = true;
  std::vector<std::uint8_t> expected(std::min<std::uint64_t>(chunk_bytes, bytes_));
  each_piece(bytes_, [&](std::uint64_t at, std::size_t size, std::uint8_t* chunk) {
    read(in(), at, chunk, size);
    pattern(from + at, expected.data(), size);
    unchanged = unchanged && std::equal(chunk, chunk + size, expected.begin());
  });
  return unchanged;
}

bool DeviceMemoryArena::rest_is_zero(std::optional<int> tags_of_key_bits) {
  std::vector<std::uint8_t> rest(out_.bytes() - bytes_);
  read(out(), bytes_, rest.data(), rest.size());
  if (tags_of_key_bits) {
    const auto tags =
        rest.begin() + static_cast<std::ptrdiff_t>(tags_at(*tags_of_key_bits) - bytes_);
    std::fill_n(tags, 16 * segments(bytes_), std::uint8_t{0});
  }
  return std::all_of(rest.begin(), rest.end(), [](std::uint8_t byte) { return byte == 0; });
}

void DeviceMemoryArena::enqueue_spoil_out() { queue_->clear(out_, 0, out_.bytes()); }

void DeviceMemoryArena::spoil_out() {
  enqueue_spoil_out();
  queue_->finish();
}

void DeviceMemoryArena::enqueue_copy_in_to_out() { queue_->copy(out_, 0, in_, 0, bytes_); }

void DeviceMemoryArena::copy_tags_to_in(int key_bits) {
  const std::size_t at = tags_at(key_bits);
  queue_->copy(in_, at, out_, at, 16 * segments(bytes_));
  queue_->finish();
}

void DeviceMemoryArena::read(const DeviceBuffer& buffer, std::size_t at, std::uint8_t* to,
                             std::size_t bytes) {
  queue_->download(to, buffer.memory == in_.handle() ? in_ : out_, at, bytes);
  queue_->finish();
}

void DeviceMemoryArena::wait(gpu::Queue& queue) const {
  if (context_->info().is_cpu) {
    queue.finish();
    return;
  }
  // A thread that sleeps wakes up late, by as much as a kernel needs for tens of MiB.
  const std::unique_ptr<gpu::Mark> end = queue.mark();
  queue.flush();
  while (!end->passed()) continue;
}

DeviceMemoryCase::DeviceMemoryCase(Row row, const Job& job, KeyExpansion key_expansion,
                                   std::shared_ptr<DeviceMemoryArena> arena)
    : Case(std::move(row)), job_(job), key_expansion_(key_expansion), arena_(std::move(arena)) {}

std::vector<std::unique_ptr<gpu::KeyMaterial>> DeviceMemoryCase::make_key() const {
  const unsigned count = job_.mode == Mode::xts ? 2 : 1;
  const auto bytes = static_cast<std::size_t>(job_.key_bits / 8) * count;
  std::vector<std::unique_ptr<gpu::KeyMaterial>> keys;
  keys.push_back(detail::make_key_material(Bytes(material().key).first(bytes), count,
                                           job_.mode == Mode::gcm, key_expansion_));
  return keys;
}

std::unique_ptr<detail::DeviceCipherImpl> DeviceMemoryCase::make_cipher() const {
  return std::make_unique<detail::DeviceCipherImpl>(arena_->context(), DeviceStream{}, make_key());
}

std::vector<DeviceText> DeviceMemoryCase::texts(const DeviceBuffer& in, const DeviceBuffer& out,
                                                const DeviceBuffer& tags) const {
  DeviceText whole{
      .in = part(in, 0, job_.bytes), .out = part(out, 0, job_.bytes), .iv = material().iv};
  if (job_.mode == Mode::xts) whole.iv = xts_tweak(material().first_unit);
  if (job_.mode != Mode::gcm) return {whole};
  std::vector<DeviceText> list(segments(job_.bytes));
  for (std::uint64_t s = 0; s < list.size(); ++s) {
    const std::uint64_t at = s * segment_bytes;
    const std::uint64_t bytes = std::min<std::uint64_t>(segment_bytes, job_.bytes - at);
    list[s].in = part(in, at, bytes);
    list[s].out = part(out, at, bytes);
    const auto nonce = segment_nonce(s);
    std::copy(nonce.begin(), nonce.end(), list[s].iv.begin());
    list[s].tag = part(tags, arena_->tags_at(job_.key_bits) + 16 * s, 16);
  }
  return list;
}

void DeviceMemoryCase::set_up() try {
  arena_->acquire();
  cipher_ = make_cipher();
  if (job_.mode == Mode::gcm && job_.direction == Direction::decrypt) make_tags();
  cipher_->queues().on_own().launches().record();
  launch();
  cipher_->queues().on_own().queue().finish();
} catch (const Error& error) {
  throw Skip(error.what());
}

void DeviceMemoryCase::launch() {
  const bool encrypts = job_.direction == Direction::encrypt;
  gpu::CallerQueue& queue = cipher_->queues().on_own();
  const std::vector<DeviceText> list =
      texts(in(), arena_->out(), encrypts ? arena_->out() : arena_->in());
  switch (job_.mode.value()) {
    case Mode::ecb:
      cipher_->run(queue, encrypts ? "ecb_encrypt" : "ecb_decrypt", list);
      break;
    case Mode::cbc:
      cipher_->cbc_decrypt(queue, list);
      break;
    case Mode::ctr:
      cipher_->run(queue, "ctr", list);
      break;
    case Mode::xts:
      cipher_->xts(queue, job_.direction, job_.unit, list);
      break;
    case Mode::gcm:
      if (encrypts) {
        cipher_->gcm_encrypt(queue, list);
      } else {
        static_cast<void>(cipher_->gcm_decrypt(queue, list));
      }
      break;
  }
}

// Makes the pattern authentic: sealing what it decrypts to gives the pattern, and its tags.
void DeviceMemoryCase::make_tags() {
  gpu::CallerQueue& queue = cipher_->queues().on_own();
  std::vector<DeviceText> counters = texts(arena_->in(), arena_->out(), arena_->out());
  for (DeviceText& text : counters) text.iv[15] = 2;  // SP 800-38D section 7.1 step 3
  cipher_->run(queue, "ctr", counters);
  cipher_->gcm_encrypt(queue, texts(arena_->out(), arena_->out(), arena_->out()));
  queue.queue().finish();
  arena_->copy_tags_to_in(job_.key_bits);
}

void DeviceMemoryCase::call() {
  cipher_->queues().on_own().launches().repeat();
  arena_->wait(cipher_->queues().on_own().queue());
}

bool DeviceMemoryCase::verify() {
  arena_->fill_in();
  arena_->spoil_out();
  if (job_.in_place) {
    arena_->enqueue_copy_in_to_out();
    arena_->queue().finish();
  }
  call();
  Buffer text(job_.bytes);
  arena_->read(arena_->out(), 0, text.data(), job_.bytes);
  if (job_.mode != Mode::gcm) return is_answer(job_, text.data(), nullptr);
  std::vector<std::uint8_t> tags(16 * segments(job_.bytes));
  const bool decrypts = job_.direction == Direction::decrypt;
  arena_->read(decrypts ? arena_->in() : arena_->out(), arena_->tags_at(job_.key_bits), tags.data(),
               tags.size());
  return is_answer_in_segments(job_, text.data(), tags.data());
}

bool DeviceMemoryCase::expand_key() {
  if (!expander_) expander_ = make_cipher();
  auto key = make_key();
  expander_->queues().use_keys(key);
  expander_key_ = std::move(key);
  return true;
}

void refuse_device_memory(const Job& job) {
  if (job.in_place && job.mode == Mode::gcm && job.direction == Direction::decrypt) {
    throw Skip("a text that was decrypted in place is not authentic the next time");
  }
  if (job.in_place && job.mode == Mode::cbc) {
    throw Skip("CBC decryption in place copies the text: it cannot be repeated");
  }
  if (job.mode != Mode::xts) return;
  const Units units(job.bytes, job.unit);
  if (job.bytes % 16 != 0 || units.size(0) % 16 != 0 || units.last != units.size(0)) {
    throw Skip("only complete XTS data units of whole blocks can be repeated on a GPU");
  }
}

}  // namespace paraes::bench
