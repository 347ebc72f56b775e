// Fuzzes whole messages from sources to sinks: files and pipes that pass on their data in any
// parts, any number of threads, shares of several processes, ranges, and salvage. What is sealed is
// OpenSSL's. Of a message that was damaged, no byte is released that OpenSSL does not open at its
// place, and salvage gives all that it opens.

#include "paraes/error.hpp"
#include "tests/fuzz/any_message.hpp"
#include "tests/fuzz/transfer.hpp"

namespace paraes::fuzz {
namespace {

constexpr std::size_t most_bytes = 400000;  // chunks have up to 256 KiB

Share share_of(std::size_t index, std::size_t count) {
  return {.index = static_cast<unsigned>(index), .count = static_cast<unsigned>(count)};
}

// Whether `part` is what stands at `offset` of `whole`.
bool is_at(const Buffer& whole, std::size_t offset, Bytes part) {
  return offset <= whole.size() && part.size() <= whole.size() - offset &&
         equal(Bytes(whole).subspan(offset, part.size()), part);
}

// Zero or the byte of the plaintext in each place.
bool is_part_of(const Buffer& plain, std::size_t offset, const AnySink& sink) {
  const Buffer& data = sink.data();
  if (!sink.is_file()) return is_at(plain, offset, data);
  if (offset + data.size() > plain.size()) return false;
  for (std::size_t i = 0; i < data.size(); ++i) {
    if (data[i] != 0 && data[i] != plain[offset + i]) return false;
  }
  return true;
}

// `expected` has `count` segments, which may be too many.
void check_sealing(Input& input, const Message& message, const Buffer& plain,
                   const Buffer& expected, std::size_t count) {
  TransferOptions options = any_options(input, message, Direction::encrypt);
  std::uint64_t done = 0;
  options.progress = rising(done, plain.size());
  AnySource source(input, plain);
  AnySink sink(input);
  const std::size_t shares =
      source.is_file() && sink.is_file() ? number(input, 1, 4) : std::size_t{1};
  std::uint64_t segments = 0;
  bool refused = false;
  for (std::size_t i = 0; i < shares; ++i) {
    options.share = share_of(i, shares);
    done = 0;
    refused |= throws<InvalidArgument>([&] {
      const TransferResult result = seal_message(source.source(), message, sink.sink(), options);
      require(result.plain_bytes == plain.size() && result.sealed_bytes == expected.size());
      segments += result.segments;
    });
  }
  require(refused == (count > message.layout().max_segments));
  if (refused) {
    const SegmentLayout& layout = message.layout();
    require(segments == 0 && is_part_of(expected, 0, sink));
    require(sink.data().size() <= layout.sealed_offset(layout.max_segments));
  } else {
    require(segments == count && equal(sink.data(), expected));
  }
}

// The plaintext that is released without salvage: all that opens. `cut`: at the end of a pipe,
// whose size no message has, the last segment opens in either way.
struct Released {
  Buffer plain;         // with zeros for the rest
  std::size_t end = 0;  // up to here, it is released in order
};

Released released_of(const Opened& opened, bool cut) {
  Released released{.plain = opened.plain, .end = opened.plain.size()};
  for (const Opened::Segment& segment : opened.segments) {
    const bool at_cut = cut && &segment == &opened.segments.back();
    if (segment.opens || (at_cut && segment.opens_otherwise)) continue;
    const auto begin = released.plain.begin() + static_cast<std::ptrdiff_t>(segment.offset);
    std::fill_n(begin, segment.bytes, std::uint8_t{0});
    released.end = std::min(released.end, segment.offset);
  }
  return released;
}

void check_opening(Input& input, const Message& message, const Opened& opened,
                   const Buffer& given) {
  OpenOptions options;
  static_cast<TransferOptions&>(options) = any_options(input, message, Direction::decrypt);
  AnySource source(input, given, std::min(given.size(), message.header().size()));
  AnySink sink(input);
  Sink* const to = input.ConsumeBool() ? &sink.sink() : nullptr;
  const std::size_t shares =
      source.is_file() && (to == nullptr || sink.is_file()) ? number(input, 1, 4) : std::size_t{1};
  bool refused = false;
  for (std::size_t i = 0; i < shares; ++i) {
    options.share = share_of(i, shares);
    refused |= throws<IntegrityError>([&] {
      const OpenResult result = open_message(source.source(), message, to, options);
      require(!opened.intact() || result.plain_bytes == opened.plain.size());
    });
  }
  require(refused == !opened.intact());
  const bool fits = is_size_of_message(message.layout(), given.size());
  const Released released = released_of(opened, !fits);
  require(is_part_of(released.plain, 0, sink));
  if (to == nullptr || (source.is_file() && !fits)) {
    require(sink.data().empty());
  } else if (!sink.is_file()) {
    require(sink.data().size() == released.end);
  } else if (opened.intact()) {
    require(equal(sink.data(), opened.plain));
  }
}

void check_range(Input& input, const Message& message, const Opened& opened, const Buffer& given) {
  const std::size_t size = opened.plain.size();
  OpenOptions options;
  static_cast<TransferOptions&>(options) = any_options(input, message, Direction::decrypt);
  options.offset = number(input, 0, size + 2);
  if (input.ConsumeBool()) options.length = number(input, 0, size + 2);
  const auto offset = static_cast<std::size_t>(options.offset);
  const bool fits = offset <= size && options.length.value_or(0) <= size - offset;
  support::RandomSource source(given);
  AnySink sink(input);
  try {
    open_message(source, message, &sink.sink(), options);
    require(fits);
    // Only the segments of the range are read.
    const auto bytes = static_cast<std::size_t>(options.length.value_or(size - offset));
    require(opened.opens(offset, bytes) && (opened.ends || offset + bytes < size));
    require(sink.data().size() == bytes && is_at(opened.plain, offset, sink.data()));
  } catch (const InvalidArgument&) {
    require(!fits && opened.ends && sink.data().empty());
  } catch (const IntegrityError&) {
    if (!fits || !is_size_of_message(message.layout(), given.size())) {
      require(!opened.ends && sink.data().empty());
      return;
    }
    const auto bytes = static_cast<std::size_t>(options.length.value_or(size - offset));
    require(!opened.opens(offset, bytes) || (offset + bytes == size && !opened.ends));
    require(is_part_of(released_of(opened, false).plain, offset, sink));
  }
}

// Every byte outside the bad ranges is the plaintext's, and every byte in them is zero. Nothing
// that opens lies in one.
void check_salvaged(const Opened& opened, const Buffer& data, const std::vector<BadRange>& bad) {
  require(data.size() == opened.plain.size());
  std::size_t at = 0;
  const auto check_good = [&](std::size_t end) {
    require(at <= end && end <= data.size() && opened.opens(at, end - at));
    require(is_at(opened.plain, at, Bytes(data).subspan(at, end - at)));
  };
  for (const BadRange& range : bad) {
    check_good(static_cast<std::size_t>(range.offset));
    at = static_cast<std::size_t>(range.offset + range.bytes);
    require(at <= data.size());
    require(all_zero(Bytes(data).subspan(static_cast<std::size_t>(range.offset),
                                         static_cast<std::size_t>(range.bytes))));
    for (const Opened::Segment& segment : opened.segments) {
      const bool in_range = segment.offset >= range.offset && segment.offset < at;
      require(!in_range || segment.bytes == 0 || !segment.opens);
    }
  }
  check_good(data.size());
}

void check_salvage(Input& input, const Message& message, const Opened& opened,
                   const Buffer& given) {
  std::vector<BadRange> bad;
  OpenOptions options;
  static_cast<TransferOptions&>(options) = any_options(input, message, Direction::decrypt);
  options.salvage = &bad;
  const std::size_t header = message.header().size();
  AnySource source(input, given, std::min(given.size(), header));
  AnySink sink(input);
  Opened saved = opened;
  std::uint64_t intact = 0;
  for (Opened::Segment& segment : saved.segments) {
    segment.opens |= segment.opens_otherwise;
    if (segment.opens) ++intact;
  }
  try {
    const OpenResult result = open_message(source.source(), message, &sink.sink(), options);
    require(result.intact == intact);
    require(opened.intact() == (bad.empty() && !result.truncated));
    check_salvaged(saved, sink.data(), bad);
  } catch (const IntegrityError&) {
    // There was no segment to save, or not even a header.
    require((intact == 0 && !message.commits()) || given.size() < header);
    require(all_zero(sink.data()));
  }
}

}  // namespace

void fuzz(Input& input) {
  const AnyKernel kernel(input);
  const Derived derived = any_derived(input);
  const Message message(parts_of(derived), kernel.execution(static_cast<int>(number(input, 1, 2))));
  const Buffer plain = any_text(input, derived, most_bytes);
  const Buffer sealed = joined(derived.header, seal_by_evp(derived, plain));
  const std::size_t what = number(input, 0, 3);
  if (what == 0) {
    return check_sealing(input, message, plain, sealed, segments_of(derived, plain.size()).size());
  }
  Buffer given = sealed;
  damage(input, given);
  if (number(input, 0, 3) == 3) given = joined(given, take(input, number(input, 1, 40)));
  const std::size_t header = std::min(given.size(), message.header().size());
  const Opened opened = open_by_evp(derived, Bytes(given).subspan(header));
  if (what == 1) check_opening(input, message, opened, given);
  if (what == 2) check_range(input, message, opened, given);
  if (what == 3) check_salvage(input, message, opened, given);
}

}  // namespace paraes::fuzz
