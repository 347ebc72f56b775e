// The native part of paraes.fsspec, paraes.objects and paraes.zarr: one secret for many messages,
// and segments of messages whose bytes somebody else fetches and stores.

#include <nanobind/stl/unique_ptr.h>

#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "paraes/kdf.hpp"
#include "paraes/message_streams.hpp"
#include "python/native/secrets.hpp"
#include "python/native/streams.hpp"

namespace paraes::python {
namespace {

// As signatures show them.
using AnyTuple = nb::typed<nb::tuple, nb::object, nb::ellipsis>;
using TwoNumbers = nb::typed<nb::tuple, int, int>;
using Unsealed = nb::typed<nb::tuple, nb::bytes, nb::bytes, int>;

[[nodiscard]] nb::bytes copied(Bytes bytes) {
  return nb::bytes(reinterpret_cast<const char*>(bytes.data()), bytes.size());
}

// Memory of this thread for text that is read. New memory for each piece would take as long as a
// part of the work.
thread_local std::unique_ptr<IoBuffer> piece;

[[nodiscard]] MutableBytes piece_memory(std::size_t size) {
  if (!piece || piece->size() < size) piece = std::make_unique<IoBuffer>(size);
  return piece->span().first(size);
}

// Overwrites it in the end, if it has plaintext.
class ZeroedPiece {
 public:
  explicit ZeroedPiece(bool has_plaintext) : has_plaintext_(has_plaintext) {}
  ~ZeroedPiece() {
    if (has_plaintext_ && piece) secure_zero(piece->data(), piece->size());
  }
  ZeroedPiece(const ZeroedPiece&) = delete;
  ZeroedPiece& operator=(const ZeroedPiece&) = delete;

 private:
  bool has_plaintext_;
};

// Some segments of a message, and where a source has their bytes.
struct SegmentsOf {
  const Message& message;
  const PositionalSource& source;
  std::uint64_t offset;  // in the source, of the first of them
  std::uint64_t bytes;
  std::uint64_t first;
  std::uint64_t after;
  bool ends;  // with the last segment
};

void crypt(Direction direction, const Message& message, std::uint64_t first, bool ends, Bytes in,
           MutableBytes out, int threads) {
  if (direction == Direction::encrypt) {
    seal_segments(message, first, ends, in, out, threads);
  } else {
    open_segments(message, first, ends, in, out, threads);
  }
}

// Seals or opens them, a few at a time, while they are in the cache of the core that has read them.
// False if the source ends before.
[[nodiscard]] bool crypt(Direction direction, const SegmentsOf& part, MutableBytes out,
                         int threads) {
  constexpr std::uint64_t piece_bytes = std::uint64_t{256} << 10;
  const SegmentLayout& layout = part.message.layout();
  const std::uint64_t at_once = std::max<std::uint64_t>(1, piece_bytes / layout.segment_bytes);
  const bool seals = direction == Direction::encrypt;
  // Where a segment begins in a text of so many bytes that begins with the first.
  const auto place = [&](std::uint64_t index, bool sealed, std::uint64_t size) {
    if (index >= part.after) return size;
    return std::min(size, sealed ? layout.sealed_offset(index) - layout.sealed_offset(part.first)
                                 : layout.plain_offset(index) - layout.plain_offset(part.first));
  };
  const ZeroedPiece zeroed(seals);
  for (std::uint64_t index = part.first; index < part.after; index += at_once) {
    const std::uint64_t next = std::min(index + at_once, part.after);
    const std::uint64_t in = place(index, !seals, part.bytes);
    const auto size = static_cast<std::size_t>(place(next, !seals, part.bytes) - in);
    const MutableBytes text = piece_memory(size);
    if (part.source.read_at(part.offset + in, text) != size) return false;
    const auto begin = static_cast<std::size_t>(place(index, seals, out.size()));
    const auto end = static_cast<std::size_t>(place(next, seals, out.size()));
    const MutableBytes wanted = out.subspan(begin, end - begin);
    const bool ends = part.ends && next == part.after;
    crypt(direction, part.message, index, ends, text, wanted, threads);
  }
  return true;
}

// Everything that defines a message, with its key: another process can seal and open its segments.
[[nodiscard]] AnyTuple tuple_of(const Message::Parts& parts) {
  const SegmentLayout& layout = parts.layout;
  const SegmentKey& secret = parts.secret;
  return nb::make_tuple(
      copied(parts.header), copied(secret.key.span()), copied(secret.base_nonce),
      nb::make_tuple(layout.header_bytes, layout.first_bytes, layout.segment_bytes,
                     layout.max_segments, layout.last == SegmentLayout::Last::any,
                     secret.nonces == SegmentNonces::Kind::prefixed, parts.commits));
}

[[nodiscard]] Message::Parts parts_of(const AnyTuple& parts) {
  const Buffer header(parts[0], "header");
  const Buffer key(parts[1], "key");
  const Buffer nonce(parts[2], "nonce");
  const auto numbers = nb::cast<nb::tuple>(parts[3]);
  Message::Parts made;
  made.header.assign(header.bytes().begin(), header.bytes().end());
  made.layout = {
      .header_bytes = nb::cast<std::uint64_t>(numbers[0]),
      .first_bytes = nb::cast<std::uint64_t>(numbers[1]),
      .segment_bytes = nb::cast<std::uint64_t>(numbers[2]),
      .max_segments = nb::cast<std::uint64_t>(numbers[3]),
      .last = nb::cast<bool>(numbers[4]) ? SegmentLayout::Last::any : SegmentLayout::Last::shorter};
  made.secret.key = SecretBytes(key.bytes());
  if (nonce.size() != made.secret.base_nonce.size()) throw InvalidArgument("nonce: 12 bytes");
  std::copy_n(nonce.bytes().begin(), nonce.size(), made.secret.base_nonce.begin());
  made.secret.nonces =
      nb::cast<bool>(numbers[5]) ? SegmentNonces::Kind::prefixed : SegmentNonces::Kind::counted;
  made.commits = nb::cast<bool>(numbers[6]);
  return made;
}

// The segments of a message on the CPU. Any number of threads may use one at once.
class Segments {
 public:
  Segments(Message message, const Execution& where)
      : use_(where), message_(std::move(message)), threads_(where.threads) {}
  Segments(const AnyTuple& parts, AnyInt threads)
      : Segments(Message(parts_of(parts), on_threads(threads)), on_threads(threads)) {}

