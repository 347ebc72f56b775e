// Source → stream → sink, one piece after another.

#include <algorithm>
#include <cstring>

#include "paraes/streams.hpp"
#include "src/core/stopwatch.hpp"

namespace paraes {
namespace {

// Large enough to keep every thread busy and the number of system calls small; small enough to
// stay in the caches between the read, the cipher and the write.
constexpr std::size_t most = std::size_t{4} << 20;
// What a small file gets, so that one that grows meanwhile is not read in crumbs.
constexpr std::size_t least = std::size_t{64} << 10;

}  // namespace

CopyResult copy_stream(Source& source, StreamTransform& stream, Sink& sink,
                       const CopyProgress& progress) {
  std::size_t wanted = most;
  if (const auto size = source.remaining()) {
    stream.check_length(*size);
    // One byte more, so that the first read shows the end.
    wanted = static_cast<std::size_t>(std::clamp<std::uint64_t>(*size + 1, least, most));
  }
  const std::size_t granule = stream.granule();
  const std::size_t piece = std::max<std::size_t>(wanted / granule, 1) * granule;
  constexpr std::size_t ahead = StreamTransform::lookahead;
  IoBuffer buffer(piece + ahead + StreamTransform::growth);

  CopyResult result;
  std::size_t held = 0;  // bytes read ahead, at the start of the buffer
  for (;;) {
    const std::size_t missing = piece + ahead - held;
    const std::size_t got = [&] {
      const Stopwatch watch(result.times.read);
      return source.read(buffer.span().subspan(held, missing));
    }();
    result.bytes_in += got;
    held += got;
    if (got < missing) break;
    {
      const Stopwatch watch(result.times.kernel);
      stream.update(buffer.span().first(piece));
    }
    {
      const Stopwatch watch(result.times.write);
      sink.write(buffer.span().first(piece));
    }
    result.bytes_out += piece;
    std::memcpy(buffer.data(), buffer.data() + piece, ahead);
    held = ahead;
    if (progress) progress(result.bytes_in);
  }
  source.check_unchanged();
  const std::size_t last = [&] {
    const Stopwatch watch(result.times.kernel);
    return stream.finish(buffer.data(), held);
  }();
  {
    const Stopwatch watch(result.times.write);
    sink.write(buffer.span().first(last));
  }
  result.bytes_out += last;
  if (progress) progress(result.bytes_in);
  return result;
}

}  // namespace paraes
