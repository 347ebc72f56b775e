// Source → stream → sink, chunk by chunk.

#include <algorithm>
#include <cstring>

#include "paraes/streams.hpp"
#include "src/core/stopwatch.hpp"

namespace paraes {
namespace {

// Large enough to keep all threads busy with few system calls; small enough to stay in the caches
// from the read to the write.
constexpr std::size_t max_chunk_bytes = std::size_t{4} << 20;
// For small files. If one grows while it is read, a smaller chunk would need many system calls.
constexpr std::size_t min_chunk_bytes = std::size_t{64} << 10;

}  // namespace

CopyResult copy_stream(Source& source, StreamTransform& stream, Sink& sink,
                       const CopyProgress& progress) {
  std::size_t wanted = max_chunk_bytes;
  if (const auto size = source.remaining()) {
    stream.check_length(*size);
    // One byte more than the file, so that the first read finds the end.
    wanted = static_cast<std::size_t>(
        std::clamp<std::uint64_t>(*size + 1, min_chunk_bytes, max_chunk_bytes));
  }
  const std::size_t granule = stream.granule();
  const std::size_t chunk = std::max<std::size_t>(wanted / granule, 1) * granule;
  constexpr std::size_t ahead = StreamTransform::lookahead;
  IoBuffer buffer(chunk + ahead + StreamTransform::growth);

  CopyResult result;
  std::size_t held = 0;  // bytes read ahead, at the start of the buffer
  for (;;) {
    const std::size_t missing = chunk + ahead - held;
    const std::size_t got = [&] {
      const Stopwatch watch(result.times.read);
      return source.read(buffer.span().subspan(held, missing));
    }();
    result.bytes_in += got;
    held += got;
    if (got < missing) break;
    {
      const Stopwatch watch(result.times.kernel);
      stream.update(buffer.span().first(chunk));
    }
    {
      const Stopwatch watch(result.times.write);
      sink.write(buffer.span().first(chunk));
    }
    result.bytes_out += chunk;
    std::memcpy(buffer.data(), buffer.data() + chunk, ahead);
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
