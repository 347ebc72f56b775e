#include "memory/arena.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <limits>
#include <new>
#include <string>
#include <utility>

#include "executors/executor.hpp"
#include "harness/variant.hpp"
#include "memory/job.hpp"

namespace paraes::bench {
namespace {

constexpr std::size_t huge_page = std::size_t{2} << 20;

}  // namespace

Buffer::Buffer(std::size_t bytes) {
  const std::size_t alignment = bytes >= huge_page ? huge_page : 4096;
  mapped_ = (bytes + alignment - 1) / alignment * alignment + alignment;
  mapping_ = mmap(nullptr, mapped_, PROT_READ | PROT_WRITE,
                  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapping_ == MAP_FAILED) {
    mapping_ = nullptr;
    throw std::bad_alloc();
  }
  const auto address = reinterpret_cast<std::uintptr_t>(mapping_);
  data_ = static_cast<std::uint8_t*>(mapping_) + (alignment - address % alignment) % alignment;
  // Only advice: the context of the report says what the system makes of it.
  if (bytes >= huge_page) (void)madvise(mapping_, mapped_, MADV_HUGEPAGE);
}

Buffer::~Buffer() {
  if (mapping_ != nullptr) munmap(mapping_, mapped_);
}

Buffer::Buffer(Buffer&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)),
      mapping_(std::exchange(other.mapping_, nullptr)),
      mapped_(other.mapped_) {}

Buffer& Buffer::operator=(Buffer&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(mapping_, other.mapping_);
  std::swap(mapped_, other.mapped_);
  return *this;
}

void Arena::acquire() {
  if (holders_ == 0) {
    const std::uint64_t need = 2 * bytes_;
    const std::uint64_t have = available_memory();
    if (need > have / 10 * 9) {
      throw Skip("the two buffers need " + std::to_string(need >> 20) + " MiB and " +
                 std::to_string(have >> 20) + " MiB are available");
    }
    in_ = Buffer(bytes_);
    out_ = Buffer(bytes_);
    Executor(threads_).run(grains(bytes_), min_grains,
                           [this](unsigned, std::uint64_t begin, std::uint64_t end) {
                             const std::uint64_t from = begin * grain_bytes;
                             const std::uint64_t to = std::min(end * grain_bytes, bytes_);
                             pattern(from, in_.data() + from, to - from);
                             std::memset(out_.data() + from, 0xa5, to - from);
                           });
  }
  ++holders_;
}

void Arena::release() noexcept {
  if (holders_ == 0 || --holders_ > 0) return;
  in_ = Buffer();
  out_ = Buffer();
}

void Arena::fill_out_with_pattern() { std::memcpy(out_.data(), in_.data(), bytes_); }

void Arena::spoil_out() { std::memset(out_.data(), 0xa5, bytes_); }

std::uint64_t available_memory() {
  std::ifstream file("/proc/meminfo");
  std::string word;
  while (file >> word) {
    std::uint64_t kib = 0;
    if (word == "MemAvailable:" && file >> kib) return kib << 10;
  }
  return std::numeric_limits<std::uint64_t>::max();
}

std::uint64_t last_level_cache_bytes() {
  const long size = std::max(sysconf(_SC_LEVEL3_CACHE_SIZE), sysconf(_SC_LEVEL2_CACHE_SIZE));
  return size > 0 ? static_cast<std::uint64_t>(size) : std::uint64_t{32} << 20;
}

}  // namespace paraes::bench
