// Fuzzes rekeying: the segments of one message become those of another, which are OpenSSL's, or
// follow another header unchanged. A message that OpenSSL does not open whole is refused, and
// nothing is written but what belongs in the output. Without authentication, its size alone is
// checked.

#include "paraes/error.hpp"
#include "tests/fuzz/any_message.hpp"
#include "tests/fuzz/transfer.hpp"
#include "tests/support/evp_oracle.hpp"
#include "tests/support/temporary_folder.hpp"

namespace paraes::fuzz {
namespace {

// Another message whose segments lie alike.
Derived other_message(Input& input, const Derived& from) {
  Derived to = any_derived(input);
  to.is_tink = from.is_tink;
  to.first_bytes = from.first_bytes;
  to.segment_bytes = from.segment_bytes;
  to.max_segments = from.max_segments;
  return to;
}

// The output of a message whose segments become make(index, segment), with zeros for those that do
// not open.
template <class Make>
Buffer output_of(const Buffer& header, const Opened& opened, const Make& make) {
  Buffer output = header;
  for (std::size_t i = 0; i < opened.segments.size(); ++i) {
    const Opened::Segment& segment = opened.segments[i];
    output = joined(output,
                    segment.opens ? make(i, segment) : Buffer(segment.bytes + segment_tag_bytes));
  }
  return output;
}

Buffer resealed(const Opened& opened, const Derived& to) {
  return output_of(to.header, opened, [&](std::size_t i, const Opened::Segment& segment) {
    const support::Sealed sealed =
        support::evp_gcm_encrypt(to.key, nonce_of(to, i, i + 1 == opened.segments.size()), {},
                                 Bytes(opened.plain).subspan(segment.offset, segment.bytes));
    return joined(sealed.text, sealed.tag);
  });
}

Buffer copied(const Opened& opened, const Buffer& header, const Buffer& given) {
  return output_of(header, opened, [&](std::size_t i, const Opened::Segment& segment) {
    const Bytes sealed = Bytes(given).subspan(segment.offset + i * segment_tag_bytes,
                                              segment.bytes + segment_tag_bytes);
    return Buffer(sealed.begin(), sealed.end());
  });
}

// Zero or the expected byte in each place.
bool is_part_of(const Buffer& expected, const Buffer& data) {
  if (data.size() > expected.size()) return false;
  for (std::size_t i = 0; i < data.size(); ++i) {
    if (data[i] != 0 && data[i] != expected[i]) return false;
  }
  return true;
}

template <class Action>
void check(const Buffer& expected, bool intact, const Action& action) {
  support::RandomSink sink;
  require(throws<IntegrityError>([&] { action(sink); }) == !intact);
  require(intact ? equal(sink.data, expected) : is_part_of(expected, sink.data));
}

// Between files, where nothing is authenticated.
void check_copy(const Derived& from, const Buffer& header, const Buffer& given,
                const TransferOptions& options) {
  static const support::TemporaryFolder folder;
  const SegmentLayout layout = parts_of(from).layout;
  const std::string path = folder.write("old", joined(from.header, given));
  FileSource source = FileSource::open(path);
  const bool has_size = is_size_of_message(layout, source.size());
  FileSink sink(folder.path("new"), {.overwrite = true});
  const bool refused =
      throws<IntegrityError>([&] { replace_header(source, layout, header, sink, options); });
  require(refused == !has_size);
  if (refused) return;
  sink.commit();
  require(equal(folder.read("new"), joined(header, given)));
}

// Other segments are refused before anything is written.
void check_other_layout(PositionalSource& source, const Message& from, const Message& to) {
  SegmentLayout layout = to.layout();
  layout.header_bytes = from.layout().header_bytes;
  if (layout == from.layout()) return;
  support::RandomSink sink;
  require(throws<InvalidArgument>([&] { reseal_message(source, from, to, sink, {}); }));
  require(sink.data.empty());
}

}  // namespace

void fuzz(Input& input) {
  const AnyKernel kernel(input);
  const Derived from = any_derived(input);
  const Derived to = other_message(input, from);
  const Buffer plain = any_text(input, from, 200000);
  Buffer given = seal_by_evp(from, plain);
  damage(input, given);
  const Opened opened = open_by_evp(from, given);
  const Message old_message(parts_of(from), kernel.execution());
  const Message new_message(parts_of(to), kernel.execution());
  TransferOptions options;
  options.threads = static_cast<int>(number(input, 0, 4));
  options.overlap = input.ConsumeBool();
  support::RandomSource source(joined(from.header, given));
  std::uint64_t done = 0;
  options.progress = rising(done, opened.plain.size());
  const std::size_t what = number(input, 0, 15);  // files take longest
  if (what == 15) {
    check_copy(from, to.header, given, options);
  } else if (what == 14) {
    check_other_layout(source, old_message,
                       Message(parts_of(any_derived(input)), kernel.execution()));
  } else if (what < 8) {
    check(resealed(opened, to), opened.intact(),
          [&](auto& sink) { reseal_message(source, old_message, new_message, sink, options); });
  } else {
    check(copied(opened, to.header, given), opened.intact(), [&](auto& sink) {
      verify_and_replace_header(source, old_message, to.header, sink, options);
    });
  }
}

}  // namespace paraes::fuzz
