// Seals and opens many small messages in memory, with all their segments in one call.

#include <algorithm>
#include <string>
#include <vector>

#include "paraes/error.hpp"
#include "paraes/messages.hpp"
#include "src/messages/segments.hpp"

namespace paraes {
namespace {

void check_size(std::size_t given, std::uint64_t right) {
  if (given == right) return;
  throw InvalidArgument("the output of this message needs a buffer of " + std::to_string(right) +
                        " bytes, not " + std::to_string(given));
}

// The segments of all messages. Those of message m end at index ends[m], where the next one's
// begin.
struct Segments {
  std::vector<CipherSegment> list;
  std::vector<std::size_t> ends;
};

// Appends the `count` segments of a message whose texts, without a header, are `in` and `out`.
void add_segments(const Message& message, Direction direction, std::uint64_t count, Bytes in,
                  MutableBytes out, std::vector<CipherSegment>& list) {
  const SegmentRange range{message.layout(), 0, count, true};
  for (std::uint64_t index = 0; index < count; ++index) {
    list.push_back({.cipher = &message.cipher(), .segment = range.at(index, direction, in, out)});
  }
}

// Calls add(whole), which appends segments, for each message. An exception becomes the error of the
// message.
void gather(std::span<WholeMessage> list, Segments& segments, const auto& add) {
  for (WholeMessage& whole : list) {
    whole.error = nullptr;
    try {
      add(whole);
    } catch (const Error&) {
      whole.error = std::current_exception();
      secure_zero(whole.out.data(), whole.out.size());
    }
    segments.ends.push_back(segments.list.size());
  }
}

// Calls crypt(). If it throws, fills all outputs with zeros.
void crypt_all(std::span<WholeMessage> list, const auto& crypt) try { crypt(); } catch (...) {
  for (const WholeMessage& whole : list) secure_zero(whole.out.data(), whole.out.size());
  throw;
}

}  // namespace

void seal_messages(std::span<WholeMessage> list) {
  Segments segments;
  gather(list, segments, [&](const WholeMessage& whole) {
    const SegmentLayout& layout = whole.message->layout();
    const std::uint64_t count = layout.segments_of(whole.in.size());
    check_size(whole.out.size(), layout.sealed_bytes(whole.in.size()));
    const Bytes header = whole.message->header();
    std::copy(header.begin(), header.end(), whole.out.begin());
    add_segments(*whole.message, Direction::encrypt, count, whole.in,
                 whole.out.subspan(header.size()), segments.list);
  });
  crypt_all(list, [&] { SegmentCipher::crypt(Direction::encrypt, segments.list); });
}

void open_messages(std::span<WholeMessage> list) {
  Segments segments;
  gather(list, segments, [&](const WholeMessage& whole) {
    const SegmentLayout& layout = whole.message->layout();
    const SegmentLayout::Extent extent = layout.extent_of(whole.in.size());
    check_size(whole.out.size(), extent.plain_bytes);
    add_segments(*whole.message, Direction::decrypt, extent.segments,
                 whole.in.subspan(static_cast<std::size_t>(layout.header_bytes)), whole.out,
                 segments.list);
  });
  crypt_all(list, [&] { SegmentCipher::crypt(Direction::decrypt, segments.list); });
  std::size_t begin = 0;
  for (std::size_t m = 0; m < list.size(); ++m) {
    const auto first = segments.list.begin() + static_cast<std::ptrdiff_t>(begin);
    const auto last = segments.list.begin() + static_cast<std::ptrdiff_t>(segments.ends[m]);
    const auto bad =
        std::find_if(first, last, [](const CipherSegment& entry) { return !entry.segment.intact; });
    begin = segments.ends[m];
    if (bad == last) continue;
    const Message& message = *list[m].message;
    list[m].error = std::make_exception_ptr(
        bad_segment(message.layout(), message.commits() || bad != first, bad->segment.index));
    secure_zero(list[m].out.data(), list[m].out.size());
  }
}

}  // namespace paraes