  [[nodiscard]] nb::bytes header() const { return copied(message_.header()); }
  [[nodiscard]] AnyTuple parts() const { return tuple_of(message_.parts()); }
  [[nodiscard]] std::uint64_t sealed_bytes(AnyInt plain) const {
    return message_.layout().sealed_bytes(size_of(plain, "plain_bytes"));
  }
  [[nodiscard]] std::uint64_t segments_of(AnyInt plain) const {
    return message_.layout().segments_of(size_of(plain, "plain_bytes"));
  }
  [[nodiscard]] TwoNumbers offsets(AnyInt index) const {
    const std::uint64_t segment = size_of(index, "segment");
    return nb::make_tuple(message_.layout().plain_offset(segment),
                          message_.layout().sealed_offset(segment));
  }
  [[nodiscard]] std::uint64_t segment_bytes() const noexcept {
    return message_.layout().segment_bytes;
  }

  // Seals or opens whole segments from number `first` on.
  template <Direction direction>
  void crypt_segments(AnyInt first, bool ends, AnyBuffer from, AnyBuffer to) const {
    constexpr bool seals = direction == Direction::encrypt;
    use_.check();
    const std::uint64_t segment = size_of(first, "first");
    const Buffer in(from, seals ? "plain" : "sealed");
    const Buffer out(to, seals ? "sealed" : "plain", Buffer::write);
    check_overlap(in.bytes(), out.bytes(), false);
    const WithoutGil released(in.size());
    crypt(direction, message_, segment, ends, in.bytes(), out.writable(), threads_);
  }

