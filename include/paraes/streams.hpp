// The unauthenticated formats, raw and openssl, as streaming transforms; docs/formats.md specifies
// them. Neither detects changed data: use them only to exchange data with other programs.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string_view>

#include "paraes/ciphers.hpp"
#include "paraes/export.hpp"
#include "paraes/io.hpp"
#include "paraes/kdf.hpp"
#include "paraes/phase_times.hpp"

namespace paraes {

// The formats of files (--format), of which the first three are authenticated: messages.hpp.
inline constexpr std::array<std::string_view, 5> format_names = {"paraes", "c2sp", "tink", "raw",
                                                                 "openssl"};
inline constexpr std::size_t authenticated_formats = 3;

enum class BlockMode { ecb, cbc, ctr, xts };
inline constexpr std::array<std::string_view, 4> block_mode_names = {"ecb", "cbc", "ctr", "xts"};

// Encrypts or decrypts one message in place, in chunks that the caller chooses. copy_stream
// follows these rules for its caller.
//
//   sizes      Every chunk but the last is a multiple of granule() bytes. The last one has at least
//              least_last() bytes, because padding and ciphertext stealing may depend on them. A
//              message of one chunk may have any size, also zero.
//   alignment  Chunks need none.
//   errors     InvalidArgument if the mode cannot encrypt a message of this length; IntegrityError
//              if a ciphertext cannot have this length or its padding is wrong.
//   threads    One caller at a time; the work is spread over Execution::threads threads.
//   processes  In a child of the process that made it, encryption throws WrongProcess, and so does
//              CTR in both directions: see forks.hpp.
class PARAES_EXPORT StreamTransform {
 public:
  static constexpr std::size_t lookahead = 16;  // the most that least_last() returns
  static constexpr std::size_t growth = 16;     // maximum number of bytes that finish adds

  virtual ~StreamTransform() = default;

  // Chunks have a multiple of so many bytes, but for the last one.
  [[nodiscard]] virtual std::size_t granule() const noexcept = 0;

  // Throws what finish would throw for a message of `bytes` bytes. Callers that know the length can
  // check it before they start.
  virtual void check_length(std::uint64_t bytes) const = 0;

  // Transforms a chunk that is not the last one.
  virtual void update(MutableBytes chunk) = 0;

  // Transforms the last chunk, `bytes` bytes at `data`, in a buffer with room for `growth` more.
  // Returns the size of the output at `data`. Call it once; the object cannot be used afterwards.
  virtual std::size_t finish(std::uint8_t* data, std::size_t bytes) = 0;

  // The cipher of the mode.
  [[nodiscard]] virtual const Cipher& cipher() const noexcept = 0;

  // The least size of the last chunk of several.
  [[nodiscard]] virtual std::size_t least_last() const noexcept { return lookahead; }
};

struct RawOptions {
  BlockMode mode = BlockMode::ctr;
  Bytes key;                      // 16, 24 or 32 bytes; XTS: 32 or 64
  Bytes iv;                       // CBC, CTR: 16 bytes; ECB: none; XTS: first unit, 16 or none (0)
  bool padding = true;            // ECB, CBC: PKCS#7 (RFC 5652 section 6.3); else whole blocks only
  std::size_t unit_bytes = 4096;  // XTS: 16 bytes to 16 MiB
  Execution execution;
};

// --format raw: the mode's output without a header. ECB, CBC and CTR are byte for byte the output
// of `openssl enc -K -iv`. Throws InvalidArgument if the key, the IV or the data unit has a wrong
// size, and as the constructors of ciphers.hpp do. The options need not outlive the call.
[[nodiscard]] PARAES_EXPORT std::unique_ptr<StreamTransform> raw_stream(Direction direction,
                                                                        const RawOptions& options);

// How `openssl enc` makes a key of a passphrase: with -pbkdf2 or -iter, and without (see
// evp_bytes_to_key, which is weak).
enum class SaltedKdf { pbkdf2, evp };
inline constexpr std::array<std::string_view, 2> salted_kdf_names = {"pbkdf2", "evp"};

// Options of --format openssl: the output of `openssl enc`, a header followed by the raw format.
struct SaltedOptions {
  BlockMode mode = BlockMode::cbc;   // cbc or ctr
  unsigned key_bits = 256;           // 128, 192 or 256
  std::uint64_t iterations = 10000;  // of PBKDF2: 1 to 2^31 - 1
  Execution execution;
  SaltedKdf kdf = SaltedKdf::pbkdf2;
  Digest digest = Digest::sha256;  // -md
};

struct PARAES_EXPORT SaltedHeader {
  static constexpr std::size_t bytes = 16;  // "Salted__", then the salt

