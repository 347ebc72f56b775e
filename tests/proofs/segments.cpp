// Places of segments (src/messages/segment_arithmetic.hpp).
// Bounds: the layouts below. Sizes and offsets come from windows of 2^PARAES_WINDOW bytes that
// begin with PARAES_BASE, because a division of 64 bits is too much for a SAT solver: table.py has
// those that are proven. prove_offsets and prove_is_within divide nothing, and are proven for all
// values that a format allows.

#include "src/messages/segment_arithmetic.hpp"

#include "tests/proofs/proof.hpp"

using namespace paraes::detail;

// For CBMC; natively, all numbers.
#ifndef PARAES_BASE
#define PARAES_BASE 0
#endif
#ifndef PARAES_WINDOW
#define PARAES_WINDOW 64
#endif
static std::uint64_t any_in_window() {
  return PARAES_BASE + (any_64() & (~static_cast<std::uint64_t>(0) >> (64 - PARAES_WINDOW)));
}

// A position in a text of `end` bytes whose size is in a window: any, or 2^PARAES_WINDOW bytes or
// fewer before its end. It is not in the window: a message is longer than its text by more than
// some windows are wide.
static std::uint64_t any_before(std::uint64_t end) {
  const std::uint64_t n = any_64() & (~static_cast<std::uint64_t>(0) >> (64 - PARAES_WINDOW));
  if (PARAES_BASE == 0 || n > end) return n;
  return end - n;
}

static const std::uint64_t most_bytes = 0x7fffffffffffffff;

static SegmentSizes sizes_with(std::uint64_t header, std::uint64_t first, std::uint64_t segment,
                               std::uint64_t most, bool shorter_last) {
  SegmentSizes sizes;
  sizes.header_bytes = header;
  sizes.first_bytes = first;
  sizes.segment_bytes = segment;
  sizes.max_segments = most;
  sizes.shorter_last = shorter_last;
  return sizes;
}

// docs/formats.md: c2sp, and paraes without recipients and with the largest wrap.
static SegmentSizes layout_c2sp() {
  const std::uint64_t header = any_bool() ? 56 : any_bool() ? 88 : 88 + (1 << 18);
  return sizes_with(header, 16384, 16384, static_cast<std::uint64_t>(1) << 38, true);
}

// docs/formats.md: tink, with segments of this size.
static SegmentSizes tink_with(std::uint64_t segment) {
  const std::uint64_t header = any_bool() ? 24 : 40;
  return sizes_with(header, segment - header - 16, segment - 16,
                    static_cast<std::uint64_t>(1) << 32, false);
}
static SegmentSizes layout_tink_4k() { return tink_with(4096); }
static SegmentSizes layout_tink_1m() { return tink_with(1 << 20); }
static SegmentSizes layout_tink_least() { return tink_with(57); }
static SegmentSizes layout_tink_most() { return tink_with(0x7fffffff); }

#ifdef PARAES_LAYOUT
#define PARAES_JOIN(a, b) a##b
#define PARAES_NAMED(name) PARAES_JOIN(layout_, name)
static SegmentSizes layout() { return PARAES_NAMED(PARAES_LAYOUT)(); }
#else
static SegmentSizes layout() {
  const std::uint32_t choice = any_32() % 5;
  return choice == 0   ? layout_c2sp()
         : choice == 1 ? layout_tink_4k()
         : choice == 2 ? layout_tink_1m()
         : choice == 3 ? layout_tink_least()
                       : layout_tink_most();
}
#endif

// The largest plaintext with max_segments segments.
static Wide capacity(const SegmentSizes& sizes) {
  const Wide full =
      sizes.first_bytes + static_cast<Wide>(sizes.max_segments - 1) * sizes.segment_bytes;
  return sizes.shorter_last ? full - 1 : full;
}

// Where a segment begins, in integers that do not overflow.
static Wide wide_plain_offset(const SegmentSizes& sizes, std::uint64_t index) {
  if (index == 0) return 0;
  return sizes.first_bytes + static_cast<Wide>(index - 1) * sizes.segment_bytes;
}

