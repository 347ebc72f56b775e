// Contexts of ECB, CBC, CTR and XTS, as pyca/cryptography has them. paraes.ciphers makes them.

#include <algorithm>
#include <array>
#include <string_view>
#include <variant>

#include "paraes/secret.hpp"
#include "python/native/common.hpp"

namespace paraes::python {
namespace {

// A key that no Python object holds.
class AesKey {
 public:
  explicit AesKey(AnyBuffer object) {
    const Buffer key(object, "key");
    if (key.size() != 16 && key.size() != 24 && key.size() != 32 && key.size() != 64) {
      throw InvalidArgument(
          "key: AES takes 16, 24 or 32 bytes, and XTS 32 or 64 (two halves), not " +
          std::to_string(key.size()));
    }
    key_ = SecretBytes(key.bytes());
  }
  // AES of one key size, and not for XTS: 32 bytes could be the halves of AES-128, or AES-256.
  AesKey(nb::handle object, std::size_t bytes) : one_size_(true) {
    const Buffer key(object, "key");
    if (key.size() != bytes) {
      throw InvalidArgument("key: AES-" + std::to_string(8 * bytes) + " takes " +
                            std::to_string(bytes) + " bytes, not " + std::to_string(key.size()) +
                            "; algorithms.AES takes every size, and those of XTS");
    }
    key_ = SecretBytes(key.bytes());
  }

  [[nodiscard]] Bytes bytes() const noexcept { return key_.span(); }
  [[nodiscard]] bool one_size() const noexcept { return one_size_; }
  [[nodiscard]] std::size_t key_size() const noexcept { return 8 * key_.size(); }

 private:
  SecretBytes key_;
  bool one_size_ = false;
};

// One message: calls of update, then finalize.
class Context {
 public:
  Context(const AesKey& key, std::string_view mode, nb::handle iv, Direction direction,
          std::size_t unit_bytes, const Execution& where)
      : use_(where), direction_(direction), cipher_(open(key, mode, iv, unit_bytes, where)) {
    if (const auto* xts = std::get_if<Xts>(&cipher_); xts != nullptr) {
      const Buffer tweak(iv, "tweak");
      std::copy(tweak.bytes().begin(), tweak.bytes().end(), tweak_.begin());
    }
  }
  ~Context() { secure_zero(held_.data(), held_.size()); }

  nb::bytes update(AnyBuffer object) {
    const Buffer data(object, "data");
    const Turns::Turn turn = turns_.take();
    NewBytes out(output_bytes(data.size()));
    process(data.bytes(), out.span());
    return out.take();
  }

  std::size_t update_into(AnyBuffer object, AnyBuffer buf) {
    const Buffer data(object, "data");
    const Buffer out(buf, "buf", Buffer::write);
    const Turns::Turn turn = turns_.take();
    const std::size_t bytes = output_bytes(data.size());
    check_room(out, bytes);
    const MutableBytes written = out.writable().first(bytes);
    const bool in_place = held_bytes_ == 0 && data.bytes().data() == written.data();
    if (!in_place && overlap(data.bytes(), written)) refuse_overlap(true);
    process(data.bytes(), written);
    return bytes;
  }

  nb::bytes finalize() {
    const Turns::Turn turn = turns_.take();
    check_open();
    if (held_bytes_ != 0) {
      throw InvalidArgument(
          "the length of the data is not a multiple of 16 bytes, the block length "
          "(SP 800-38A section 5.2)");
    }
    finalized_ = true;
    return NewBytes(0).take();
  }

  void reset_nonce(AnyBuffer object) {
    const Buffer nonce(object, "nonce");
    const Turns::Turn turn = turns_.take();
    check_not_finalized();
    if (auto* cbc = std::get_if<Cbc>(&cipher_); cbc != nullptr) {
      cbc->reset(nonce.bytes());
      held_bytes_ = 0;
    } else if (auto* ctr = std::get_if<Ctr>(&cipher_); ctr != nullptr) {
      ctr->reset(nonce.bytes());
    } else {
      throw InvalidArgument("this mode has no nonce that can be reset");
    }
    owner_ = OwnerProcess();  // another message
  }