  // The segments from the first number to before the second, whose `bytes` bytes a file has at
  // `offset`. Reads a few at a time, so that these are still in the cache of the core that has read
  // them. False if the file ends before.
  template <Direction direction>
  [[nodiscard]] bool crypt_file(nb::handle file, AnyInt offset, AnyInt bytes, TwoNumbers segments,
                                bool ends, AnyBuffer output) const {
    use_.check();
    const std::string path = path_of(file);
    const std::uint64_t in_begin = size_of(offset, "offset");
    const std::uint64_t in_bytes = size_of(bytes, "bytes");
    const std::uint64_t first = size_of(segments[0], "first");
    const std::uint64_t after = size_of(segments[1], "after");
    const Buffer buffer(output, "out", Buffer::write);
    const nb::gil_scoped_release released;
    const FileSource source(path);
    return crypt(direction, {message_, source, in_begin, in_bytes, first, after, ends},
                 buffer.writable(), threads_);
  }

  // A keyed hash of the plaintext of sealed segments, from number `first` on: HMAC-SHA-512 of their
  // tags, cut to 32 bytes, under a key derived from that of the message. Under one nonce, two
  // plaintexts have the same tag with a probability of at most 2^-100 for who does not know the
  // key (SP 800-38D, appendix B).
  [[nodiscard]] nb::bytes fingerprint(AnyInt first, AnyBuffer sealed) const {
    const SegmentLayout& layout = message_.layout();
    const std::uint64_t from = size_of(first, "first");
    const Buffer text(sealed, "sealed");
    const Bytes bytes = text.bytes();
    std::vector<std::uint8_t> tags;
    for (unsigned shift = 64; shift != 0; shift -= 8) {
      tags.push_back(static_cast<std::uint8_t>(from >> (shift - 8)));
    }
    const std::uint64_t begin = layout.sealed_offset(from);
    for (std::uint64_t at = 0, next = from + 1; at < bytes.size(); ++next) {
      const std::uint64_t end =
          std::min<std::uint64_t>(layout.sealed_offset(next) - begin, bytes.size());
      if (end - at < segment_tag_bytes) throw InvalidArgument("sealed: it ends within a tag");
      tags.insert(tags.end(), bytes.begin() + static_cast<std::ptrdiff_t>(end - segment_tag_bytes),
                  bytes.begin() + static_cast<std::ptrdiff_t>(end));
      at = end;
    }
    return keyed_hash("paraes: fingerprints of the parts of an object, version 1", tags);
  }
  // A keyed hash of anything, under another derived key: shows who has the key of the message.
  [[nodiscard]] nb::bytes proof(AnyBuffer data) const {
    const Buffer text(data, "data");
    return keyed_hash("paraes: states of objects, version 1", text.bytes());
  }

  [[nodiscard]] std::uint64_t plain_bytes(AnyInt sealed) const {
    return message_.layout().extent_of(size_of(sealed, "sealed_bytes")).plain_bytes;
  }
  // Where the segment that has the byte `offset` of the plaintext ends, if it is a full one.
  [[nodiscard]] std::uint64_t segment_end(AnyInt offset) const {
    const SegmentLayout& layout = message_.layout();
    return layout.plain_offset(layout.segment_at(size_of(offset, "offset")) + 1);
  }
  [[nodiscard]] TwoNumbers sealed_range(AnyInt begin, AnyInt end, AnyInt sealed_bytes) const {
    const Range range = range_of(begin, end, sealed_bytes);
    return nb::make_tuple(range.sealed_begin, range.sealed_end);
  }

  [[nodiscard]] nb::bytes open(AnyInt begin, AnyInt end, AnyInt sealed_bytes,
                               AnyBuffer object) const {
    use_.check();
    const Range range = range_of(begin, end, sealed_bytes);
    const Buffer sealed(object, "sealed");
    if (sealed.size() != range.sealed_end - range.sealed_begin) {
      throw IntegrityError("the segments have " + std::to_string(sealed.size()) + " bytes, not " +
                           std::to_string(range.sealed_end - range.sealed_begin));
    }
    NewBytes out(static_cast<std::size_t>(range.end - range.begin));
    const MutableBytes wanted = out.span();
    const std::uint64_t segments_begin = message_.layout().plain_offset(range.first);
    const auto skipped = static_cast<std::size_t>(range.begin - segments_begin);
    const auto opened = static_cast<std::size_t>(range.segments_end - segments_begin);
    const WithoutGil released(sealed.size());
    if (opened == wanted.size()) {
      open_segments(message_, range.first, range.ends, sealed.bytes(), wanted, threads_);
    } else {
      IoBuffer all(opened);
      open_segments(message_, range.first, range.ends, sealed.bytes(), all.span(), threads_);
      std::copy_n(all.data() + skipped, wanted.size(), wanted.begin());
      secure_zero(all.data(), all.size());
    }
    return out.take();
  }

