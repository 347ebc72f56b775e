// Cobblestone-128 and -256 (c2sp.org/chunked-encryption): streaming, with the names of
// pyca/cryptography, and in one call.

#include <algorithm>
#include <array>
#include <memory>

#include "paraes/message_streams.hpp"
#include "paraes/recipients.hpp"
#include "python/native/common.hpp"

namespace paraes::python {
namespace {

template <std::size_t KeyBytes>
SecretBytes key_of(nb::handle object) {
  const Buffer key(object, "key");
  if (key.size() != KeyBytes) {
    throw InvalidArgument("key: Cobblestone-" + std::to_string(8 * KeyBytes) + " takes " +
                          std::to_string(KeyBytes) + " bytes, not " + std::to_string(key.size()));
  }
  return SecretBytes(key.bytes());
}

// Throws for a kernel, a device or a number of threads that cannot be used.
void check(const Execution& where, const SecretBytes& key) {
  const SegmentCipher tried(key.span(), std::array<std::uint8_t, 12>{},
                            SegmentCipher::Nonces::counted, where);
}

// Base class of encryptors and decryptors: one caller at a time, and an end.
class Streaming {
 private:
  // After a failure, nothing more of the message is released.
  template <class F>
  auto guarded(std::size_t bytes, const F& compute) {
    try {
      const WithoutGil released(bytes);
      return compute();
    } catch (...) {
      finalized_ = true;
      throw;
    }
  }

 public:
  nb::bytes update(AnyBuffer object) {
    const Buffer data(object, "data");
    const Turns::Turn turn = turns_.take();
    NewBytes out(output_bytes(data.bytes()));
    guarded(data.size(), [&] { process(data.bytes(), out.span()); });
    return out.take();
  }

  std::size_t update_into(AnyBuffer object, AnyBuffer buf) {
    const Buffer data(object, "data");
    const Buffer out(buf, "buf", Buffer::write);
    const Turns::Turn turn = turns_.take();
    const std::size_t bytes = output_bytes(data.bytes());
    check_room(out, bytes);
    const MutableBytes written = out.writable().first(bytes);
    check_overlap(data.bytes(), written, false);
    guarded(data.size(), [&] { process(data.bytes(), written); });
    return bytes;
  }

  nb::bytes finalize() {
    const Turns::Turn turn = turns_.take();
    check_open();
    finalized_ = true;
    NewBytes out(final_bytes());
    guarded(out.span().size(), [&] { finish(out.span()); });
    return out.take();
  }

 protected:
  explicit Streaming(const Execution& where) : use_(where) {}
  virtual ~Streaming() = default;

  [[nodiscard]] virtual bool seals() const noexcept = 0;
  [[nodiscard]] virtual std::size_t output_bytes_of(Bytes in) = 0;
  virtual void process(Bytes in, MutableBytes out) = 0;
  [[nodiscard]] virtual std::size_t final_bytes() = 0;
  virtual void finish(MutableBytes out) = 0;

  bool finalized_ = false;

 private:
  void check_open() const {
    if (finalized_) raise("AlreadyFinalized", "the context was finalized already");
    use_.check();
    if (seals()) owner_.check("an encryptor");
  }

  [[nodiscard]] std::size_t output_bytes(Bytes in) {
    check_open();
    return guarded(0, [&] { return output_bytes_of(in); });
  }

  Turns turns_;
  DeviceUse use_;
  OwnerProcess owner_;
};

template <std::size_t KeyBytes>
class Encryptor final : public Streaming {
 public:
  Encryptor(nb::handle key, nb::handle context, const Execution& where)
      : Streaming(where),
        stream_({new_c2sp_message(key_of<KeyBytes>(key).span(),
                                  context_of(context, max_c2sp_context_bytes)),
                 where},
                Direction::encrypt, where.threads) {}

 private:
  [[nodiscard]] std::size_t header_bytes() const noexcept {
    return has_header_ ? 0 : stream_.message().header().size();
  }
  bool seals() const noexcept override { return true; }
  std::size_t output_bytes_of(Bytes in) override {
    return header_bytes() + stream_.output_bytes(in.size());
  }
  void process(Bytes in, MutableBytes out) override { stream_.update(in, write_header(out)); }
  std::size_t final_bytes() override { return header_bytes() + stream_.final_bytes(); }
  void finish(MutableBytes out) override { stream_.finish(write_header(out)); }

  // Returns the rest of `out`.
  MutableBytes write_header(MutableBytes out) {
    const std::size_t bytes = header_bytes();
    std::copy_n(stream_.message().header().begin(), bytes, out.begin());
    has_header_ = true;
    return out.subspan(bytes);
  }

  SegmentStream stream_;
  bool has_header_ = false;
};

template <std::size_t KeyBytes>
class Decryptor final : public Streaming {
 public:
  Decryptor(nb::handle key, nb::handle context, const Execution& where)
      : Streaming(where),
        key_(key_of<KeyBytes>(key)),
        context_(context_of(context, max_c2sp_context_bytes)),
        where_(where) {
    check(where_, key_);
  }

