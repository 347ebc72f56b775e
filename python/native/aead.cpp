// AESGCM, with the names of pyca/cryptography.

#include <array>

#include "python/native/common.hpp"

namespace paraes::python {
namespace {

constexpr std::size_t tag_bytes = 16;
constexpr std::size_t least_nonce_bytes = 8;
constexpr std::size_t most_nonce_bytes = 128;

// An optional argument: None is no bytes.
class OptionalBuffer {
 public:
  OptionalBuffer(nb::handle object, const char* name) {
    if (!object.is_none()) buffer_.emplace(object, name);
  }
  [[nodiscard]] Bytes bytes() const noexcept { return buffer_ ? buffer_->bytes() : Bytes(); }

 private:
  std::optional<Buffer> buffer_;
};

[[noreturn, gnu::cold]] void refuse_nonce() {
  throw InvalidArgument("nonce: it has 8 to 128 bytes; 12 is the standard's recommendation");
}

[[noreturn, gnu::cold]] void refuse_tag(const std::string& text) { raise("InvalidTag", text); }

class AesGcm {
 public:
  AesGcm(nb::handle key, const Execution& where) : use_(where), gcm_(open(key, where)) {}

  template <Direction direction>
  nb::bytes crypt(AnyBuffer nonce, AnyBuffer data, AnyBuffer associated_data) {
    const Arguments arguments(nonce, data, associated_data);
    NewBytes out(arguments.output_bytes(direction));
    process(direction, arguments, out.span());
    return out.take();
  }

  template <Direction direction>
  std::size_t crypt_into(AnyBuffer nonce, AnyBuffer data, AnyBuffer associated_data,
                         AnyBuffer buf) {
    const Arguments arguments(nonce, data, associated_data);
    const Buffer out(buf, "buf", Buffer::write);
    check_size(out, arguments.output_bytes(direction));
    // The tag is written last, and where no input may be left.
    arguments.check_aliases(out.bytes());
    process(direction, arguments, out.writable());
    return out.size();
  }

  [[nodiscard]] std::string kernel() const { return std::string(gcm_.kernel()); }
  [[nodiscard]] std::string device() const { return gcm_.device(); }
  [[nodiscard]] int threads() const { return gcm_.threads(); }

 private:
  struct Arguments {
    Arguments(nb::handle nonce_object, nb::handle data_object, nb::handle associated_data_object)
        : nonce(nonce_object, "nonce"),
          data(data_object, "data"),
          associated_data(associated_data_object, "associated_data") {
      if (nonce.size() < least_nonce_bytes || nonce.size() > most_nonce_bytes) refuse_nonce();
    }
    [[nodiscard]] std::size_t output_bytes(Direction direction) const {
      if (direction == Direction::encrypt) return data.size() + tag_bytes;
      if (data.size() < tag_bytes) refuse_tag("the data is shorter than a tag");
      return data.size() - tag_bytes;
    }
    void check_aliases(Bytes out) const {
      if (overlap(nonce.bytes(), out) || overlap(associated_data.bytes(), out)) {
        throw InvalidArgument("buf: it must not overlap the nonce or the associated data");
      }
      check_overlap(data.bytes(), out, true);
    }

    Buffer nonce;
    Buffer data;
    OptionalBuffer associated_data;
  };

  static Gcm open(nb::handle object, const Execution& where) {
    const Buffer key(object, "key");
    if (key.size() != 16 && key.size() != 24 && key.size() != 32) {
      throw InvalidArgument("key: AES takes 16, 24 or 32 bytes, not " + std::to_string(key.size()));
    }
    return Gcm(key.bytes(), where);
  }