 private:
  [[nodiscard]] nb::bytes keyed_hash(std::string_view label, Bytes data) const {
    std::array<std::uint8_t, 32> key = {};
    std::array<std::uint8_t, 32> out = {};
    hkdf_expand_sha512(message_.parts().secret.key.span(),
                       Bytes(reinterpret_cast<const std::uint8_t*>(label.data()), label.size()),
                       key);
    // One block of HKDF-Expand is HMAC of its input and a byte (RFC 5869 section 2.3).
    hkdf_expand_sha512(key, data, out);
    secure_zero(key.data(), key.size());
    return copied(out);
  }

  [[nodiscard]] static Execution on_threads(AnyInt threads) {
    return {.threads = number_of(threads, "threads", 0, std::numeric_limits<int>::max())};
  }

  // Part of the plaintext, and the segments that have it.
  struct Range {
    std::uint64_t begin = 0;
    std::uint64_t end = 0;
    std::uint64_t first = 0;
    std::uint64_t segments_end = 0;  // in the plaintext
    std::uint64_t sealed_begin = 0;
    std::uint64_t sealed_end = 0;
    bool ends = false;  // with the last segment, which shows where the message ends
  };

  [[nodiscard]] Range range_of(nb::handle begin, nb::handle end, nb::handle sealed_bytes) const {
    const SegmentLayout& layout = message_.layout();
    const std::uint64_t sealed_size = size_of(sealed_bytes, "sealed_bytes");
    const std::uint64_t size = layout.extent_of(sealed_size).plain_bytes;
    Range range;
    range.begin = size_of(begin, "begin");
    range.end = size_of(end, "end");
    if (range.begin > range.end || range.end > size) {
      throw InvalidArgument("begin, end: the plaintext has no bytes " +
                            std::to_string(range.begin) + " to " + std::to_string(range.end) +
                            ": it has " + std::to_string(size));
    }
    range.ends = range.end == size;
    range.first = layout.segment_at(range.begin);
    // A full segment may be the last but one, before an empty one.
    if (range.ends && range.begin == size && size != 0) range.first = layout.segment_at(size - 1);
    range.sealed_begin = layout.sealed_offset(range.first);
    range.segments_end = size;
    range.sealed_end = sealed_size;
    if (!range.ends) {
      const std::uint64_t after = layout.segment_at(std::max(range.end, range.begin + 1) - 1) + 1;
      range.segments_end = layout.plain_offset(after);
      range.sealed_end = layout.sealed_offset(after);
      // The last segment may be this one.
      if (range.segments_end >= size) {
        range.segments_end = size;
        range.sealed_end = sealed_size;
        range.ends = true;
      }
    }
    return range;
  }

  DeviceUse use_;
  Message message_;
  int threads_;
};

// A secret that seals or opens any number of messages. Any number of threads may use one at once.
class HeldSecret {
 public:
  HeldSecret(bool seals, const Options& options)
      : HeldSecret(Call(options, seals ? Role::seal : Role::open, "Secret")) {}

