#include "src/io/fresh_pages.hpp"

#include <algorithm>

#include "src/core/system/memory.hpp"

namespace paraes {
namespace {

constexpr std::size_t page = 4096;
// Two huge pages have room for 15 chunks of 256 KiB and their tags, and one only for 7.
constexpr std::size_t region_bytes = 2 * system::huge_page;
// Less than this is copied into a pipe sooner than a huge page is cleared.
constexpr std::size_t least_fresh_bytes = std::size_t{64} << 10;

constexpr std::size_t round_up(std::size_t n, std::size_t unit) {
  return (n + unit - 1) / unit * unit;
}

}  // namespace

FreshPages::Piece FreshPages::take(std::size_t bytes) {
  const std::size_t wanted = round_up(bytes, page);
  const std::lock_guard lock(mutex_);
  if (refused_) return {};
  if (size_ - used_ < wanted) {
    size_ = round_up(std::max(wanted, region_bytes), system::huge_page);
    used_ = 0;
    region_ = system::map_huge_pages(size_);
    refused_ = region_ == nullptr;
    if (refused_) return {};
  }
  Piece piece{.bytes = {region_.get() + used_, bytes}, .region = region_};
  used_ += wanted;
  return piece;
}

MutableBytes SinkBuffer::take(std::size_t begin, std::size_t bytes) {
  if (fresh_.region && !given_ && fresh_.bytes.size() >= bytes) return fresh_.bytes.first(bytes);
  fresh_ = {};
  given_ = false;
  if (pages_ != nullptr && bytes >= least_fresh_bytes) fresh_ = pages_->take(bytes);
  return fresh_.region ? fresh_.bytes : take_own(begin, bytes);
}

MutableBytes SinkBuffer::take_own(std::size_t begin, std::size_t bytes) {
  fresh_ = {};
  if (own_.size() < begin + bytes) own_ = IoBuffer(begin + bytes);
  return own_.span().subspan(begin, bytes);
}

void SinkBuffer::write(Sink& sink, Bytes data) const {
  if (fresh_.region && data.size() >= least_fresh_bytes) {
    given_ = true;
    sink.write_pages(data);
  } else {
    sink.write(data);
  }
}

}  // namespace paraes