  [[nodiscard]] std::string kernel() const { return std::string(base().kernel()); }
  [[nodiscard]] std::string device() const { return base().device(); }
  [[nodiscard]] int threads() const { return base().threads(); }

 private:
  using AnyCipher = std::variant<Ecb, Cbc, Ctr, Xts>;

  static AnyCipher open(const AesKey& aes, std::string_view mode, nb::handle iv,
                        std::size_t unit_bytes, const Execution& execution) {
    const Bytes key = aes.bytes();
    if (mode == "XTS") {
      if (aes.one_size()) {
        throw nb::type_error("XTS takes a key of algorithms.AES, not of AES128 and AES256");
      }
      const Buffer tweak(iv, "tweak");
      if (tweak.size() != block_bytes) {
        throw InvalidArgument("tweak: it has 16 bytes, not " + std::to_string(tweak.size()));
      }
      return Xts(key, unit_bytes, execution);
    }
    if (key.size() == 64) {
      throw InvalidArgument("key: 64 bytes are for XTS; AES takes 16, 24 or 32");
    }
    if (mode == "ECB") return Ecb(key, execution);
    const Buffer start(iv, mode == "CBC" ? "initialization_vector" : "nonce");
    if (mode == "CBC") return Cbc(key, start.bytes(), execution);
    return Ctr(key, start.bytes(), execution);
  }

  [[nodiscard]] const Cipher& base() const {
    return std::visit([](const auto& cipher) -> const Cipher& { return cipher; }, cipher_);
  }

  void check_not_finalized() const {
    if (finalized_) raise("AlreadyFinalized", "the context was finalized already");
    use_.check();
  }
  void check_open() const {
    check_not_finalized();
    // The key stream of CTR would serve twice in either direction.
    if (direction_ == Direction::encrypt || std::holds_alternative<Ctr>(cipher_)) {
      owner_.check("a context");
    }
  }

  [[nodiscard]] bool in_blocks() const noexcept {
    return std::holds_alternative<Ecb>(cipher_) || std::holds_alternative<Cbc>(cipher_);
  }

  // The number of bytes that update writes for `bytes` bytes. Throws if it cannot take them.
  [[nodiscard]] std::size_t output_bytes(std::size_t bytes) const {
    check_open();
    if (std::holds_alternative<Xts>(cipher_) && updated_) {
      throw InvalidArgument("XTS takes all data in one call of update");
    }
    if (!in_blocks()) return bytes;
    return (held_bytes_ + bytes) / block_bytes * block_bytes;
  }

  void process(Bytes in, MutableBytes out) {
    const WithoutGil released(in.size());
    if (!in_blocks()) {
      if (std::holds_alternative<Xts>(cipher_) && in.empty()) return;
      crypt(in, out);
      updated_ = true;
      return;
    }
    if (held_bytes_ != 0) {
      const std::size_t n = std::min(block_bytes - held_bytes_, in.size());
      std::copy_n(in.begin(), n, held_.begin() + static_cast<std::ptrdiff_t>(held_bytes_));
      held_bytes_ += n;
      in = in.subspan(n);
      if (held_bytes_ == block_bytes) {
        crypt(held_, out.first(block_bytes));
        held_bytes_ = 0;
        out = out.subspan(block_bytes);
      }
    }
    const Bytes rest = in.subspan(out.size());
    crypt(in.first(out.size()), out);
    std::copy(rest.begin(), rest.end(), held_.begin() + static_cast<std::ptrdiff_t>(held_bytes_));
    held_bytes_ += rest.size();
  }

