// Many small messages in memory, all of their segments at once.

#include <algorithm>
#include <string>
#include <vector>

#include "paraes/error.hpp"
#include "paraes/messages.hpp"
#include "src/messages/bad_segment.hpp"

namespace paraes {
namespace {

void check_size(std::size_t given, std::uint64_t right) {
  if (given == right) return;
  throw InvalidArgument("the output of this message has " + std::to_string(right) +
                        " bytes, and there is room for " + std::to_string(given));
}

// The segments of all messages, and where those of each begin and end.
struct Segments {
  std::vector<CipherSegment> list;
  std::vector<std::size_t> ends;
};

// `plain_bytes` and `count`: of the message.
void add_segments(const WholeMessage& each, bool sealing, std::uint64_t plain_bytes,
                  std::uint64_t count, std::vector<CipherSegment>& list) {
  const SegmentLayout& layout = each.message->layout();
  for (std::uint64_t index = 0; index < count; ++index) {
    const bool last = index + 1 == count;
    const auto plain = static_cast<std::size_t>(layout.plain_offset(index));
    const auto sealed = static_cast<std::size_t>(layout.sealed_offset(index));
    const auto n =
        static_cast<std::size_t>(last ? plain_bytes : layout.plain_offset(index + 1)) - plain;
    CipherSegment segment;
    segment.cipher = &each.message->cipher();
    segment.segment.index = index;
    segment.segment.last = last;
    segment.segment.in =
        sealing ? each.in.subspan(plain, n) : each.in.subspan(sealed, n + segment_tag_bytes);
    segment.segment.out =
        sealing ? each.out.subspan(sealed, n + segment_tag_bytes) : each.out.subspan(plain, n);
    list.push_back(segment);
  }
}

// Calls add(message) for each; one that throws has that as its error, and no segments.
template <class Add>
void gather(std::span<WholeMessage> list, Segments& segments, const Add& add) {
  for (WholeMessage& each : list) {
    each.error = nullptr;
    try {
      add(each);
    } catch (const Error&) {
      each.error = std::current_exception();
      secure_zero(each.out.data(), each.out.size());
    }
    segments.ends.push_back(segments.list.size());
  }
}

template <class Run>
void run_all(std::span<WholeMessage> list, const Run& run) {
  try {
    run();
  } catch (...) {
    for (const WholeMessage& each : list) secure_zero(each.out.data(), each.out.size());
    throw;
  }
}

}  // namespace

void seal_messages(std::span<WholeMessage> list) {
  Segments segments;
  gather(list, segments, [&](const WholeMessage& each) {
    const SegmentLayout& layout = each.message->layout();
    const std::uint64_t count = layout.segments_of(each.in.size());
    check_size(each.out.size(), layout.sealed_bytes(each.in.size()));
    const Bytes header = each.message->header();
    std::copy(header.begin(), header.end(), each.out.begin());
    add_segments(each, true, each.in.size(), count, segments.list);
  });
  run_all(list, [&] { SegmentCipher::crypt(Direction::encrypt, segments.list); });
}

void open_messages(std::span<WholeMessage> list) {
  Segments segments;
  gather(list, segments, [&](const WholeMessage& each) {
    const SegmentLayout::Extent extent = each.message->layout().extent_of(each.in.size());
    check_size(each.out.size(), extent.plain_bytes);
    add_segments(each, false, extent.plain_bytes, extent.segments, segments.list);
  });
  run_all(list, [&] { SegmentCipher::crypt(Direction::decrypt, segments.list); });
  std::size_t begin = 0;
  for (std::size_t m = 0; m < list.size(); ++m) {
    const auto first = segments.list.begin() + static_cast<std::ptrdiff_t>(begin);
    const auto last = segments.list.begin() + static_cast<std::ptrdiff_t>(segments.ends[m]);
    const auto bad =
        std::find_if(first, last, [](const CipherSegment& each) { return !each.segment.intact; });
    begin = segments.ends[m];
    if (bad == last) continue;
    const Message& message = *list[m].message;
    list[m].error = std::make_exception_ptr(
        bad_segment(message.layout(), message.commits(), bad->segment.index));
    secure_zero(list[m].out.data(), list[m].out.size());
  }
}

}  // namespace paraes
