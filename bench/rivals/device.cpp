#include "bench/rivals/device.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <bit>
#include <chrono>
#include <exception>
#include <optional>
#include <stdexcept>
#include <utility>

#include "bench/memory/arena.hpp"
#include "bench/memory/oracle.hpp"
#include "bench/rivals/library_file.hpp"
#include "paraes/error.hpp"
#include "src/core/bytes.hpp"
#include "src/gpu/device_names.hpp"

namespace paraes::bench {
namespace {

constexpr const char* function_of(Mode mode) {
  return mode == Mode::ecb   ? "rival_device_ecb"
         : mode == Mode::ctr ? "rival_device_ctr"
         : mode == Mode::gcm ? "rival_device_gcm"
                             : nullptr;
}

std::string traffic_of_library(const LibraryFile& file) {
  const char* (*traffic)() = nullptr;
  file.find(traffic, "rival_device_traffic");
  if (traffic == nullptr) return std::string(reads_and_writes);
  const char* const said = traffic();
  if (said == nullptr || (said != reads_and_writes && said != generates_only)) {
    file.refuse(fmt::format("rival_device_traffic returns neither \"{}\" nor \"{}\"",
                            reads_and_writes, generates_only));
  }
  return said;
}

// Keeps the queue busy for a while, so that work on other queues is done before what follows.
void hold_up(gpu::Device& device, gpu::Queue& queue) {
  if (device.info().is_cpu) return;  // PoCL does one thing after another
  constexpr std::size_t most = std::size_t{64} << 20;
  for (std::size_t bytes = most; bytes >= (std::size_t{1} << 20); bytes /= 2) {
    try {
      const gpu::Memory scratch = device.allocate(bytes);
      for (int i = 0; i < 32; ++i) queue.clear(scratch, 0, bytes);
      return;
    } catch (const OutOfMemory&) {
      continue;
    }
  }
}

}  // namespace

std::shared_ptr<const DeviceRival> device_rival_of(const std::string& name,
                                                   const LibraryFile& file) {
  auto rival = std::make_shared<DeviceRival>();
  rival->name = name;
  file.find(rival->open, "rival_device_open");
  file.find(rival->close, "rival_device_close");
  file.find(rival->ecb, function_of(Mode::ecb));
  file.find(rival->ctr, function_of(Mode::ctr));
  file.find(rival->gcm, function_of(Mode::gcm));
  const bool has_mode = rival->ecb != nullptr || rival->ctr != nullptr || rival->gcm != nullptr;
  const bool has_rest = rival->open != nullptr && rival->close != nullptr;
  if (!has_mode && rival->open == nullptr && rival->close == nullptr) return nullptr;
  if (!has_mode || !has_rest) {
    file.refuse(
        "for GPUs it needs rival_device_open, rival_device_close, and one of rival_device_ecb, "
        "rival_device_ctr and rival_device_gcm: see bench/rivals/rival_device.h");
  }
  rival->traffic = traffic_of_library(file);
  if (rival->traffic == generates_only && (rival->ecb != nullptr || rival->gcm != nullptr)) {
    file.refuse("only CTR can do without the text: it says \"generates only\", and has ECB or GCM");
  }
  return rival;
}

void DeviceRival::refuse(const Job& job) const {
  const Mode mode = job.mode.value();
  const bool has_it = (mode == Mode::ecb && ecb != nullptr) ||
                      (mode == Mode::ctr && ctr != nullptr) ||
                      (mode == Mode::gcm && gcm != nullptr);
  if (!has_it) {
    throw Skip(function_of(mode) == nullptr
                   ? "rivals on GPUs have ECB, CTR and GCM"
                   : fmt::format("its library has no {}", function_of(mode)));
  }
  if (mode == Mode::gcm && job.direction == Direction::decrypt) {
    throw Skip("rivals on GPUs have no GCM decryption: nobody sees whether a kernel checks tags");
  }
  if (traffic == generates_only && job.in_place) {
    throw Skip("it generates only, and has no text to replace");
  }
}

DeviceRivalCase::DeviceRivalCase(Row row, const Job& job, std::shared_ptr<const DeviceRival> rival,
                                 std::shared_ptr<DeviceMemoryArena> arena)
    : Case(std::move(row)), job_(job), rival_(std::move(rival)), arena_(std::move(arena)) {
  rival_->refuse(job);
  if (job.mode != Mode::gcm) return;
  for (std::uint64_t s = 0; s < segments(job.bytes); ++s) {
    const auto nonce = segment_nonce(s);
    nonces_.insert(nonces_.end(), nonce.begin(), nonce.end());
  }
}

DeviceRivalCase::~DeviceRivalCase() {
  if (!is_open_) return;
  gpu::Device& device = arena_->context()->device();
  try {
    arena_->queue().try_finish();
    call_library([&] {
      rival_->close(state_);
      return 0;
    });
    device.finish_all();  // before the memory that it works on is freed
  } catch (...) {         // NOLINT(bugprone-empty-catch): a destructor cannot report it
  }
}

int DeviceRivalCase::call_library(auto work) {
  int result = 0;
  arena_->context()->device().while_current([&] {
    try {
      result = work();
    } catch (const std::exception& error) {
      throw std::runtime_error("the library of " + rival_->name +
                               " threw an exception: " + error.what());
    } catch (...) {
      throw std::runtime_error("the library of " + rival_->name + " threw an exception");
    }
  });
  return result;
}

void DeviceRivalCase::open() {
  gpu::Device& device = arena_->context()->device();
  const std::string& id = device.info().id;
  runtime_ = id.substr(0, id.find(':'));
  const gpu::NativeDevice native = device.native();
  given_ = {.runtime = runtime_.c_str(),
            .number = std::stoi(id.substr(runtime_.size() + 1)),
            .context = native.context,
            .device = native.device,
            .stream = arena_->queue().handle()};
  const int result = call_library(
      [&] { return rival_->open(&given_, material().key.data(), key_bytes(job_), &state_); });
  if (result != 0) {
    throw Skip(fmt::format("its rival_device_open returned {} for this device and {}-bit keys",
                           result, job_.key_bits));
  }
  is_open_ = true;
}

void DeviceRivalCase::set_up() {
  try {
    arena_->acquire();
  } catch (const Error& error) {
    throw Skip(error.what());
  }
  try {
    open();
    if (const int result = enqueue(job_, next_counter()); result != 0) {
      throw Skip(fmt::format("its {} returned {}", function_of(*job_.mode), result));
    }
    arena_->queue().finish();
  } catch (const Skip&) {
    throw;
  } catch (const std::exception& error) {
    throw Skip(fmt::format("its first call failed, and may have broken {} for all rows: {}",
                           arena_->context()->info().id, error.what()));
  }
}

int DeviceRivalCase::enqueue(const Job& job, const std::array<std::uint8_t, 16>& counter) {
  void* const out = std::bit_cast<void*>(arena_->out().memory);
  const void* const in = job.in_place ? out : std::bit_cast<void*>(arena_->in().memory);
  counter_ = counter;
  return call_library([&] {
    switch (job.mode.value()) {
      case Mode::ecb:
        return rival_->ecb(state_, in, out, job.bytes, job.direction == Direction::decrypt ? 1 : 0);
      case Mode::ctr:
        return rival_->ctr(state_, counter_.data(), in, out, job.bytes);
      default:
        return rival_->gcm(state_, nonces_.data(), segment_bytes, in, out, job.bytes, out,
                           arena_->tags_at(job.key_bits));
    }
  });
}

void DeviceRivalCase::call_checked(const Job& job, const std::array<std::uint8_t, 16>& counter) {
  if (const int result = enqueue(job, counter); result != 0) {
    throw std::runtime_error(
        fmt::format("{} of {} returned {}", function_of(*job.mode), rival_->name, result));
  }
}

// Another one for each call, so that no key stream can be kept from the last one.
std::array<std::uint8_t, 16> DeviceRivalCase::next_counter() {
  std::array<std::uint8_t, 16> counter = material().iv;
  store_le64(counter.data(), load_le64(counter.data()) ^ ++calls_);
  return counter;
}

void DeviceRivalCase::call() {
  call_checked(job_, next_counter());
  arena_->wait(arena_->queue());
}

// Work on another stream is not waited for, and would look too fast. The device has it still to do
// when the stream is done.
void DeviceRivalCase::check_stream() {
  using Clock = std::chrono::steady_clock;
  gpu::Device& device = arena_->context()->device();
  device.finish_all();
  auto least_call = Clock::duration::max();
  auto least_rest = Clock::duration::max();  // of several: an interrupt is no work of the device
  for (int i = 0; i < 5; ++i) {
    const auto begin = Clock::now();
    call();
    const auto end = Clock::now();
    device.finish_all();
    least_rest = std::min(least_rest, Clock::now() - end);
    least_call = std::min(least_call, end - begin);
  }
  if (least_rest <= std::max<Clock::duration>(least_call / 10, std::chrono::microseconds(100))) {
    return;
  }
  throw std::runtime_error(
      "the device works on after the stream is done: " + rival_->name +
      " does not use the stream that it was given, or not for all of its work");
}

// The text and the counter are ones that no call has had. The output is cleared behind other work
// of the stream: what the library does on another stream is done before that, and lost.
bool DeviceRivalCase::verify() {
  check_stream();
  Job job = job_;
  job.offset = std::uint64_t{1} << 40;
  arena_->fill_in(job.offset);
  hold_up(arena_->context()->device(), arena_->queue());
  arena_->enqueue_spoil_out();
  if (job.in_place) arena_->enqueue_copy_in_to_out();
  call_checked(job, ctr_block(job.offset / 16));
  arena_->wait(arena_->queue());
  Buffer text(job.bytes);
  arena_->read(arena_->out(), 0, text.data(), job.bytes);
  const bool has_tags = job.mode == Mode::gcm;
  std::vector<std::uint8_t> tags(has_tags ? tag_bytes * segments(job.bytes) : 0);
  if (has_tags) {
    arena_->read(arena_->out(), arena_->tags_at(job.key_bits), tags.data(), tags.size());
  }
  const bool is_clean = arena_->in_is_unchanged(job.offset) &&
                        arena_->rest_is_zero(has_tags ? std::optional(job.key_bits) : std::nullopt);
  arena_->fill_in();
  if (!is_clean) {
    throw std::runtime_error(rival_->name + " writes to its input, or behind its output");
  }
  if (rival_->traffic == generates_only) return is_key_stream(job, text.data());
  if (!has_tags) return is_answer(job, text.data(), nullptr);
  return is_answer_in_segments(job, text.data(), tags.data());
}

// Whether the text encrypted with these bytes is the answer. Throws Unverifiable if nothing was
// written.
bool DeviceRivalCase::is_key_stream(const Job& job, std::uint8_t* text) const {
  if (std::all_of(text, text + job.bytes, [](std::uint8_t byte) { return byte == 0; })) {
    throw Unverifiable("it stores nothing that could be compared, and may not have run at all");
  }
  std::vector<std::uint8_t> plain(std::min<std::uint64_t>(job.bytes, 1 << 20));
  for (std::uint64_t at = 0; at < job.bytes; at += plain.size()) {
    const std::size_t step = std::min<std::uint64_t>(plain.size(), job.bytes - at);
    pattern(job.offset + at, plain.data(), step);
    for (std::size_t i = 0; i < step; ++i) text[at + i] ^= plain[i];
  }
  return is_answer(job, text, nullptr);
}

}  // namespace paraes::bench
