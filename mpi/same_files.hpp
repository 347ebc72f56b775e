// Whether the ranks of a command have the same files: names and inodes alone do not tell, because
// hosts may have copies. Sizes and offsets are in bytes.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "paraes/io.hpp"
#include "paraes/sha256.hpp"

namespace paraes::mpi {

// Says that a file is not that of rank 0, or cannot be opened here.
inline constexpr const char* same_files_advice =
    "; all ranks need the same file system, or --distribute scatter";

// A digest of samples of a file. Rank 0 draws the offsets anew each time, so that no defect can be
// chosen to lie between them. Copies that differ in a few places may have the same samples.
struct Samples {
  std::array<std::uint8_t, 32> nonce{};  // random: digests of two runs cannot be compared
  std::vector<std::uint64_t> offsets;
  Sha256::Digest digest{};
};

// Samples the first and the last 4 KiB of `source`, and a block of 4 KiB in each of 62 parts of
// equal size; all of a file of up to 256 KiB. Throws IoError if the file cannot be read or has
// become shorter.
[[nodiscard]] Samples take_samples(const PositionalSource& source);

// Whether `source`, which has the size of the file that was sampled, has the same samples. Throws
// IoError as take_samples does.
[[nodiscard]] bool has_samples(const PositionalSource& source, const Samples& samples);

// Random bytes that each other rank writes behind the end of an output, where rank 0 finds them:
// proof that both have the same file. Equal inodes are none. An overlay, for example, copies a file
// to a local disk when it is opened for writing, under its old inode number.
struct Tokens {
  std::array<std::uint8_t, 32> seed{};  // random
  std::uint64_t begin = 0;              // offset of the first one

  // Far enough apart that no two ranks write to one page.
  static constexpr std::uint64_t stride = std::uint64_t{64} << 10;
  [[nodiscard]] std::uint64_t offset(int rank) const noexcept {
    return begin + stride * static_cast<std::uint64_t>(rank - 1);
  }
  [[nodiscard]] Sha256::Digest token(int rank) const;
};

// The output of a command, on rank 0.
class SharedOutput {
 public:
  // `sink` writes the file `path`, which error messages call `name`, and will write at most
  // `max_bytes`. Makes it large enough for the tokens of `ranks` ranks at once. Otherwise, an NFS
  // client would not know of bytes that another host has written behind the end that it knows: if
  // it wrote to the same page, it would write zeros over them. Throws IoError.
  SharedOutput(const FileSink& sink, std::string path, std::string name, std::uint64_t max_bytes,
               int ranks);

  [[nodiscard]] const Tokens& tokens() const noexcept { return tokens_; }
  [[nodiscard]] const FileId& id() const noexcept { return id_; }

  // The first rank whose token is not in the file; 0 if there is none. Call it when all ranks have
  // written theirs. Throws IoError.
  [[nodiscard]] int find_missing() const;

  // Removes everything behind the first `bytes` bytes, which are the output. Throws IoError.
  void finish(std::uint64_t bytes) const;

 private:
  [[nodiscard]] SharedSink open_to_write() const;
  // Throws unless the file that was opened is that of the sink.
  void check(const FileId& found) const;

  std::string path_;
  std::string name_;
  int ranks_;
  Tokens tokens_;
  FileId id_;
};

}  // namespace paraes::mpi
