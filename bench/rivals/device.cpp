#include "bench/rivals/device.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <bit>
#include <exception>
#include <stdexcept>
#include <utility>
#include <vector>

#include "bench/memory/arena.hpp"
#include "bench/memory/oracle.hpp"
#include "bench/rivals/library_file.hpp"
#include "paraes/error.hpp"
#include "src/gpu/device_names.hpp"

namespace paraes::bench {
namespace {

constexpr const char* function_of(Mode mode) {
  switch (mode) {
    case Mode::ecb:
      return "rival_device_ecb";
    case Mode::ctr:
      return "rival_device_ctr";
    case Mode::gcm:
      return "rival_device_gcm";
    default:
      return nullptr;
  }
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
    throw Skip("rivals on GPUs have no GCM decryption, whose check nobody could see");
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
  try {
    arena_->queue().try_finish();
    call_library([&] {
      rival_->close(state_);
      return 0;
    });
  } catch (...) {  // NOLINT(bugprone-empty-catch): a destructor cannot report it
  }
}

template <class Work>
int DeviceRivalCase::call_library(Work work) {
  int result = 0;
  arena_->context()->device().while_current([&] {
    try {
      result = work();
    } catch (const std::exception&) {
      throw;
    } catch (...) {
      throw std::runtime_error("the library of " + rival_->name + " threw an exception");
    }
  });
  return result;
}

void DeviceRivalCase::open() {
  gpu::Device& device = arena_->context()->device();
  const std::string& id = device.info().id;
  const std::string runtime = id.substr(0, id.find(':'));
  const gpu::NativeDevice native = device.native();
  const rival_device given{.runtime = runtime.c_str(),
                           .number = std::stoi(id.substr(runtime.size() + 1)),
                           .context = native.context,
                           .device = native.device,
                           .stream = arena_->queue().handle()};
  const int result = call_library(
      [&] { return rival_->open(&given, material().key.data(), key_bytes(job_), &state_); });
  if (result != 0) {
    throw Skip(fmt::format("its rival_device_open returned {} for this device and {}-bit keys",
                           result, job_.key_bits));
  }
  is_open_ = true;
}

void DeviceRivalCase::set_up() {
  try {
    arena_->acquire();
    open();
    if (const int result = enqueue(); result != 0) {
      throw Skip(fmt::format("its {} returned {}", function_of(*job_.mode), result));
    }
    arena_->queue().finish();
  } catch (const Error& error) {
    throw Skip(error.what());
  }
}

int DeviceRivalCase::enqueue() {
  const auto pointer = [](const DeviceBuffer& buffer) {
    return std::bit_cast<void*>(buffer.memory);
  };
  void* const out = pointer(arena_->out());
  const void* const in = job_.in_place ? out : pointer(arena_->in());
  const int decrypt = job_.direction == Direction::decrypt ? 1 : 0;
  return call_library([&] {
    switch (job_.mode.value()) {
      case Mode::ecb:
        return rival_->ecb(state_, in, out, job_.bytes, decrypt);
      case Mode::ctr:
        return rival_->ctr(state_, material().iv.data(), in, out, job_.bytes);
      default:
        return rival_->gcm(state_, nonces_.data(), segment_bytes, in, out, job_.bytes, out,
                           arena_->tags_at(job_.key_bits));
    }
  });
}

void DeviceRivalCase::call() {
  if (const int result = enqueue(); result != 0) {
    throw std::runtime_error(
        fmt::format("{} of {} returned {}", function_of(*job_.mode), rival_->name, result));
  }
  arena_->wait(arena_->queue());
}

bool DeviceRivalCase::verify() {
  arena_->fill_in();
  arena_->spoil_out();
  if (job_.in_place) arena_->copy_in_to_out();
  call();
  const DeviceBuffer out = arena_->out();
  Buffer text(job_.bytes);
  arena_->read(out, 0, text.data(), job_.bytes);
  if (rival_->traffic == generates_only) return is_key_stream(text.data());
  if (job_.mode != Mode::gcm) return is_answer(job_, text.data(), nullptr);
  std::vector<std::uint8_t> tags(tag_bytes * segments(job_.bytes));
  arena_->read(out, arena_->tags_at(job_.key_bits), tags.data(), tags.size());
  return is_answer_in_segments(job_, text.data(), tags.data());
}

// Whether the pattern encrypted with these bytes is the answer. Throws Unverifiable if nothing was
// written.
bool DeviceRivalCase::is_key_stream(std::uint8_t* text) const {
  if (std::all_of(text, text + job_.bytes, [](std::uint8_t byte) { return byte == 0; })) {
    throw Unverifiable("it generates only, and stores nothing that could be compared");
  }
  std::vector<std::uint8_t> plain(std::min<std::uint64_t>(job_.bytes, 1 << 20));
  for (std::uint64_t at = 0; at < job_.bytes; at += plain.size()) {
    const std::size_t step = std::min<std::uint64_t>(plain.size(), job_.bytes - at);
    pattern(at, plain.data(), step);
    for (std::size_t i = 0; i < step; ++i) text[at + i] ^= plain[i];
  }
  return is_answer(job_, text, nullptr);
}

}  // namespace paraes::bench