  std::array<std::uint8_t, 8> salt{};

  // A new salt. Throws Error if the system gives no random bytes.
  [[nodiscard]] static SaltedHeader random();
  // start: the first 16 bytes of the message. Throws NotSalted if they do not begin with
  // "Salted__", IntegrityError if there are not 16.
  [[nodiscard]] static SaltedHeader parse(Bytes start);
  // The bytes that parse() reads.
  [[nodiscard]] std::array<std::uint8_t, bytes> encode() const;
};

// Whether `start` begins with "Salted__", or with that in base64, as `openssl enc -a` writes it.
[[nodiscard]] PARAES_EXPORT bool looks_salted(Bytes start) noexcept;
[[nodiscard]] PARAES_EXPORT bool looks_salted_in_base64(Bytes start) noexcept;

// The bytes that another source has in base64 (RFC 4648 section 4), in lines of any length. read
// throws IntegrityError for anything else, and for an end within four characters.
class PARAES_EXPORT Base64Source : public Source {
 public:
  // `start`: characters that were read before those of `rest`.
  Base64Source(Bytes start, std::unique_ptr<Source> rest);
  ~Base64Source() override;
  Base64Source(const Base64Source&) = delete;
  Base64Source& operator=(const Base64Source&) = delete;

  std::size_t read(MutableBytes buffer) override;
  [[nodiscard]] std::optional<std::uint64_t> remaining() const override { return std::nullopt; }
  void cancel() noexcept override { rest_->cancel(); }
  void check_unchanged() const override { rest_->check_unchanged(); }
  Ready read_ready(MutableBytes buffer, std::size_t least) override;

 private:
  struct Decoder;

  // Decodes more characters; waits for `least` of them. False if none came, and more may come.
  bool decode_more(std::size_t least);

  std::unique_ptr<Source> rest_;
  std::unique_ptr<Decoder> decoder_;
};

// The transform of the data after the header. Derives key and IV from the passphrase and the salt.
// Throws InvalidArgument for options out of range, and as the constructors of ciphers.hpp do.
[[nodiscard]] PARAES_EXPORT std::unique_ptr<StreamTransform> salted_stream(
    Direction direction, const SaltedHeader& header, Bytes passphrase,
    const SaltedOptions& options);

// How many bytes were read and written, and the busy time of each phase.
struct CopyResult {
  std::uint64_t bytes_in = 0;
  std::uint64_t bytes_out = 0;
  PhaseTimes times;
};

// Called after every chunk with the number of source bytes processed so far, by one thread at a
// time, with growing numbers.
using CopyProgress = std::function<void(std::uint64_t bytes)>;

// Reads the rest of `source`, transforms it and writes it to `sink`, in chunks of up to 4 MiB or of
// one data unit if that is larger. The caller commits the sink: an exception means that the output
// is incomplete. Throws IoError if a file changes while it is read.
//
// If the stream has several threads and `overlap` is true, up to three threads read a chunk,
// transform another and write a third at the same time. Each of source, stream, sink and progress
// is called by one thread at a time, in the order of the chunks; source.cancel() by any. Where a
// pipe's writer pauses, the granules that are complete go on, but for least_last() bytes. After an
// exception, the source is cancelled. The times in the result include those of progress, as write.
PARAES_EXPORT CopyResult copy_stream(Source& source, StreamTransform& stream, Sink& sink,
                                     const CopyProgress& progress = {}, bool overlap = true);

}  // namespace paraes
