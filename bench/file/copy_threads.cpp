#include "bench/file/copy_threads.hpp"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <vector>

#include "paraes/io.hpp"
#include "paraes/threads.hpp"
#include "src/core/chunk.hpp"

namespace paraes::bench {

void copy_with_threads(unsigned threads, const std::string& in, const std::string& out) {
  const FileSource source = FileSource::open(in);
  FileSink::Options options;
  options.modified = source.version().modified;
  FileSink sink(out, options);
  const std::uint64_t bytes = source.size();
  const std::uint64_t chunk_bytes = cpu_chunk_bytes(bytes);
  const std::uint64_t chunks = (bytes + chunk_bytes - 1) / chunk_bytes;
  std::vector<std::unique_ptr<IoBuffer>> buffers(threads);
  for_each_job(threads, chunks, [&](unsigned worker, std::uint64_t chunk) {
    std::unique_ptr<IoBuffer>& buffer = buffers[worker];
    if (!buffer) buffer = std::make_unique<IoBuffer>(chunk_bytes);
    const std::uint64_t begin = chunk * chunk_bytes;
    const auto n = static_cast<std::size_t>(std::min(chunk_bytes, bytes - begin));
    read_exactly(source, begin, buffer->span().first(n));
    sink.write_at(begin, buffer->span().first(n));
  });
  source.check_unchanged();
  sink.commit();
}

}  // namespace paraes::bench