 private:
  // Takes the header from the front of `in` and returns the rest.
  Bytes take_header(Bytes in) {
    if (stream_) return in;
    const std::size_t n = std::min(header_.size() - header_bytes_, in.size());
    std::copy_n(in.begin(), n, header_.begin() + static_cast<std::ptrdiff_t>(header_bytes_));
    header_bytes_ += n;
    if (header_bytes_ == header_.size()) {
      stream_.emplace(Message(open_c2sp_message(header_, key_.span(), context_), where_),
                      Direction::decrypt, where_.threads);
      key_ = SecretBytes();
    }
    return in.subspan(n);
  }

  bool seals() const noexcept override { return false; }
  std::size_t output_bytes_of(Bytes in) override {
    if (stream_) return stream_->output_bytes(in.size());
    const std::size_t missing = header_.size() - header_bytes_;
    if (in.size() <= missing) return 0;
    // All segments but the last have the same size.
    return (in.size() - missing) / (16384 + segment_tag_bytes) * 16384;
  }
  void process(Bytes in, MutableBytes out) override {
    const Bytes rest = take_header(in);
    if (stream_) stream_->update(rest, out);
  }
  std::size_t final_bytes() override {
    if (!stream_) throw IntegrityError("the message ends within its header");
    return stream_->final_bytes();
  }
  void finish(MutableBytes out) override { stream_->finish(out); }

  SecretBytes key_;
  std::vector<std::uint8_t> context_;
  Execution where_;
  std::array<std::uint8_t, c2sp_header_bytes> header_{};
  std::size_t header_bytes_ = 0;
  std::optional<SegmentStream> stream_;
};

// Whole messages and ranges of them, with one key and context.
template <std::size_t KeyBytes>
class OneShot {
 public:
  OneShot(nb::handle key, nb::handle context, const Execution& where)
      : use_(where),
        key_(key_of<KeyBytes>(key)),
        context_(context_of(context, max_c2sp_context_bytes)),
        where_(where) {
    check(where_, key_);
  }

  template <Direction direction>
  nb::bytes crypt(AnyBuffer object) {
    const Buffer data(object, "data");
    NewBytes out(output_bytes(direction, data.size()));
    process(direction, data.bytes(), out.span());
    return out.take();
  }
  template <Direction direction>
  std::size_t crypt_into(AnyBuffer object, AnyBuffer buf) {
    const Buffer data(object, "data");
    const Buffer out(buf, "buf", Buffer::write);
    check_size(out, output_bytes(direction, data.size()));
    check_overlap(data.bytes(), out.bytes(), false);
    process(direction, data.bytes(), out.writable());
    return out.size();
  }

  nb::bytes decrypt_range(AnyBuffer object, AnyInt begin, AnyInt bytes) {
    use_.check();
    const auto offset = size_of(begin, "offset");
    const auto length = size_of(bytes, "length");
    const Buffer data(object, "data");
    const SegmentLayout layout = c2sp_layout();
    const SegmentLayout::Extent extent = layout.extent_of(data.size());
    if (offset > extent.plain_bytes || length > extent.plain_bytes - offset) {
      throw InvalidArgument("the range ends after the " + std::to_string(extent.plain_bytes) +
                            " bytes of the plaintext");
    }
    NewBytes out(static_cast<std::size_t>(length));
    const WithoutGil released(data.size());
    const Message message = open_message(data.bytes());
    const std::uint64_t first = layout.segment_at(offset);
    const std::uint64_t last = std::min(
        layout.segment_at(length == 0 ? offset : offset + length - 1), extent.segments - 1);
    const bool ends = last + 1 == extent.segments;
    const std::uint64_t from = layout.sealed_offset(first);
    const std::uint64_t to = ends ? data.size() : layout.sealed_offset(last + 1);
    const Bytes sealed =
        data.bytes().subspan(static_cast<std::size_t>(from), static_cast<std::size_t>(to - from));
    SecretBytes plain(sealed.size() -
                      static_cast<std::size_t>(last + 1 - first) * segment_tag_bytes);
    open_segments(message, first, ends, sealed, plain.span(), where_.threads);
    const auto skipped = static_cast<std::size_t>(offset - layout.plain_offset(first));
    std::copy_n(plain.data() + skipped, out.span().size(), out.span().begin());
    return out.take();
  }

 private:
  [[nodiscard]] static std::size_t output_bytes(Direction direction, std::size_t bytes) {
    const SegmentLayout layout = c2sp_layout();
    return static_cast<std::size_t>(direction == Direction::encrypt
                                        ? layout.sealed_bytes(bytes)
                                        : layout.extent_of(bytes).plain_bytes);
  }

