// The authenticated formats: paraes (the default), c2sp and tink. docs/formats.md specifies them.
//
// A Message represents one message under one key, to be encrypted or decrypted. new_*_message makes
// one from a key, and open_*_message from a key and the header of an existing message. It knows the
// position of each segment, and seals (encrypts) and opens (decrypts) segments. seal_message and
// open_message process a whole message from a source to a sink; seal_messages and open_messages
// process many small ones in memory at once. Sizes and offsets are in bytes. docs/cpp.md has
// examples.
//
// Every plaintext needs a new message. Two that are sealed as one message have the same key and
// nonces, which shows the XOR of both and lets anybody forge others.
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
#include "paraes/export.hpp"
#include "paraes/forks.hpp"
#include "paraes/io.hpp"
#include "paraes/phase_times.hpp"
#include "paraes/secret.hpp"
#include "paraes/segments.hpp"

namespace paraes {

// The derived key and nonces of one message. Secret. Whoever has them can seal and open its
// segments.
struct SegmentKey {
  SecretBytes key;  // 16 or 32 bytes
  std::array<std::uint8_t, 12> base_nonce{};
  SegmentCipher::Nonces nonces = SegmentCipher::Nonces::counted;
};

class PARAES_EXPORT Message {
 public:
  // Everything that defines a message except its cipher. Another process can make the same message
  // from it.
  struct Parts {
    std::vector<std::uint8_t> header;
    SegmentLayout layout;
    SegmentKey secret;
    bool commits = false;  // see commits()
    // The process that made the message; a child of it cannot seal it (WrongProcess).
    OwnerProcess owner = {};
  };
  // With the default, the cipher works on one thread: seal_message and open_message use several
  // all the same (TransferOptions::threads). Throws as SegmentCipher does.
  Message(Parts&& parts, const Execution& execution = {});
  // Copies the parts, so that what new_*_message and open_*_message return can be passed wherever a
  // Message is expected.
  Message(const Parts& parts, const Execution& execution = {});

  // The parts that define the message, and the layout of its segments.
  [[nodiscard]] const Parts& parts() const noexcept { return parts_; }
  [[nodiscard]] const SegmentLayout& layout() const noexcept { return parts_.layout; }
  // The bytes in front of segment 0.
  [[nodiscard]] Bytes header() const noexcept { return parts_.header; }
  // The cipher of the segments, and the size of its key in bits: 128 or 256.
  [[nodiscard]] const SegmentCipher& cipher() const noexcept { return cipher_; }
  [[nodiscard]] unsigned key_bits() const noexcept {
    return static_cast<unsigned>(8 * parts_.secret.key.size());
  }
  // Whether the header commits to the key, so that opening it detects a wrong key. If not, a wrong
  // key makes segment 0 fail to authenticate.
  [[nodiscard]] bool commits() const noexcept { return parts_.commits; }

 private:
  Parts parts_;
  SegmentCipher cipher_;
};

// ---- c2sp: c2sp.org/chunked-encryption, version 1 ----

inline constexpr std::size_t c2sp_header_bytes = 56;

// The layout of a message with this header size. Needs no key.
[[nodiscard]] PARAES_EXPORT SegmentLayout
c2sp_layout(std::uint64_t header_bytes = c2sp_header_bytes);

// For paraes; also the limit for the associated data of tink.
inline constexpr std::size_t max_context_bytes = 512;
// Leaves room for a preface, with which the context of a paraes message begins.
inline constexpr std::size_t max_c2sp_context_bytes = max_context_bytes + 32;

// key: 32 bytes (Cobblestone-256) or 16 (Cobblestone-128), uniformly random. context: at most
// max_c2sp_context_bytes; opening the message needs the same. Else InvalidArgument.
[[nodiscard]] PARAES_EXPORT Message::Parts new_c2sp_message(Bytes key, Bytes context = {});

// header: the first c2sp_header_bytes of the message. Throws WrongKey if the commitment does not
// match, IntegrityError if the header has another size, InvalidArgument as new_c2sp_message does.
[[nodiscard]] PARAES_EXPORT Message::Parts open_c2sp_message(Bytes header, Bytes key,
                                                             Bytes context = {});

// ---- paraes: a preface, then a c2sp message whose context begins with the preface ----

enum class Kdf : std::uint8_t {
  none = 0,        // the input key is a key
  scrypt = 1,      // scrypt derives it from a passphrase
  recipients = 2,  // it is in a slot, whose key an age file holds: see recipients.hpp
};

inline constexpr std::size_t max_wrap_bytes = std::size_t{1} << 18;

struct PARAES_EXPORT Preface {
  static constexpr std::size_t bytes = 32;

