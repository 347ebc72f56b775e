// The authenticated formats: paraes (the default), c2sp and tink. docs/formats.md has the bytes.
//
// A Message is one message under one key, about to be written or about to be read. It is made from
// keys, or from keys and the header of what was written, and says where segments lie and seals or
// opens them. seal_message and open_message send whole messages from a source to a sink;
// seal_messages and open_messages do many small ones in memory at once.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "paraes/ciphers.hpp"
#include "paraes/io.hpp"
#include "paraes/phase_times.hpp"
#include "paraes/secret.hpp"
#include "paraes/segments.hpp"

namespace paraes {

// What the segments of one message are sealed with: all that another process needs to do some of
// them. Secret.
struct SegmentKey {
  SecretBytes key;  // 16 or 32 bytes
  std::array<std::uint8_t, 12> base_nonce{};
  SegmentCipher::Nonces nonces = SegmentCipher::Nonces::counted;
};

class Message {
 public:
  // What a message is made of but its cipher. For formats, and for processes that share the work.
  struct Parts {
    std::vector<std::uint8_t> header;
    SegmentLayout layout;
    SegmentKey secret;
    bool commits = false;
  };
  Message(Parts parts, const Execution& execution);

  [[nodiscard]] const Parts& parts() const noexcept { return parts_; }
  [[nodiscard]] const SegmentLayout& layout() const noexcept { return parts_.layout; }
  [[nodiscard]] Bytes header() const noexcept { return parts_.header; }  // up to segment 0
  [[nodiscard]] const SegmentCipher& cipher() const noexcept { return cipher_; }
  [[nodiscard]] unsigned key_bits() const noexcept {
    return static_cast<unsigned>(8 * parts_.secret.key.size());
  }
  // Whether a wrong key shows in the header already. If not, it shows as a bad segment 0.
  [[nodiscard]] bool commits() const noexcept { return parts_.commits; }

 private:
  Parts parts_;
  SegmentCipher cipher_;
};

// ---- c2sp: c2sp.org/chunked-encryption, version 1 ----

inline constexpr std::size_t c2sp_header_bytes = 56;

// Where the segments lie behind a header of so many bytes. Needs no key.
[[nodiscard]] SegmentLayout c2sp_layout(std::uint64_t header_bytes = c2sp_header_bytes);

// key: 32 bytes (Cobblestone-256) or 16 (Cobblestone-128), uniformly random; else InvalidArgument.
// context: at most max_c2sp_context_bytes, and the same to open.
inline constexpr std::size_t max_context_bytes = 512;  // of paraes, and associated data of tink
inline constexpr std::size_t max_c2sp_context_bytes = max_context_bytes + 32;  // and a preface
[[nodiscard]] Message::Parts new_c2sp_message(Bytes key, Bytes context);

// header: the first c2sp_header_bytes of the message. Throws WrongKey if the commitment does not
// match, IntegrityError if the header is too short.
[[nodiscard]] Message::Parts open_c2sp_message(Bytes header, Bytes key, Bytes context);

// ---- paraes: a preface, then a c2sp message whose context begins with the preface ----

enum class Kdf : std::uint8_t { none = 0, scrypt = 1 };

struct Preface {
  static constexpr std::size_t bytes = 32;

  Kdf kdf = Kdf::none;
  unsigned key_bits = 256;
  unsigned scrypt_log2n = 0;                // zero without scrypt
  std::array<std::uint8_t, 16> kdf_salt{};  // zero without scrypt

  // For a key of 16 or 32 bytes; any other size is InvalidArgument.
  [[nodiscard]] static Preface for_key(std::size_t key_bytes);
  // For a passphrase, with a new salt. key_bits: 128 or 256; scrypt_log2n: 1 to 40.
  [[nodiscard]] static Preface for_passphrase(unsigned key_bits, unsigned scrypt_log2n);

  // Throws IntegrityError that says which field of the 32 bytes is wrong.
  [[nodiscard]] static Preface parse(Bytes start);
  [[nodiscard]] std::array<std::uint8_t, bytes> encode() const;
};

inline constexpr std::size_t paraes_header_bytes = Preface::bytes + c2sp_header_bytes;
inline constexpr unsigned default_scrypt_log2n = 17;
inline constexpr unsigned max_scrypt_log2n = 22;  // what readers should accept from strangers

// Whether `start` begins like a paraes message, or is as much of such a beginning as fits in it.
[[nodiscard]] bool looks_like_paraes(Bytes start) noexcept;

// The input key of a preface with Kdf::scrypt: 128 * 8 * 2^log2n bytes of memory and their time.
[[nodiscard]] SecretBytes scrypt_input_key(const Preface& preface, Bytes passphrase);

// context: at most max_context_bytes. input_key: the key itself, or what scrypt_input_key gave;
// preface.key_bits / 8 bytes.
[[nodiscard]] Message::Parts new_paraes_message(const Preface& preface, Bytes input_key,
                                                Bytes context);

// header: the first paraes_header_bytes of the message.
[[nodiscard]] Message::Parts open_paraes_message(Bytes header, Bytes input_key, Bytes context);

// ---- tink: Tink's AES-GCM-HKDF streaming AEAD ----

enum class TinkHash { sha1, sha256, sha512 };

struct TinkParameters {
  std::uint64_t segment_bytes = 1 << 20;  // of ciphertext: derived_key_bytes + 25 to 2^31 - 1
  std::size_t derived_key_bytes = 32;     // 16 or 32
  TinkHash hash = TinkHash::sha256;