  [[nodiscard]] nb::bytes seal(AnyBuffer data, AnyBuffer context) const {
    use_.check();
    return seal_with(*secret_, where_, context_or_own(context), data);
  }
  [[nodiscard]] nb::bytes unseal(AnyBuffer data, AnyBuffer context) const {
    use_.check();
    return unseal_with(*secret_, where_, context_or_own(context), data);
  }
  // The plaintext, the header and the size of the message in a regular file.
  [[nodiscard]] Unsealed unseal_file(nb::handle file, AnyBuffer context) const {
    use_.check();
    const std::string path = path_of(file);
    const std::vector<std::uint8_t> used = context_or_own(context);
    std::unique_ptr<PositionalSource> source;
    std::optional<Message> message;
    std::uint64_t plain_bytes = 0;
    {
      const nb::gil_scoped_release released;
      std::unique_ptr<Source> opened = open_input(path, *secret_, false);
      if (dynamic_cast<PositionalSource*>(opened.get()) == nullptr) {
        throw InvalidArgument(path + ": it is no regular file");
      }
      source.reset(static_cast<PositionalSource*>(opened.release()));
      message.emplace(secret_->open_header(*source, used).parts, where_);
      plain_bytes = message->layout().extent_of(source->size()).plain_bytes;
    }
    NewBytes out(static_cast<std::size_t>(plain_bytes));
    {
      const nb::gil_scoped_release released;
      read_all(*source, *message, out.span());
    }
    return nb::make_tuple(out.take(), copied(message->header()), source->size());
  }
  [[nodiscard]] nb::object open_reader(nb::object file) const {
    use_.check();
    return open_reader_with(*secret_, where_, std::move(file));
  }
  [[nodiscard]] nb::object open_writer(nb::object file, bool exclusive) const {
    use_.check();
    return open_writer_with(secret_, where_, std::move(file), exclusive);
  }
  [[nodiscard]] std::unique_ptr<Segments> new_segments(AnyBuffer context) const {
    use_.check();
    const std::vector<std::uint8_t> used = context_or_own(context);
    const nb::gil_scoped_release released;
    return std::make_unique<Segments>(Message(secret_->new_message(used), where_), where_);
  }
  [[nodiscard]] std::unique_ptr<Segments> segments(AnyBuffer object, AnyBuffer context) const {
    use_.check();
    const Buffer start(object, "start");
    const std::vector<std::uint8_t> used = context_or_own(context);
    const nb::gil_scoped_release released;
    StartSource source(start.bytes());
    return std::make_unique<Segments>(Message(secret_->open_header(source, used).parts, where_),
                                      where_);
  }

  void check_file(const std::string& path) const {
    const nb::gil_scoped_release released;
    struct stat status = {};
    if (stat(path.c_str(), &status) != 0) return;
    secret_->check_not_secret(status, path);
    if (S_ISREG(status.st_mode)) secret_->check_contents(path);
  }

  // Whether the size of a header is in its first 32 bytes, and not the same for all messages.
  [[nodiscard]] bool header_varies() const noexcept { return secret_->has_recipients(); }
  [[nodiscard]] std::uint64_t header_bytes(AnyBuffer start) const {
    return layout(start).header_bytes;
  }
  [[nodiscard]] std::uint64_t plain_bytes(AnyInt sealed, AnyBuffer start) const {
    return layout(start).extent_of(size_of(sealed, "sealed_bytes")).plain_bytes;
  }

 private:
  void read_all(const PositionalSource& source, const Message& message, MutableBytes out) const {
    const SegmentLayout& layout = message.layout();
    const std::uint64_t begin = layout.sealed_offset(0);
    const std::uint64_t segments = layout.extent_of(source.size()).segments;
    const SegmentsOf all{message, source, begin, source.size() - begin, 0, segments, true};
    if (!crypt(Direction::decrypt, all, out, where_.threads)) {
      throw IntegrityError("the file became shorter while it was read");
    }
  }

  explicit HeldSecret(const Call& call)
      : where_(call.where), use_(call.use), secret_(call.secret) {}

  [[nodiscard]] std::vector<std::uint8_t> context_or_own(nb::handle context) const {
    if (!context.is_none()) return context_of(context, max_context_bytes);
    const Bytes own = secret_->context();
    return {own.begin(), own.end()};
  }
  [[nodiscard]] SegmentLayout layout(nb::handle start) const {
    if (!header_varies()) return secret_->layout();
    const Buffer bytes(start, "start");
    if (bytes.size() < Preface::bytes) throw IntegrityError("the message ends within its header");
    const Preface preface = Preface::parse(bytes.bytes().first(Preface::bytes));
    return c2sp_layout(paraes_header_bytes + preface.wrap_bytes);
  }