  Kdf kdf = Kdf::none;
  unsigned key_bits = 256;
  unsigned scrypt_log2n = 0;                // zero without scrypt
  std::array<std::uint8_t, 16> kdf_salt{};  // zero without scrypt
  std::size_t wrap_bytes = 0;               // zero without recipients

  // For a key of 16 or 32 bytes; any other size is InvalidArgument.
  [[nodiscard]] static Preface for_key(std::size_t key_bytes);
  // For a passphrase, with a new salt. key_bits: 128 or 256; scrypt_log2n: 1 to 40, else
  // InvalidArgument.
  [[nodiscard]] static Preface for_passphrase(unsigned key_bits, unsigned scrypt_log2n);

  // For recipients. key_bits: 128 or 256; age_file_bytes: at least 1, and at most as many as leave
  // room for a slot in max_wrap_bytes, else InvalidArgument.
  [[nodiscard]] static Preface for_recipients(unsigned key_bits, std::size_t age_file_bytes);

  // start: the first 32 bytes of the message. Throws IntegrityError, which names the wrong field.
  [[nodiscard]] static Preface parse(Bytes start);
  // The bytes that parse() reads.
  [[nodiscard]] std::array<std::uint8_t, bytes> encode() const;
  // The beginning of the message's context: encode(), with zero for wrap_bytes, so that another
  // wrap does not change the message.
  [[nodiscard]] std::array<std::uint8_t, bytes> context() const;
};

// The header of a message without recipients. With recipients, the wrap lies between the parts.
inline constexpr std::size_t paraes_header_bytes = Preface::bytes + c2sp_header_bytes;
inline constexpr unsigned default_scrypt_log2n = 17;
inline constexpr unsigned max_scrypt_log2n = 22;  // limit for messages from untrusted sources

// Whether `start` begins with the magic bytes of the paraes format. If it is shorter than these:
// whether they begin with `start`.
[[nodiscard]] PARAES_EXPORT bool looks_like_paraes(Bytes start) noexcept;

// Reads the header from the start of a message: preface, wrap, and the header of the c2sp message.
// If the source does not begin like a paraes message, or is shorter than a preface, returns what it
// has of the first paraes_header_bytes. Throws IntegrityError as Preface::parse does, and if the
// source ends within the header: for a source whose size is known, before it reads the wrap.
[[nodiscard]] PARAES_EXPORT std::vector<std::uint8_t> read_paraes_header(Source& source);

// Derives the input key of a preface with Kdf::scrypt. Needs 2^(scrypt_log2n + 10) bytes of memory
// while it runs: check scrypt_log2n of a preface from an untrusted source. Throws InvalidArgument
// for a preface without scrypt or with more than highest_scrypt_log2n (kdf.hpp), Error if there is
// too little memory.
[[nodiscard]] PARAES_EXPORT SecretBytes scrypt_input_key(const Preface& preface, Bytes passphrase);

// preface: one that Preface::parse can return. input_key: the key, the result of scrypt_input_key
// or, for recipients, a random one; preface.key_bits / 8 bytes. context: at most max_context_bytes.
// wrap: preface.wrap_bytes bytes, from make_wrap. Else InvalidArgument.
[[nodiscard]] PARAES_EXPORT Message::Parts new_paraes_message(const Preface& preface,
                                                              Bytes input_key, Bytes context = {},
                                                              Bytes wrap = {});
// Makes a message with a key of 16 or 32 bytes and Preface::for_key.
[[nodiscard]] PARAES_EXPORT Message::Parts new_paraes_message(Bytes key, Bytes context = {});

// header: preface, wrap, and the header of the c2sp message, as read_paraes_header returns them.
// input_key: as for new_paraes_message, or the result of open_slot. Throws WrongKey if the
// commitment does not match or the message needs a key of another size, IntegrityError if the
// header is damaged or has another size, InvalidArgument for a context that is too long.
[[nodiscard]] PARAES_EXPORT Message::Parts open_paraes_message(Bytes header, Bytes input_key,
                                                               Bytes context = {});

// ---- tink: Tink's AES-GCM-HKDF streaming AEAD ----

enum class TinkHash { sha1, sha256, sha512 };

struct TinkParameters {
  std::uint64_t segment_bytes = 1 << 20;  // of ciphertext, derived_key_bytes + 25 to 2^31 - 1
  std::size_t derived_key_bytes = 32;     // 16 or 32
  TinkHash hash = TinkHash::sha256;

