#include "src/io/fresh_pages.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <cstdint>

namespace paraes {
namespace {

constexpr std::size_t page = 4096;
constexpr std::size_t huge_page = std::size_t{2} << 20;
// Two huge pages have room for 15 chunks of 256 KiB and their tags, and one only for 7.
constexpr std::size_t region_bytes = 2 * huge_page;
// Less than this is copied into a pipe sooner than a huge page is cleared.
constexpr std::size_t least_fresh_bytes = std::size_t{64} << 10;

constexpr std::size_t round_up(std::size_t n, std::size_t unit) {
  return (n + unit - 1) / unit * unit;
}

// Whether the first byte of `memory` and the last one are in one huge page: if so, writing to one
// gives the process the other.
bool is_huge(std::uint8_t* memory) {
  *static_cast<volatile std::uint8_t*>(memory) = 0;
  unsigned char resident = 0;
  return mincore(memory + huge_page - page, page, &resident) == 0 && (resident & 1U) != 0;
}

// A mapping of `bytes` bytes, a multiple of a huge page, or nullptr.
std::shared_ptr<std::uint8_t> map_huge(std::size_t bytes) {
#ifdef MADV_HUGEPAGE
  void* const mapped =
      mmap(nullptr, bytes + huge_page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapped == MAP_FAILED) return nullptr;
  auto* const all = static_cast<std::uint8_t*>(mapped);
  const auto address = reinterpret_cast<std::uintptr_t>(all);
  const std::size_t before = round_up(address, huge_page) - address;
  if (before != 0) munmap(all, before);
  munmap(all + before + bytes, huge_page - before);
  std::shared_ptr<std::uint8_t> region(all + before,
                                       [bytes](std::uint8_t* data) { munmap(data, bytes); });
  if (madvise(region.get(), bytes, MADV_HUGEPAGE) == 0 && is_huge(region.get())) return region;
#endif
  return nullptr;
}

}  // namespace

FreshPages::Piece FreshPages::take(std::size_t bytes) {
  const std::size_t wanted = round_up(bytes, page);
  const std::lock_guard lock(mutex_);
  if (refused_) return {};
  if (size_ - used_ < wanted) {
    size_ = round_up(std::max(wanted, region_bytes), huge_page);
    used_ = 0;
    region_ = map_huge(size_);
    refused_ = region_ == nullptr;
    if (refused_) return {};
  }
  Piece piece{.bytes = {region_.get() + used_, bytes}, .region = region_};
  used_ += wanted;
  return piece;
}

MutableBytes SinkBuffer::take(std::size_t begin, std::size_t bytes) {
  fresh_ = {};
  if (pages_ != nullptr && bytes >= least_fresh_bytes) fresh_ = pages_->take(bytes);
  return fresh_.region ? fresh_.bytes : take_own(begin, bytes);
}

MutableBytes SinkBuffer::take_own(std::size_t begin, std::size_t bytes) {
  fresh_ = {};
  if (own_.size() < begin + bytes) own_ = IoBuffer(begin + bytes);
  return own_.span().subspan(begin, bytes);
}

void SinkBuffer::write(Sink& sink, Bytes data) const {
  if (fresh_.region) {
    sink.write_pages(data);
  } else {
    sink.write(data);
  }
}

}  // namespace paraes