// Offsets of every segment that a format allows, and of the end of the last one.
void prove_offsets() {
  const SegmentSizes sizes = layout();
  const std::uint64_t index = any_in_window();
  if (index > sizes.max_segments) return;
  const Wide plain = wide_plain_offset(sizes, index);
  if (plain > most_bytes) return;
  CHECK(plain_offset(sizes, index) == plain);
  CHECK(sealed_offset(sizes, index) == sizes.header_bytes + plain + static_cast<Wide>(16) * index);
}

// A byte lies in the segment that segment_at() returns.
void prove_segment_at() {
  const SegmentSizes sizes = layout();
  const std::uint64_t offset = any_in_window();
  if (offset > most_bytes) return;
  const std::uint64_t index = segment_at(sizes, offset);
  CHECK(wide_plain_offset(sizes, index) <= offset);
  CHECK(offset < wide_plain_offset(sizes, index + 1));
}

// The sealed size of each plaintext that the format allows gives its contents back.
void prove_contents_of_sealed() {
  const SegmentSizes sizes = layout();
  const std::uint64_t bytes = any_in_window();
  if (bytes > capacity(sizes) || bytes > most_bytes) return;
  const std::uint64_t count = segment_count(sizes, bytes);
  CHECK(count >= 1 && count <= sizes.max_segments);
  Contents contents;
  CHECK(contents_of(sizes, sizes.header_bytes + bytes + 16 * count, contents) == SizeFault::none);
  CHECK(contents.segments == count);
  CHECK(contents.plain_bytes == bytes);
  CHECK(!contents.empty_last || (sizes.shorter_last && count > 1));
}

// Whatever size is accepted is that of a message: header, plaintext and a tag for each segment; no
// segment but the last is shorter than a full one.
void prove_contents_of_any_size() {
  const SegmentSizes sizes = layout();
  const std::uint64_t size = any_in_window();
  Contents contents;
  if (contents_of(sizes, size, contents) != SizeFault::none) return;
  const Wide tags = static_cast<Wide>(16) * contents.segments;
  CHECK(contents.segments >= 1 && contents.segments <= sizes.max_segments);
  CHECK(sizes.header_bytes + contents.plain_bytes + tags == size);
  const Wide last = wide_plain_offset(sizes, contents.segments - 1);
  const Wide full = contents.segments == 1 ? sizes.first_bytes : sizes.segment_bytes;
  CHECK(last <= contents.plain_bytes);
  CHECK(contents.plain_bytes - last <= full - (sizes.shorter_last ? 1 : 0));
  CHECK(contents.empty_last == (contents.segments > 1 && contents.plain_bytes == last));
}

// A size is refused only if no plaintext has it, with any number of segments.
void prove_refused_sizes() {
  const SegmentSizes sizes = layout();
  const std::uint64_t size = any_in_window();
  Contents contents;
  if (contents_of(sizes, size, contents) == SizeFault::none) return;
  const std::uint64_t count = any_64();
  if (count == 0 || count > sizes.max_segments) return;
  const Wide rest = sizes.header_bytes + static_cast<Wide>(16) * count;
  if (rest > size || size - rest > most_bytes) return;
  // A plaintext of these bytes does not have `count` segments: its last one would begin behind its
  // end, or be too long.
  const Wide bytes = size - rest;
  const Wide last = wide_plain_offset(sizes, count - 1);
  const Wide full = count == 1 ? sizes.first_bytes : sizes.segment_bytes;
  CHECK(last > bytes || bytes - last > full - (sizes.shorter_last ? 1 : 0));
}

// --offset and --length: for all values.
void prove_is_within() {
  const std::uint64_t offset = any_64();
  const std::uint64_t length = any_64();
  const std::uint64_t bytes = any_64();
  CHECK(is_within(offset, length, bytes) == (static_cast<Wide>(offset) + length <= bytes));
}