  void process(Direction direction, const Arguments& arguments, MutableBytes out) {
    use_.check();
    const Bytes in = arguments.data.bytes();
    if (direction == Direction::encrypt) {
      const WithoutGil released(in.size());
      gcm_.encrypt(arguments.nonce.bytes(), arguments.associated_data.bytes(), in,
                   out.first(in.size()), out.subspan(in.size()));
      return;
    }
    // A copy, because in place the data is overwritten.
    std::array<std::uint8_t, tag_bytes> tag;
    std::copy(in.end() - tag_bytes, in.end(), tag.begin());
    try {
      const WithoutGil released(in.size());
      gcm_.decrypt(arguments.nonce.bytes(), arguments.associated_data.bytes(), in.first(out.size()),
                   out, tag);
      return;
    } catch (const IntegrityError&) {
    }
    refuse_tag("the tag does not match: wrong key, nonce or associated data, or damaged data");
  }

  DeviceUse use_;
  Gcm gcm_;
};

nb::bytes generate_key(AnyInt length) {
  const std::int64_t bit_length = whole_number(length, "bit_length");
  if (bit_length != 128 && bit_length != 192 && bit_length != 256) {
    throw InvalidArgument("bit_length: it is 128, 192 or 256, not " + std::to_string(bit_length));
  }
  return random_key(static_cast<std::size_t>(bit_length / 8));
}

}  // namespace

void bind_aead(nb::module_& m) {
  nb::class_<AesGcm> made(m, "AESGCM", R"(AES-GCM (SP 800-38D) for messages in memory.

Made from a key of 16, 24 or 32 bytes. One object may be used by any number of threads at once.

Common to all methods:

- Arguments are objects with the buffer protocol: bytes, bytearray, memoryview, mmap, arrays of
  numpy. Their memory must be contiguous (BufferError) and must not change during the call. None
  stands for no associated data.
- A nonce has 8 to 128 bytes, best 12, and is never used twice under one key.
- data has at most 2**36 - 32 bytes. The result of encryption is 16 bytes longer than data: the tag
  comes last.
- buf must have exactly the size of the result. It may begin at the same byte as data (in place);
  otherwise the two must not overlap. The number of bytes written is returned.
- Errors are InvalidArgument (a ValueError) for a wrong size, TypeError for a wrong type, and
  InvalidTag if data does not authenticate. buf is then all zero.
- More than 2 KiB are processed without the GIL, and from 64 KiB on by several threads.)");
  made.def(
          "__init__",
          [](AesGcm* self, AnyBuffer key, AnyInt threads, std::string device, std::string kernel) {
            new (self) AesGcm(key, execution_of(threads, std::move(device), std::move(kernel)));
          },
          nb::arg("key"), nb::kw_only(), nb::arg("threads") = 0, nb::arg("device") = "cpu",
          nb::arg("kernel") = "auto",
          "threads: of the CPU, 0 for all cores. device: 'cpu', 'cuda:0', 'hip', 'opencl'. kernel: "
          "one of `paraes devices`.")
      .def_static("generate_key", generate_key, nb::arg("bit_length"),
                  "A random key of 128, 192 or 256 bits.")
      .def("encrypt", &AesGcm::crypt<Direction::encrypt>, nb::arg("nonce"), nb::arg("data"),
           nb::arg("associated_data").none(), "Returns the ciphertext and the tag.")
      .def("decrypt", &AesGcm::crypt<Direction::decrypt>, nb::arg("nonce"), nb::arg("data"),
           nb::arg("associated_data").none(), "Returns the plaintext of a ciphertext and its tag.")
      .def("encrypt_into", &AesGcm::crypt_into<Direction::encrypt>, nb::arg("nonce"),
           nb::arg("data"), nb::arg("associated_data").none(), nb::arg("buf"),
           "Writes the ciphertext and the tag to buf: 16 bytes more than data.")
      .def("decrypt_into", &AesGcm::crypt_into<Direction::decrypt>, nb::arg("nonce"),
           nb::arg("data"), nb::arg("associated_data").none(), nb::arg("buf"),
           "Writes the plaintext to buf: 16 bytes fewer than data.");
  bind_where(made);
}

}  // namespace paraes::python
