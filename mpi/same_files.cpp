#include "mpi/same_files.hpp"

#include <algorithm>
#include <string_view>
#include <utility>

#include "paraes/error.hpp"
#include "paraes/kdf.hpp"

namespace paraes::mpi {
namespace {

constexpr std::uint64_t sample_bytes = 4096;
constexpr std::uint64_t max_samples = 64;

std::string_view text_of(Bytes bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

std::vector<std::uint64_t> draw_offsets(std::uint64_t size) {
  std::vector<std::uint64_t> offsets;
  if (size <= max_samples * sample_bytes) {
    for (std::uint64_t at = 0; at < size; at += sample_bytes) offsets.push_back(at);
    return offsets;
  }
  constexpr std::uint64_t parts = max_samples - 2;
  const std::uint64_t blocks = size / sample_bytes;  // more than there are parts
  std::array<std::uint8_t, parts * sizeof(std::uint64_t)> random{};
  random_bytes(random);
  offsets.push_back(0);
  for (std::uint64_t part = 0; part < parts; ++part) {
    std::uint64_t number = 0;
    for (std::size_t i = 0; i < sizeof number; ++i) {
      number = number << 8U | random[part * sizeof number + i];
    }
    const std::uint64_t first = blocks * part / parts;
    const std::uint64_t next = blocks * (part + 1) / parts;
    offsets.push_back(sample_bytes * (first + number % (next - first)));
  }
  offsets.push_back(size - sample_bytes);
  return offsets;
}

Sha256::Digest digest_of(const PositionalSource& source, const Samples& samples) {
  Sha256 hash;
  hash.add_part(text_of(samples.nonce));
  std::array<std::uint8_t, sample_bytes> buffer{};
  for (const std::uint64_t offset : samples.offsets) {
    if (offset >= source.size()) throw Error("a sample lies behind the end of the file");
    const MutableBytes sample = MutableBytes(buffer).first(
        static_cast<std::size_t>(std::min(sample_bytes, source.size() - offset)));
    read_exactly(source, offset, sample);
    hash.add_part(text_of(sample));
  }
  return hash.digest();
}

}  // namespace

Samples take_samples(const PositionalSource& source) {
  Samples samples;
  random_bytes(samples.nonce);
  samples.offsets = draw_offsets(source.size());
  samples.digest = digest_of(source, samples);
  return samples;
}

bool has_samples(const PositionalSource& source, const Samples& samples) {
  return digest_of(source, samples) == samples.digest;
}

Sha256::Digest Tokens::token(int rank) const {
  Sha256 hash;
  hash.add_part(text_of(seed)).add_part(std::to_string(rank));
  return hash.digest();
}

SharedOutput::SharedOutput(const FileSink& sink, std::string path, std::string name,
                           std::uint64_t max_bytes, int ranks)
    : path_(std::move(path)), name_(std::move(name)), ranks_(ranks), id_(sink.id()) {
  random_bytes(tokens_.seed);
  tokens_.begin = (max_bytes + Tokens::stride - 1) / Tokens::stride * Tokens::stride;
  open_to_write().resize(tokens_.offset(ranks_));
}

SharedSink SharedOutput::open_to_write() const {
  SharedSink file(path_, name_);
  check(file.id());
  return file;
}

void SharedOutput::check(const FileId& found) const {
  if (found == id_) return;
  throw IoError(name_ + ": cannot write it: its temporary file " + path_ +
                    " was replaced; try again when no other process writes this file",
                0);
}

int SharedOutput::find_missing() const {
  // Opened again each time, because NFS then asks the server what other hosts have written.
  const FileSource file = FileSource::open(path_);
  check(file.version().id);
  for (int rank = 1; rank < ranks_; ++rank) {
    Sha256::Digest found{};
    const std::size_t n = file.read_at(tokens_.offset(rank), found);
    if (n != found.size() || found != tokens_.token(rank)) return rank;
  }
  return 0;
}

void SharedOutput::finish(std::uint64_t bytes) const { open_to_write().resize(bytes); }

}  // namespace paraes::mpi
