// Fuzzes the format raw: ECB, CBC, CTR and XTS, with padding and without, are OpenSSL's for any
// parts in which a text arrives, and lengths or padding that are none are refused. The parts come
// from the caller, or from a file or a pipe through copy_stream.

#include <optional>

#include "paraes/error.hpp"
#include "paraes/streams.hpp"
#include "tests/fuzz/any_message.hpp"
#include "tests/fuzz/transfer.hpp"
#include "tests/support/evp_oracle.hpp"

namespace paraes::fuzz {
namespace {

struct Case {
  Direction direction = Direction::encrypt;
  RawOptions options;
  Buffer key;
  Buffer iv;
};

void fill(Input& input, Case& made, const Execution& execution) {
  RawOptions& options = made.options;
  made.direction = input.ConsumeBool() ? Direction::encrypt : Direction::decrypt;
  options.mode = one_of(input, {BlockMode::ecb, BlockMode::cbc, BlockMode::ctr, BlockMode::xts});
  const bool xts = options.mode == BlockMode::xts;
  made.key = take(input, 8 * (xts ? (input.ConsumeBool() ? 4 : 8) : number(input, 2, 4)));
  made.key[0] = static_cast<std::uint8_t>(~made.key[made.key.size() / 2]);  // halves differ
  if (options.mode != BlockMode::ecb) made.iv = take(input, 16);
  options.key = made.key;
  options.iv = made.iv;
  options.padding = input.ConsumeBool();
  options.unit_bytes = one_of<std::size_t>(input, {16, 17, 512, 4096, 66000});
  options.execution = execution;
}

bool pads(const Case& given) {
  const BlockMode mode = given.options.mode;
  return given.options.padding && (mode == BlockMode::ecb || mode == BlockMode::cbc);
}

Buffer by_evp(const Case& given, const Buffer& in) {
  switch (given.options.mode) {
    case BlockMode::ecb:
      return support::evp_ecb(given.direction, given.key, in);
    case BlockMode::cbc:
      return support::evp_cbc(given.direction, given.key, given.iv, in);
    case BlockMode::ctr:
      return support::evp_ctr(given.key, given.iv, in);
    case BlockMode::xts:
      break;
  }
  return support::evp_xts(given.direction, given.key, given.iv, given.options.unit_bytes, in);
}

// PKCS#7.
void pad(Buffer& text) {
  const std::size_t n = 16 - text.size() % 16;
  text.insert(text.end(), n, static_cast<std::uint8_t>(n));
}

bool unpad(Buffer& text) {
  const std::size_t n = text.back();
  if (n == 0 || n > 16) return false;
  const auto start = text.end() - static_cast<std::ptrdiff_t>(n);
  if (std::any_of(start, text.end(), [&](std::uint8_t b) { return b != n; })) return false;
  text.erase(start, text.end());
  return true;
}

// Nothing if the mode has no such message.
std::optional<Buffer> expected_of(const Case& given, Buffer in) {
  const bool encrypting = given.direction == Direction::encrypt;
  if (pads(given) && encrypting) pad(in);
  const bool blocks = given.options.mode == BlockMode::ecb || given.options.mode == BlockMode::cbc;
  if (blocks && in.size() % 16 != 0) return std::nullopt;
  if (given.options.mode == BlockMode::xts && in.size() < 16) return std::nullopt;
  if (pads(given) && in.empty()) return std::nullopt;
  Buffer out = by_evp(given, in);
  if (pads(given) && !encrypting && !unpad(out)) return std::nullopt;
  return out;
}

// In parts of the caller's. Up to the last one they are multiples of granule(), and the last has at
// least `lookahead` bytes.
Buffer in_any_parts(Input& input, StreamTransform& stream, const Buffer& in) {
  Buffer out;
  const std::size_t granule = stream.granule();
  std::size_t at = 0;
  for (std::size_t cuts = number(input, 0, 4); cuts != 0; --cuts) {
    const std::size_t free = in.size() - at;
    if (free < granule + StreamTransform::lookahead) break;
    const std::size_t n = number(input, 0, (free - StreamTransform::lookahead) / granule) * granule;
    ExactBuffer chunk(Bytes(in).subspan(at, n), number(input, 0, 63));
    stream.update(chunk.span());
    out = joined(out, chunk.span());
    at += n;
  }
  Buffer last(in.begin() + static_cast<std::ptrdiff_t>(at), in.end());
  const std::size_t bytes = last.size();
  last.resize(bytes + StreamTransform::growth);
  last.resize(stream.finish(last.data(), bytes));
  return joined(out, last);
}

Buffer copied(Input& input, StreamTransform& stream, const Buffer& in) {
  AnySource source(input, in);
  AnySink sink(input);
  std::uint64_t done = 0;
  const CopyResult result = copy_stream(source.source(), stream, sink.sink(),
                                        rising(done, in.size()), input.ConsumeBool());
  require(done == in.size() && result.bytes_in == in.size());
  require(result.bytes_out == sink.data().size());
  return sink.data();
}

template <class Action>
bool refuses_in(Direction direction, const Action& action) {
  return direction == Direction::encrypt ? throws<InvalidArgument>(action)
                                         : throws<IntegrityError>(action);
}

}  // namespace

void fuzz(Input& input) {
  const AnyKernel kernel(input);
  Case given;
  fill(input, given, kernel.execution(static_cast<int>(number(input, 1, 2))));
  // OpenSSL takes a call for each data unit.
  const bool small_units = given.options.mode == BlockMode::xts && given.options.unit_bytes < 512;
  Buffer in = text(input, size_of_text(input, small_units ? 5000 : 200000));
  // A text that was encrypted has good padding.
  if (given.direction == Direction::decrypt && input.ConsumeBool()) {
    given.direction = Direction::encrypt;
    in = expected_of(given, in).value_or(in);
    given.direction = Direction::decrypt;
  }
  const std::optional<Buffer> expected = expected_of(given, in);
  const auto stream = raw_stream(given.direction, given.options);
  Buffer out;
  const bool refused = refuses_in(given.direction, [&] {
    out = input.ConsumeBool() ? in_any_parts(input, *stream, in) : copied(input, *stream, in);
  });
  require(refused == !expected);
  if (expected) require(out == *expected);
}

}  // namespace paraes::fuzz