  // The size of a message's header.
  [[nodiscard]] std::size_t header_bytes() const noexcept { return derived_key_bytes + 8; }
};

// The layout of a message with these parameters. Needs no key. Throws InvalidArgument for
// parameters out of range.
[[nodiscard]] PARAES_EXPORT SegmentLayout tink_layout(const TinkParameters& parameters);

// key: the input key, at least 16 bytes and at least derived_key_bytes. associated_data: at most
// max_context_bytes. Else InvalidArgument.
[[nodiscard]] PARAES_EXPORT Message::Parts new_tink_message(const TinkParameters& parameters,
                                                            Bytes key, Bytes associated_data = {});

// header: the first parameters.header_bytes() of the message. Throws IntegrityError if it has
// another size or its length byte has another value, InvalidArgument as new_tink_message does. A
// wrong key is detected only by opening segment 0.
[[nodiscard]] PARAES_EXPORT Message::Parts open_tink_message(const TinkParameters& parameters,
                                                             Bytes header, Bytes key,
                                                             Bytes associated_data = {});

// ---- Whole messages ----

// One of several processes that work on the same message.
struct Share {
  unsigned index = 0;
  unsigned count = 1;
};

struct TransferOptions {
  // Number of threads that compute; 0: as many as available_cores(). Each also reads and writes.
  int threads = 0;
  // False: reads one chunk, computes it on all threads and writes it, before the next one is read,
  // for measurements of each phase.
  bool overlap = true;
  // Called with the number of plaintext bytes done so far, by one thread at a time.
  std::function<void(std::uint64_t)> progress;
  // The message is cut into share.count contiguous ranges of segments; process the one with number
  // share.index. If count > 1, the source must be a PositionalSource and the sink a PositionalSink
  // or nullptr, and the share with index 0 writes the header. TransferResult::segments is then the
  // number of segments of this share; the other sizes of a result are those of the whole message.
  Share share;
  // If set, called instead of the message's cipher for the segments of one chunk, by one of
  // `workers` threads, numbered from 0. It may block, for example until another process has done
  // the work: meanwhile the other workers read, compute and write. Must set Segment::intact when
  // opening.
  std::function<void(unsigned worker, std::span<SegmentCipher::Segment> segments)> compute;
  unsigned workers = 0;
};

// The sizes of what was processed, and the busy time of each phase.
struct TransferResult {
  std::uint64_t plain_bytes = 0;
  std::uint64_t sealed_bytes = 0;
  std::uint64_t segments = 0;
  PhaseTimes times;
};

// On a GPU, a thread holds one of its streams from a call of PositionalSource::read_at to one of
// PositionalSink::write_at, which must therefore not wait for a cipher on the same GPU.
//
// Reads the rest of `source`, and writes the message's header and segments to `sink`. The caller
// commits the sink: an exception means that the output is incomplete. Several threads use a
// PositionalSource or a PositionalSink at any offset; other sources and sinks are used in order.
// Buffers take about 32 MiB in total, or twice the largest segment that the message really has, if
// that is more; with options.compute, every worker has buffers for one chunk. Throws IoError if a
// file changes while it is read, InvalidArgument if the plaintext has more segments than
// SegmentLayout::max_segments, and whatever source, sink and cipher throw.
PARAES_EXPORT TransferResult seal_message(Source& source, const Message& message, Sink& sink,
                                          const TransferOptions& options = {});

// A range of the plaintext that could not be authenticated.
struct BadRange {
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;
};

struct OpenOptions : TransferOptions {
  // The range of the plaintext to open; only its segments are read. Any other range than the whole
  // needs a PositionalSource. If the range ends after the plaintext that the size of the source
  // suggests: InvalidArgument if the last segment authenticates as the last one, so that the
  // message is whole, or with salvage; else BadSegment.
  std::uint64_t offset = 0;
  std::optional<std::uint64_t> length;  // to the end if not given
  // If set, segments that do not authenticate are written as zeros and listed here, in order. If
  // not, the first of them is a BadSegment exception. If share.count > 1 the list has the segments
  // of this share, in any order: see finish_salvage.
  std::vector<BadRange>* salvage = nullptr;
};

struct OpenResult : TransferResult {
  bool empty_last = false;   // see SegmentLayout::Extent
  std::uint64_t intact = 0;  // with salvage: the number of intact segments
  // With salvage: whether the size is not that of the message. Its end is missing, or other bytes
  // follow it.
  bool truncated = false;
};

// Sorts the bad ranges of all shares and joins adjacent ones. `result` must have the sum of all
// shares' `intact`. Throws IntegrityError if that is zero and the message does not commit to its
// key, which may be wrong then.
PARAES_EXPORT void finish_salvage(const Message& message, const OpenResult& result,
                                  std::vector<BadRange>& bad);

// Opens the message in `source` and writes its plaintext to `sink`; nullptr authenticates it only.
// A PositionalSource holds the message from offset 0 on; from any other source, the header has
// already been read. Segments are written only after they are authenticated. If IntegrityError is
// thrown, a sink that is no PositionalSink has received a correct but incomplete plaintext. It is
// also thrown for a message with more segments than SegmentLayout::max_segments; with salvage, what
// follows these is lost. Memory and errors as in seal_message.
PARAES_EXPORT OpenResult open_message(Source& source, const Message& message, Sink* sink,
                                      const OpenOptions& options = {});
PARAES_EXPORT OpenResult open_message(Source& source, const Message& message, Sink& sink,
                                      const OpenOptions& options = {});

// ---- The same plaintext under another key ----

// Opens the message `from` in `source` and seals its plaintext as the message `to`, which must have
// the same layout but for the size of its header (else InvalidArgument). Each worker opens a
// chunk and seals it in the same memory. Nothing of options.share and options.compute is used.
// Memory and errors as in open_message.
PARAES_EXPORT TransferResult reseal_message(PositionalSource& source, const Message& from,
                                            const Message& to, PositionalSink& sink,
                                            const TransferOptions& options = {});

// Writes `header`, and then the segments in `source` as they are. from: the layout of the message
// in the source. Checks only the size of the source: IntegrityError if no message has it. Uses only
// threads and progress of the options.
PARAES_EXPORT TransferResult replace_header(FileSource& source, const SegmentLayout& from,
                                            Bytes header, FileSink& sink,
                                            const TransferOptions& options = {});
// Replaces the header like replace_header, but opens each segment before it is written. Memory,
// errors and options are those of reseal_message.
PARAES_EXPORT TransferResult verify_and_replace_header(PositionalSource& source,
                                                       const Message& from, Bytes header,
                                                       PositionalSink& sink,
                                                       const TransferOptions& options = {});

// ---- Segments in memory ----

// Seals or opens consecutive segments of one message, from number `first` on. The text has whole
// segments; if `ends`, the last of them is the last one of the message, which may be shorter. The
// sealed text has segment_tag_bytes more for each segment, and the output has exactly the right
// size, else InvalidArgument. Input and output do not overlap; if there is only one segment, they
// may begin at the same byte. Nothing checks this. threads: 0 for as many as available_cores().
PARAES_EXPORT void seal_segments(const Message& message, std::uint64_t first, bool ends,
                                 Bytes plain, MutableBytes sealed, int threads = 0);
// If segments do not authenticate, `plain` is filled with zeros, and BadSegment names the first of
// them. IntegrityError if `ends` and the text cannot be the end of a message.
PARAES_EXPORT void open_segments(const Message& message, std::uint64_t first, bool ends,
                                 Bytes sealed, MutableBytes plain, int threads = 0);

// ---- Many small messages in memory ----

// One of many messages. `in` and `out` must not overlap, which nothing checks.
struct WholeMessage {
  const Message* message = nullptr;
  // To seal: the plaintext. To open: the sealed message, including its header.
  Bytes in;
  // To seal: layout().sealed_bytes(in.size()) bytes. To open: extent_of(in.size()).plain_bytes.
  MutableBytes out;
  // Set by the functions below if this message cannot be sealed or opened; `out` is all zero then.
  std::exception_ptr error;
};

// Seal and open all segments of all messages at once, which GPUs need to be fast: see
// SegmentCipher. A message that fails does not stop the others. An exception of the device is
// thrown, and all outputs are zero then.
PARAES_EXPORT void seal_messages(std::span<WholeMessage> list);
PARAES_EXPORT void open_messages(std::span<WholeMessage> list);

}  // namespace paraes