  [[nodiscard]] std::size_t header_bytes() const noexcept { return derived_key_bytes + 8; }
};

// Where the segments lie: needs no key. Throws InvalidArgument for parameters out of range.
[[nodiscard]] SegmentLayout tink_layout(const TinkParameters& parameters);

// key: the input key, at least 16 bytes and at least derived_key_bytes.
[[nodiscard]] Message::Parts new_tink_message(const TinkParameters& parameters, Bytes key,
                                              Bytes associated_data);

// header: the first parameters.header_bytes() of the message. Throws IntegrityError if its length
// byte is another. A wrong key shows only in segment 0.
[[nodiscard]] Message::Parts open_tink_message(const TinkParameters& parameters, Bytes header,
                                               Bytes key, Bytes associated_data);

// ---- Whole messages ----

// A part of the work on a message, the rest of which others do.
struct Share {
  unsigned index = 0;
  unsigned count = 1;
};

struct TransferOptions {
  // How many threads read, compute and write; 0: every core that this process may use.
  int threads = 0;
  // Off: one chunk at a time is read, computed on all threads, and written, as the papers did.
  bool overlap = true;
  // Is told how many bytes of plaintext are done, by one thread at a time.
  std::function<void(std::uint64_t)> progress;
  // Of `count` contiguous runs of segments, the one with this index. With more than one, the source
  // is a PositionalSource, the sink a PositionalSink or none, and share 0 writes the header;
  // result.segments says how many this share did, the other numbers of a result are of the whole.
  Share share;
  // If set, does a run of segments in place of the message's cipher, in one of so many workers
  // (0 up to `workers`), and may take long: all of them read, wait for it, and write at once.
  std::function<void(unsigned worker, std::span<SegmentCipher::Segment> run)> compute;
  unsigned workers = 0;
};

struct TransferResult {
  std::uint64_t plain_bytes = 0;
  std::uint64_t sealed_bytes = 0;
  std::uint64_t segments = 0;
  PhaseTimes times;
};

// Reads all that `source` has left, and writes `message`'s header and segments to `sink`. The
// caller commits the sink: an exception means that the output is not whole. A source that is a
// PositionalSource, and a sink that is a PositionalSink, are used at any offset by several threads;
// others in order. Memory: a few MiB, or two segments if that is more. Throws IoError if a file
// shrinks or grows meanwhile.
TransferResult seal_message(Source& source, const Message& message, Sink& sink,
                            const TransferOptions& options = {});

// A stretch of plaintext that could not be authenticated.
struct BadRange {
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;
};

struct OpenOptions : TransferOptions {
  // A part of the plaintext; only its segments are read. Needs a PositionalSource.
  std::uint64_t offset = 0;
  std::optional<std::uint64_t> length;  // to the end if not given
  // If set, segments that do not authenticate become zeros, and are listed here in order; without
  // it the first of them is IntegrityError.
  // Of one share among others, unsorted: finish_salvage makes the list of the whole.
  std::vector<BadRange>* salvage = nullptr;
};

struct OpenResult : TransferResult {
  bool empty_last = false;  // see SegmentLayout::Extent
  // Of salvage: how many segments were intact, and whether the end is missing.
  std::uint64_t intact = 0;
  bool truncated = false;
};

// Puts the bad ranges of all shares in order, and joins those that touch. `result` is that of one
// share with the sum of `intact`, and `truncated` if one was. Throws IntegrityError if nothing was
// intact, and the message does not commit to its key.
void finish_salvage(const Message& message, const OpenResult& result, std::vector<BadRange>& bad);

// Opens the message that `source` holds and writes its plaintext to `sink`, or nowhere if that is
// nullptr. The source stands behind the header that `message` was opened with; a PositionalSource
// holds the message from its offset 0 on. No byte reaches the sink before its segment is
// authenticated; what a sink in order got before an IntegrityError is authentic, but not the whole.
OpenResult open_message(Source& source, const Message& message, Sink* sink,
                        const OpenOptions& options = {});

// ---- Many small messages in memory ----

// One of them. `in` and `out` do not overlap.
struct WholeMessage {
  const Message* message = nullptr;
  Bytes in;          // the plaintext; to open: all that was sealed, header included
  MutableBytes out;  // layout().sealed_bytes(in.size()), or extent_of(in.size()).plain_bytes
  // Set by the functions below: why there is no such message. `out` is all zero then.
  std::exception_ptr error;
};

// Seal and open what seal_message and open_message would, with all segments at once: see
// SegmentCipher. A message that fails does not stop the others; what the device throws fails all,
// and is thrown.
void seal_messages(std::span<WholeMessage> list);
void open_messages(std::span<WholeMessage> list);

}  // namespace paraes
