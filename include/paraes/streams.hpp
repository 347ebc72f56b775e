// The unauthenticated formats, raw and openssl, as streaming transforms. FORMATS.md ("raw",
// "openssl") has the bytes. Neither notices that data was changed: they exist for data that other
// programs made or will read.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>

#include "paraes/ciphers.hpp"
#include "paraes/io.hpp"
#include "paraes/phase_times.hpp"

namespace paraes {

enum class BlockMode { ecb, cbc, ctr, xts };

// One message on its way through a cipher, in place, in pieces of the caller's choice.
//
//   sizes      every piece but the last is a multiple of granule() bytes; the last has any size,
//              zero included, but at least lookahead bytes unless it is the only one. (So a caller
//              reads `lookahead` bytes ahead of what it hands on: what ends a message depends on
//              them.) copy_stream does all this.
//   aliasing   a piece is transformed where it stands.
//   errors     InvalidArgument if the message's length does not fit the mode when encrypting,
//              IntegrityError if it does not, or the padding is bad, when decrypting.
//   threads    one caller at a time; the work is spread as Execution says.
class StreamTransform {
 public:
  static constexpr std::size_t lookahead = 16;
  static constexpr std::size_t growth = 16;  // finish adds at most this many bytes

  virtual ~StreamTransform() = default;

  [[nodiscard]] virtual std::size_t granule() const noexcept = 0;

  // Throws what finish would throw for a message of `bytes` bytes: for callers that know the length
  // before they start.
  virtual void check_length(std::uint64_t bytes) const = 0;

  virtual void update(MutableBytes piece) = 0;

  // The last piece: `bytes` bytes at `data`, where there is room for `growth` more. Returns how
  // many bytes of output stand there. Call it once, after which the stream is done.
  virtual std::size_t finish(std::uint8_t* data, std::size_t bytes) = 0;

  [[nodiscard]] virtual const Cipher& cipher() const noexcept = 0;  // what runs it
};

struct RawOptions {
  BlockMode mode = BlockMode::ctr;
  Bytes key;                      // 16, 24 or 32 bytes; XTS: 32 or 64
  Bytes iv;                       // CBC, CTR: 16 bytes; ECB: none; XTS: 16, or none for zero
  bool padding = true;            // ECB, CBC: PKCS#7 (RFC 5652 section 6.3); else whole blocks only
  std::size_t unit_bytes = 4096;  // XTS: 16 bytes to 16 MiB
  Execution execution;
};

// --format raw: no header at all. ECB, CBC and CTR are byte for byte `openssl enc -K -iv`. Throws
// InvalidArgument for a key, IV or unit of a wrong size. The options need not outlive the call.
[[nodiscard]] std::unique_ptr<StreamTransform> raw_stream(Direction direction,
                                                          const RawOptions& options);

// --format openssl: what `openssl enc -pbkdf2` writes, a header and then the raw stream.
struct SaltedOptions {
  BlockMode mode = BlockMode::cbc;   // cbc or ctr
  unsigned key_bits = 256;           // 128, 192 or 256
  std::uint64_t iterations = 10000;  // of PBKDF2-HMAC-SHA-256
  Execution execution;
};

struct SaltedHeader {
  static constexpr std::size_t bytes = 16;  // "Salted__", then the salt

  std::array<std::uint8_t, 8> salt{};

  [[nodiscard]] static SaltedHeader random();
  // Throws IntegrityError unless `start` is 16 bytes that begin with "Salted__".
  [[nodiscard]] static SaltedHeader parse(Bytes start);
  [[nodiscard]] std::array<std::uint8_t, bytes> encode() const;
};

// Whether `start` begins with "Salted__".
[[nodiscard]] bool looks_salted(Bytes start) noexcept;

// What follows the header. Key and IV come from the passphrase and the header's salt.
[[nodiscard]] std::unique_ptr<StreamTransform> salted_stream(Direction direction,
                                                             const SaltedHeader& header,
                                                             Bytes passphrase,
                                                             const SaltedOptions& options);

struct CopyResult {
  std::uint64_t bytes_in = 0;
  std::uint64_t bytes_out = 0;
  PhaseTimes times;
};

// Is told after every piece how many bytes have been read from the source and written.
using CopyProgress = std::function<void(std::uint64_t bytes)>;

// Sends all that `source` has left through `stream` to `sink`, and leaves the commit to the caller:
// an exception means that the output is not whole.
CopyResult copy_stream(Source& source, StreamTransform& stream, Sink& sink,
                       const CopyProgress& progress = {});

}  // namespace paraes
