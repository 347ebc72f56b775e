// Fuzzes whole messages from sources to sinks: files and pipes that pass on their data in any
// parts, any number of threads, shares of several processes, ranges, and salvage. What is sealed is
// OpenSSL's. No byte is released that is not that of the plaintext at its place, however the
// message was damaged.

#include "paraes/error.hpp"
#include "tests/fuzz/any_message.hpp"
#include "tests/fuzz/transfer.hpp"

namespace paraes::fuzz {
namespace {

constexpr std::size_t most_bytes = 400000;  // chunks have up to 256 KiB

Share share_of(std::size_t index, std::size_t count) {
  return {.index = static_cast<unsigned>(index), .count = static_cast<unsigned>(count)};
}

void check_sealing(Input& input, const Message& message, const Buffer& plain,
                   const Buffer& expected) {
  TransferOptions options = any_options(input, message, Direction::encrypt);
  std::uint64_t done = 0;
  options.progress = [&](std::uint64_t bytes) {
    require(bytes >= done && bytes <= plain.size());
    done = bytes;
  };
  AnySource source(input, plain);
  AnySink sink(input);
  const std::size_t shares =
      source.is_file() && sink.is_file() ? number(input, 1, 4) : std::size_t{1};
  std::uint64_t segments = 0;
  for (std::size_t i = 0; i < shares; ++i) {
    options.share = share_of(i, shares);
    done = 0;
    const TransferResult result = seal_message(source.source(), message, sink.sink(), options);
    require(result.plain_bytes == plain.size() && result.sealed_bytes == expected.size());
    segments += result.segments;
  }
  require(segments == message.layout().segments_of(plain.size()));
  require(equal(sink.data(), expected));
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

bool is_intact(const Message& message, const Buffer& sealed, const Buffer& given) {
  const std::size_t header = message.header().size();
  return given.size() >= header &&
         equal(Bytes(given).subspan(header), Bytes(sealed).subspan(header));
}

void check_opening(Input& input, const Message& message, const Buffer& plain, const Buffer& sealed,
                   const Buffer& given) {
  OpenOptions options;
  static_cast<TransferOptions&>(options) = any_options(input, message, Direction::decrypt);
  AnySource source(input, given, std::min(given.size(), message.header().size()));
  AnySink sink(input);
  Sink* const to = input.ConsumeBool() ? &sink.sink() : nullptr;
  const std::size_t shares =
      source.is_file() && (to == nullptr || sink.is_file()) ? number(input, 1, 4) : std::size_t{1};
  const bool intact = is_intact(message, sealed, given);
  bool refused = false;
  for (std::size_t i = 0; i < shares; ++i) {
    options.share = share_of(i, shares);
    refused |= throws<IntegrityError>([&] {
      const OpenResult result = open_message(source.source(), message, to, options);
      require(!intact || result.plain_bytes == plain.size());
    });
  }
  require(refused == !intact);
  require(is_part_of(plain, 0, sink));
  if (to != nullptr && intact) require(equal(sink.data(), plain));
}

void check_range(Input& input, const Message& message, const Buffer& plain, const Buffer& sealed,
                 const Buffer& given) {
  OpenOptions options;
  static_cast<TransferOptions&>(options) = any_options(input, message, Direction::decrypt);
  options.offset = number(input, 0, plain.size() + 2);
  if (input.ConsumeBool()) options.length = number(input, 0, plain.size() + 2);
  const bool fits =
      options.offset <= plain.size() && options.length.value_or(0) <= plain.size() - options.offset;
  support::RandomSource source(given);
  AnySink sink(input);
  const bool intact = is_intact(message, sealed, given);
  try {
    open_message(source, message, &sink.sink(), options);
    // Only the segments of the range are read.
    require(fits || !intact);
    const std::size_t bytes = static_cast<std::size_t>(
        options.length.value_or(intact ? plain.size() - options.offset : sink.data().size()));
    require(sink.data().size() == bytes);
    // Nothing is read for an empty range, which may then lie anywhere in a damaged message.
    require(bytes == 0 || is_at(plain, static_cast<std::size_t>(options.offset), sink.data()));
  } catch (const InvalidArgument&) {
    require(!fits && sink.data().empty());
  } catch (const IntegrityError&) {
    require(!intact);
    if (options.offset <= plain.size()) {
      require(is_part_of(plain, static_cast<std::size_t>(options.offset), sink));
    } else {
      require(sink.data().empty());
    }
  }
}

// Every byte outside the bad ranges is the plaintext's, and every byte in them is zero.
void check_salvaged(const Buffer& plain, const Buffer& data, const std::vector<BadRange>& bad) {
  std::uint64_t at = 0;
  const auto check_good = [&](std::uint64_t end) {
    require(at <= end && end <= data.size());
    if (at == end) return;  // perhaps behind the end of the plaintext
    require(is_at(
        plain, static_cast<std::size_t>(at),
        Bytes(data).subspan(static_cast<std::size_t>(at), static_cast<std::size_t>(end - at))));
  };
  for (const BadRange& range : bad) {
    check_good(range.offset);
    at = range.offset + range.bytes;
    require(at <= data.size());
    require(all_zero(Bytes(data).subspan(static_cast<std::size_t>(range.offset),
                                         static_cast<std::size_t>(range.bytes))));
  }
  check_good(data.size());
}

void check_salvage(Input& input, const Message& message, const Buffer& plain, const Buffer& sealed,
                   const Buffer& given) {
  std::vector<BadRange> bad;
  OpenOptions options;
  static_cast<TransferOptions&>(options) = any_options(input, message, Direction::decrypt);
  options.salvage = &bad;
  AnySource source(input, given, std::min(given.size(), message.header().size()));
  AnySink sink(input);
  const bool intact = is_intact(message, sealed, given);
  try {
    const OpenResult result = open_message(source.source(), message, &sink.sink(), options);
    require(intact == (bad.empty() && !result.truncated));
    check_salvaged(plain, sink.data(), bad);
  } catch (const IntegrityError&) {
    // There was no segment to save, or no segment at all.
    require(!intact && all_zero(sink.data()));
  }
}

}  // namespace
}  // namespace paraes::fuzz

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace paraes::fuzz;
  Input input(data, size);
  const AnyKernel kernel(input);
  const Derived derived = any_derived(input);
  const paraes::Message message(parts_of(derived),
                                kernel.execution(static_cast<int>(number(input, 1, 2))));
  const Buffer plain = any_text(input, derived, most_bytes);
  const Buffer sealed = joined(derived.header, seal_by_evp(derived, plain));
  const std::size_t what = number(input, 0, 3);
  if (what == 0) {
    check_sealing(input, message, plain, sealed);
    return 0;
  }
  Buffer given = sealed;
  damage(input, given);
  if (what == 1) check_opening(input, message, plain, sealed, given);
  if (what == 2) check_range(input, message, plain, sealed, given);
  if (what == 3) check_salvage(input, message, plain, sealed, given);
  return 0;
}
