#include "paraes/device_segments.hpp"

#include <algorithm>

#include "paraes/error.hpp"
#include "src/messages/segments.hpp"

namespace paraes {
namespace {

DeviceBuffer part_of(const DeviceBuffer& buffer, std::uint64_t offset, std::uint64_t bytes) {
  return {buffer.memory, buffer.offset + offset, bytes};
}

}  // namespace

DeviceSegments::DeviceSegments(const DeviceStream& stream, const Message::Parts& message,
                               const DeviceOptions& options)
    : gcm_(stream, message.secret.key.span(), options),
      layout_(message.layout),
      nonces_{message.secret.base_nonce, message.secret.nonces},
      owner_(message.owner) {}

DeviceSegments::~DeviceSegments() = default;
DeviceSegments::DeviceSegments(DeviceSegments&&) noexcept = default;
DeviceSegments& DeviceSegments::operator=(DeviceSegments&&) noexcept = default;

std::vector<DeviceText> DeviceSegments::texts(Direction direction, std::uint64_t first,
                                              std::uint64_t count, bool ends,
                                              const DeviceBuffer& plain,
                                              const DeviceBuffer& sealed) const {
  std::vector<DeviceText> list;
  list.reserve(count);
  for (std::uint64_t i = 0; i < count; ++i) {
    const bool is_last = i + 1 == count;
    const std::uint64_t begin = layout_.plain_offset(first + i);
    const std::uint64_t plain_at = begin - layout_.plain_offset(first);
    const std::uint64_t sealed_at = plain_at + i * segment_tag_bytes;
    const std::uint64_t bytes =
        is_last ? plain.bytes - plain_at : layout_.plain_offset(first + i + 1) - begin;
    const DeviceBuffer text = part_of(plain, plain_at, bytes);
    const DeviceBuffer cipher = part_of(sealed, sealed_at, bytes);
    DeviceText& made = list.emplace_back();
    made.in = direction == Direction::encrypt ? text : cipher;
    made.out = direction == Direction::encrypt ? cipher : text;
    made.tag = part_of(sealed, sealed_at + bytes, segment_tag_bytes);
    const auto nonce = nonces_.nonce(first + i, ends && is_last);
    std::copy(nonce.begin(), nonce.end(), made.iv.begin());
  }
  return list;
}

DeviceWork DeviceSegments::seal(std::uint64_t first, bool ends, const DeviceBuffer& plain,
                                const DeviceBuffer& sealed, const DeviceStream& stream) {
  owner_.check("a message that is being encrypted");
  const SegmentRange range = range_to_seal(layout_, first, ends, plain.bytes, sealed.bytes);
  return gcm_.encrypt(texts(Direction::encrypt, first, range.count, ends, plain, sealed), stream);
}

DeviceVerdict DeviceSegments::open(std::uint64_t first, bool ends, const DeviceBuffer& sealed,
                                   const DeviceBuffer& plain, const DeviceStream& stream) {
  const SegmentRange range = range_to_open(layout_, first, ends, sealed.bytes, plain.bytes);
  return gcm_.decrypt(texts(Direction::decrypt, first, range.count, ends, plain, sealed), stream);
}

void check_segments(const DeviceVerdict& verdict, std::uint64_t first, const SegmentLayout& layout,
                    bool commits) {
  if (verdict.all_intact()) return;
  for (std::size_t i = 0; i < verdict.messages(); ++i) {
    if (!verdict.intact(i)) throw bad_segment(layout, commits || first + i != 0, first + i);
  }
}

}  // namespace paraes