  Execution where_;
  DeviceUse use_;
  std::shared_ptr<const MessageSecret> secret_;
};

}  // namespace

void bind_objects(nb::module_& m) {
  nb::class_<Segments>(m, "Segments", "The segments of a message.")
      .def(nb::init<AnyTuple, AnyInt>(), nb::arg("parts"), nb::arg("threads"))
      .def_prop_ro("header", &Segments::header)
      .def("parts", &Segments::parts,
           "All that another process needs to make the same object: also the key of the message.")
      .def("sealed_bytes", &Segments::sealed_bytes, nb::arg("plain_bytes"))
      .def("segments_of", &Segments::segments_of, nb::arg("plain_bytes"))
      .def("offsets", &Segments::offsets, nb::arg("segment"),
           "Where a segment begins in the plaintext and in the message.")
      .def_prop_ro("segment_bytes", &Segments::segment_bytes)
      .def("seal", &Segments::crypt_segments<Direction::encrypt>, nb::arg("first"), nb::arg("ends"),
           nb::arg("plain"), nb::arg("sealed"),
           "Seals whole segments from number `first` on, of which the last ends the message.")
      .def("open_into", &Segments::crypt_segments<Direction::decrypt>, nb::arg("first"),
           nb::arg("ends"), nb::arg("sealed"), nb::arg("plain"))
      .def("seal_file", &Segments::crypt_file<Direction::encrypt>, nb::arg("file"),
           nb::arg("offset"), nb::arg("bytes"), nb::arg("segments"), nb::arg("ends"),
           nb::arg("sealed"), "As seal, from a file. False if that ends before.")
      .def("open_file", &Segments::crypt_file<Direction::decrypt>, nb::arg("file"),
           nb::arg("offset"), nb::arg("bytes"), nb::arg("segments"), nb::arg("ends"),
           nb::arg("plain"))
      .def("fingerprint", &Segments::fingerprint, nb::arg("first"), nb::arg("sealed"),
           "A keyed hash of the plaintext of sealed segments, to compare with when they are sealed "
           "again.")
      .def("proof", &Segments::proof, nb::arg("data"),
           "A keyed hash of anything: shows who has the key of the message.")
      .def("plain_bytes", &Segments::plain_bytes, nb::arg("sealed_bytes"))
      .def("segment_end", &Segments::segment_end, nb::arg("offset"))
      .def("sealed_range", &Segments::sealed_range, nb::arg("begin"), nb::arg("end"),
           nb::arg("sealed_bytes"),
           "Where the segments of a range of the plaintext are in the message.")
      .def("open", &Segments::open, nb::arg("begin"), nb::arg("end"), nb::arg("sealed_bytes"),
           nb::arg("sealed"),
           "The range of the plaintext, from the bytes that sealed_range names.");
  nb::class_<HeldSecret>(m, "Secret", "A secret that seals or opens any number of messages.")
      .def(nb::init<bool, Options>(), nb::arg("seals"), nb::arg("options"))
      .def("seal", &HeldSecret::seal, nb::arg("data"), nb::arg("context").none() = nb::none())
      .def("unseal", &HeldSecret::unseal, nb::arg("data"), nb::arg("context").none() = nb::none())
      .def("unseal_file", &HeldSecret::unseal_file, nb::arg("file"), nb::arg("context").none(),
           "The plaintext, the header and the size of the message in a regular file.")
      .def("open_reader", &HeldSecret::open_reader, nb::arg("file"),
           nb::sig("def open_reader(self, file: object) -> PlainReader | StreamReader"))
      .def("open_writer", &HeldSecret::open_writer, nb::arg("file"), nb::arg("exclusive"),
           nb::sig("def open_writer(self, file: object, exclusive: bool) -> PlainWriter"))
      .def("segments", &HeldSecret::segments, nb::arg("start"),
           nb::arg("context").none() = nb::none(),
           "The message that begins with `start`, which has all of its header.")
      .def("new_segments", &HeldSecret::new_segments, nb::arg("context").none() = nb::none(),
           "A new message.")
      .def("check_file", &HeldSecret::check_file, nb::arg("path"),
           "Raises InvalidArgument if the file exists and holds the secret.")
      .def_prop_ro("header_varies", &HeldSecret::header_varies,
                   "Whether header_bytes and plain_bytes need the first 32 bytes of a message.")
      .def("header_bytes", &HeldSecret::header_bytes, nb::arg("start").none() = nb::none())
      .def("plain_bytes", &HeldSecret::plain_bytes, nb::arg("sealed_bytes"),
           nb::arg("start").none() = nb::none());
}

}  // namespace paraes::python
