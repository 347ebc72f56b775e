#include "bench/memory/arena.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <new>

#include "bench/harness/case.hpp"
#include "bench/memory/job.hpp"
#include "paraes/error.hpp"
#include "src/core/executor.hpp"
#include "src/core/system/memory.hpp"
#include "src/core/system/process.hpp"

namespace paraes::bench {

using system::huge_page;

Buffer::Buffer(std::size_t bytes) {
  map(bytes);
  // This is only advice: the report's context has the system's setting.
  if (bytes >= huge_page) {
    system::request_huge_pages(mapping_.get(), mapping_.get_deleter().bytes);
  }
}

Buffer Buffer::shared(std::size_t bytes) {
  Buffer buffer;
  buffer.file_ = Descriptor(system::open_memory_file("paraes-bench"));
  if (buffer.file_.get() < 0 || ftruncate(buffer.file_.get(), static_cast<off_t>(bytes)) != 0) {
    throw IoError("cannot create shared memory", errno);
  }
  if (buffer.path().empty()) throw Skip("this system lets no other process open shared memory");
  buffer.map_file(bytes);
  return buffer;
}

Buffer::Buffer(const std::string& path, std::size_t bytes) : Buffer() {
  file_ = Descriptor(::open(path.c_str(), O_RDWR | O_CLOEXEC));
  if (file_.get() < 0) throw IoError("cannot open another process's memory: " + path, errno);
  map_file(bytes);
}

void Buffer::map(std::size_t bytes) {
  const std::size_t alignment = bytes >= huge_page ? huge_page : 4096;
  const std::size_t mapped = (bytes + alignment - 1) / alignment * alignment + alignment;
  void* const mapping = mmap(nullptr, mapped, PROT_READ | PROT_WRITE,
                             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapping == MAP_FAILED) throw std::bad_alloc();
  mapping_ = {mapping, Unmap{mapped}};
  const auto address = reinterpret_cast<std::uintptr_t>(mapping);
  data_ = static_cast<std::uint8_t*>(mapping) + (alignment - address % alignment) % alignment;
}

// Maps the file over the aligned addresses from map(), so that huge pages are possible.
void Buffer::map_file(std::size_t bytes) {
  map(bytes);
  if (mmap(data_, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, file_.get(), 0) ==
      MAP_FAILED) {
    throw IoError("cannot map shared memory", errno);
  }
}

std::string Buffer::path() const {
  if (file_.get() < 0) return {};
  return system::path_of_descriptor(file_.get());
}

void Buffer::collapse(std::size_t offset, std::size_t bytes) const {
  const std::size_t begin = (offset + huge_page - 1) / huge_page * huge_page;
  const std::size_t end = (offset + bytes) / huge_page * huge_page;
  if (begin < end) system::collapse_to_huge_pages(data_ + begin, end - begin);
}

void Unmap::operator()(void* mapping) const noexcept { munmap(mapping, bytes); }

void Arena::acquire() {
  hold();
  fill();
}

void Arena::hold() {
  if (in_.data() != nullptr) return;
  const std::uint64_t need = 2 * bytes_;
  const std::uint64_t have = system::available_memory();
  if (need > have / 10 * 9) {
    throw Skip("the two buffers need " + std::to_string(need >> 20) + " MiB and " +
               std::to_string(have >> 20) + " MiB are available");
  }
  const auto allocate = [this] {
    if (allocate_) return allocate_();
    return memory_ == Memory::shared ? Buffer::shared(bytes_) : Buffer(bytes_);
  };
  out_ = allocate();
  in_ = allocate();
}

void Arena::fill() {
  if (std::exchange(filled_, true)) return;
  Executor(threads_).run(grains(bytes_), min_grains,
                         [this](unsigned, std::uint64_t begin, std::uint64_t end) {
                           const std::uint64_t from = begin * grain_bytes;
                           const std::uint64_t to = std::min(end * grain_bytes, bytes_);
                           if (memory_ == Memory::shared) {
                             in_.collapse(from, to - from);
                             out_.collapse(from, to - from);
                           }
                           pattern(from, in_.data() + from, to - from);
                           std::memset(out_.data() + from, 0xa5, to - from);
                         });
}

void Arena::fill_out_with_pattern() { std::memcpy(out_.data(), in_.data(), bytes_); }

void Arena::spoil_out() { std::memset(out_.data(), 0xa5, bytes_); }

}  // namespace paraes::bench