  [[nodiscard]] Message open_message(Bytes data) const {
    return {open_c2sp_message(data.first(std::min(data.size(), c2sp_header_bytes)), key_.span(),
                              context_),
            where_};
  }

  void process(Direction direction, Bytes data, MutableBytes out) const {
    use_.check();
    const WithoutGil released(data.size());
    if (direction == Direction::encrypt) {
      const Message message(new_c2sp_message(key_.span(), context_), where_);
      std::copy(message.header().begin(), message.header().end(), out.begin());
      seal_segments(message, 0, true, data, out.subspan(c2sp_header_bytes), where_.threads);
      return;
    }
    try {
      open_segments(open_message(data), 0, true, data.subspan(c2sp_header_bytes), out,
                    where_.threads);
    } catch (...) {
      secure_zero(out.data(), out.size());  // a wrong key is found before anything is written
      throw;
    }
  }

  DeviceUse use_;
  SecretBytes key_;
  std::vector<std::uint8_t> context_;
  Execution where_;
};

template <class T>
nb::class_<T> bind_keyed(nb::module_& m, const std::string& name, const std::string& text) {
  // The strings live as long as the module.
  nb::class_<T> made(m, name.c_str(), text.c_str());
  made.def(
      "__init__",
      [](T* self, AnyBuffer key, AnyBuffer context, AnyInt threads, std::string device,
         std::string kernel) {
        new (self) T(key, context, execution_of(threads, std::move(device), std::move(kernel)));
      },
      nb::arg("key"), nb::arg("context"), nb::kw_only(), nb::arg("threads") = 0,
      nb::arg("device") = "cpu", nb::arg("kernel") = "auto");
  return made;
}

template <class T>
void bind_streaming(nb::class_<T>& made) {
  made.def("update", &T::update, nb::arg("data"),
           "Returns the output of all segments that data completes.")
      .def("update_into", &T::update_into, nb::arg("data"), nb::arg("buf"),
           "Writes the same to buf, which does not overlap data and may have more bytes than "
           "needed. Returns how many were written.")
      .def("finalize", &T::finalize, "Ends the message and returns the rest of the output.");
}

template <std::size_t KeyBytes>
void bind_size(nb::module_& m) {
  const std::string bits = std::to_string(8 * KeyBytes);
  const std::string key = std::to_string(KeyBytes);
  const auto new_key = [] { return random_key(KeyBytes); };
  auto encryptor = bind_keyed<Encryptor<KeyBytes>>(
      m, "Cobblestone" + bits + "Encryptor",
      "Encrypts one message as Cobblestone-" + bits + R"( (c2sp.org/chunked-encryption).

key has )" +
          key + R"( random bytes. context, at most 544 bytes, is authenticated and not part of the
output: decryption needs the same. The output is 56 bytes longer than the plaintext, and 16 more for
each segment of 16 KiB. After finalize, calls raise AlreadyFinalized.)");
  encryptor.def_static("generate_key", new_key, "A random key.");
  bind_streaming(encryptor);
  auto decryptor = bind_keyed<Decryptor<KeyBytes>>(
      m, "Cobblestone" + bits + "Decryptor", "Decrypts one message of Cobblestone-" + bits + R"(.

update returns only what has been authenticated. The message is complete only when finalize has
returned. WrongKey, for a wrong key or context, and IntegrityError, for damaged or missing data, are
kinds of InvalidTag; after them, calls raise AlreadyFinalized.)");
  bind_streaming(decryptor);
  using Whole = OneShot<KeyBytes>;
  auto one_shot =
      bind_keyed<Whole>(m, "Cobblestone" + bits,
                        "Cobblestone-" + bits + R"( for whole messages in memory, on all cores.

One object may be used by any number of threads at once. buf has exactly the size of the result and
does not overlap data. Nothing is returned, and buf is all zero, unless all of data authenticates.)");
  one_shot.def_static("generate_key", new_key, "A random key.")
      .def("encrypt", &Whole::template crypt<Direction::encrypt>, nb::arg("data"),
           "Returns the message.")
      .def("encrypt_into", &Whole::template crypt_into<Direction::encrypt>, nb::arg("data"),
           nb::arg("buf"), "Writes the message to buf.")
      .def("decrypt", &Whole::template crypt<Direction::decrypt>, nb::arg("data"),
           "Returns the plaintext.")
      .def("decrypt_into", &Whole::template crypt_into<Direction::decrypt>, nb::arg("data"),
           nb::arg("buf"), "Writes the plaintext to buf.")
      .def("decrypt_range", &Whole::decrypt_range, nb::arg("data"), nb::arg("offset"),
           nb::arg("length"),
           "Returns `length` bytes of the plaintext from `offset` on. Authenticates only the "
           "segments "
           "that hold them. data is the whole message: an mmap, for example.");
}

}  // namespace

void bind_cobblestone(nb::module_& m) {
  bind_size<16>(m);
  bind_size<32>(m);
}

}  // namespace paraes::python