  void crypt(Bytes in, MutableBytes out) {
    const bool encrypts = direction_ == Direction::encrypt;
    if (auto* ecb = std::get_if<Ecb>(&cipher_); ecb != nullptr) {
      encrypts ? ecb->encrypt(in, out) : ecb->decrypt(in, out);
    } else if (auto* cbc = std::get_if<Cbc>(&cipher_); cbc != nullptr) {
      encrypts ? cbc->encrypt(in, out) : cbc->decrypt(in, out);
    } else if (auto* ctr = std::get_if<Ctr>(&cipher_); ctr != nullptr) {
      ctr->process(in, out);
    } else {
      Xts& xts = std::get<Xts>(cipher_);
      encrypts ? xts.encrypt(tweak_, in, out) : xts.decrypt(tweak_, in, out);
    }
  }

  Turns turns_;
  DeviceUse use_;
  OwnerProcess owner_;
  Direction direction_;
  AnyCipher cipher_;
  std::array<std::uint8_t, block_bytes> tweak_{};  // XTS
  std::array<std::uint8_t, block_bytes> held_{};   // ECB, CBC: the start of a block
  std::size_t held_bytes_ = 0;
  bool updated_ = false;
  bool finalized_ = false;
};

}  // namespace

void bind_ciphers(nb::module_& m) {
  nb::class_<AesKey>(m, "AES", R"(An AES key of 16, 24 or 32 bytes; for XTS 32 or 64: two halves.

The object keeps the only copy of the key, which repr and pickle do not show.)")
      .def(nb::init<AnyBuffer>(), nb::arg("key"))
      .def_prop_ro("key_size", &AesKey::key_size, "In bits.")
      .def_prop_ro(
          "block_size", [](const AesKey&) { return 128; }, "In bits.")
      .def_prop_ro(
          "name", [](const AesKey&) { return "AES"; }, "\"AES\".");
  m.def(
      "AES128", [](AnyBuffer key) { return AesKey(key, 16); }, nb::arg("key"),
      "AES with 16 bytes; not for XTS.");
  m.def(
      "AES256", [](AnyBuffer key) { return AesKey(key, 32); }, nb::arg("key"),
      "AES with 32 bytes; not for XTS.");
  nb::class_<Context> context(m, "CipherContext",
                              R"(One message that is being encrypted or decrypted.

paraes.ciphers.Cipher makes it. Calls from several threads take turns; more than 2 KiB are processed
without the GIL. Arguments are objects with the buffer protocol, as for AESGCM.)");
  context
      .def(
          "__init__",
          [](Context* self, const AesKey& key, const std::string& mode, AnyBuffer iv, bool encrypts,
             AnyInt unit_size, AnyInt threads, std::string device, std::string kernel) {
            new (self)
                Context(key, mode, iv, encrypts ? Direction::encrypt : Direction::decrypt,
                        number_of(unit_size, "unit_size", std::size_t{0}, max_xts_unit_bytes),
                        execution_of(threads, std::move(device), std::move(kernel)));
          },
          nb::arg("key"), nb::arg("mode"), nb::arg("iv").none(), nb::arg("encrypts"),
          nb::arg("unit_size"), nb::arg("threads"), nb::arg("device"), nb::arg("kernel"))
      .def("update", &Context::update, nb::arg("data"),
           "Returns the output for data. ECB and CBC keep what is left of a block for the next "
           "call; "
           "XTS takes all data in one call.")
      .def("update_into", &Context::update_into, nb::arg("data"), nb::arg("buf"),
           "Writes the output to buf, which may have more bytes than needed, and returns how many "
           "were written. buf may begin at the same byte as data, unless a part of a block was "
           "kept; otherwise the two must not overlap.")
      .def("finalize", &Context::finalize,
           "Ends the message and returns b''. InvalidArgument (a ValueError) if ECB or CBC have a "
           "part of a block left.")
      .def("reset_nonce", &Context::reset_nonce, nb::arg("nonce"),
           "Starts a new message with another nonce of 16 bytes. CBC and CTR only.");
  bind_where(context);
}

}  // namespace paraes::python