// The segments that are opened for a range exist and hold all of it, the first and the last hold a
// part of it, and the last segment is opened if the range ends with the message.
void prove_segments_of_range() {
  const SegmentSizes sizes = layout();
  Contents contents;
  if (contents_of(sizes, any_in_window(), contents) != SizeFault::none) return;
  const std::uint64_t begin = any_before(contents.plain_bytes);
  const std::uint64_t end = any_before(contents.plain_bytes);
  if (begin > end || end > contents.plain_bytes) return;
  const SegmentInterval opened = segments_of_range(sizes, contents, begin, end);
  CHECK(opened.first < contents.segments);
  CHECK(opened.first <= opened.end && opened.end <= contents.segments);
  CHECK(wide_plain_offset(sizes, opened.first) <= begin);
  if (end == contents.plain_bytes) {
    CHECK(opened.end == contents.segments);
  } else if (begin == end) {
    CHECK(opened.end == opened.first);
  } else {
    CHECK(end <= wide_plain_offset(sizes, opened.end));
    CHECK(wide_plain_offset(sizes, opened.end - 1) < end);
  }
  if (begin < end) CHECK(begin < wide_plain_offset(sizes, opened.first + 1));
}

// Up to 31 segments from `first` on in memory: each lies within plaintext and sealed text, behind
// the one before it.
void prove_place_of() {
  const SegmentSizes sizes = layout();
  const std::uint64_t first = any_in_window();
  if (first >= sizes.max_segments) return;
  const std::uint64_t index = first + any_8() % 16;
  const std::uint64_t end = index + 1 + any_8() % 16;
  // The text ends with whole segments, or with a last one that is shorter.
  const Wide whole = wide_plain_offset(sizes, end);
  const Wide least = wide_plain_offset(sizes, end - 1);
  if (end > sizes.max_segments || whole > most_bytes) return;
  const Wide plain_end = least + any_64();
  if (plain_end > whole) return;
  const Wide plain_bytes = plain_end - wide_plain_offset(sizes, first);
  const Wide sealed_bytes = plain_bytes + static_cast<Wide>(16) * (end - first);
  const bool is_last = index + 1 == end;
  const SegmentPlace place =
      place_of(sizes, first, index, is_last, static_cast<std::uint64_t>(plain_bytes));
  const Wide full = index == 0 ? sizes.first_bytes : sizes.segment_bytes;
  CHECK(place.bytes <= full && (is_last || place.bytes == full));
  CHECK(place.plain == wide_plain_offset(sizes, index) - wide_plain_offset(sizes, first));
  CHECK(static_cast<Wide>(place.plain) + place.bytes <= plain_bytes);
  CHECK(place.sealed == place.plain + static_cast<Wide>(16) * (index - first));
  CHECK(static_cast<Wide>(place.sealed) + place.bytes + 16 <= sealed_bytes);
  if (is_last) CHECK(static_cast<Wide>(place.sealed) + place.bytes + 16 == sealed_bytes);
}

// What salvage opens of a cut message lies within it, and loses less than a tag of it, if it has no
// more segments than the format allows.
void prove_contents_of_truncated() {
  const SegmentSizes sizes = layout();
  const std::uint64_t size = any_in_window();
  if (size < sizes.header_bytes || size > most_bytes) return;
  std::uint64_t left = size;
  const Contents contents = contents_of_truncated(sizes, left);
  CHECK(left <= size);
  CHECK(contents.segments <= sizes.max_segments);
  CHECK(static_cast<Wide>(sizes.header_bytes) + contents.plain_bytes +
            static_cast<Wide>(16) * contents.segments ==
        left);
  CHECK(contents.segments == sizes.max_segments || size - left < 16);
  CHECK(contents.segments == 0 ||
        wide_plain_offset(sizes, contents.segments - 1) <= contents.plain_bytes);
}

// Shares of any number of chunks: in order, without a gap, none left over. For CBMC, the number of
// shares is PARAES_SHARES.
void prove_share_begin() {
  const std::uint64_t count = any_in_window();
#ifdef PARAES_SHARES
  const std::uint32_t shares = PARAES_SHARES;
#else
  const std::uint32_t shares = any_32();
#endif
  const std::uint32_t index = any_32();
  if (shares == 0 || index > shares) return;
  // begin = floor(count * index / shares)
  const std::uint64_t begin = share_begin(count, index, shares);
  const Wide product = static_cast<Wide>(count) * index;
  CHECK(static_cast<Wide>(begin) * shares <= product);
  CHECK(product < (static_cast<Wide>(begin) + 1) * shares);
  if (index == 0) CHECK(begin == 0);
  if (index == shares) CHECK(begin == count);
}
