// Fuzzes the handles of the C API: the input is a program that calls its functions in any order,
// for handles that are open, closed, aborted, failed or NULL, with right and wrong sizes. No call
// returns a code that is not described, or writes outside of its output; what was encrypted as a
// whole is decrypted, and what was changed never is.

#include <array>
#include <cerrno>
#include <cstring>

#include "tests/c/c_api.hpp"
#include "tests/fuzz/input.hpp"

namespace paraes::fuzz {
namespace {

constexpr std::size_t slots = 2;  // for handles of each kind
constexpr int most_steps = 60;
constexpr std::size_t most_text = 40'000;  // more than two segments of C2SP
constexpr std::size_t margin = 16;

// Every failure has a code of paraes and a text, and is the last error.
int noted(int code) {
  if (code == PARAES_OK) return code;
  require(paraes_is_a(code, PARAES_ERROR) != 0 || code == PARAES_OUT_OF_MEMORY);
  require(paraes_error_code() == code && *paraes_error_message() != '\0');
  return code;
}

// An output of `capacity` bytes, whose margins no call may change.
class Room {
 public:
  explicit Room(std::size_t capacity) : capacity_(capacity), bytes_(capacity + 2 * margin, 0xa7) {}
  ~Room() {
    for (std::size_t i = 0; i < margin; ++i) {
      require(bytes_[i] == 0xa7 && bytes_[margin + capacity_ + i] == 0xa7);
    }
  }
  Room(const Room&) = delete;
  Room& operator=(const Room&) = delete;

  [[nodiscard]] std::uint8_t* data() noexcept { return bytes_.data() + margin; }
  [[nodiscard]] std::size_t size() const noexcept { return capacity_; }
  [[nodiscard]] Bytes first(std::size_t bytes) {
    require(bytes <= capacity_);
    return {data(), bytes};
  }

 private:
  std::size_t capacity_;
  Buffer bytes_;
};

void append(Buffer& to, Bytes more) { to.insert(to.end(), more.begin(), more.end()); }

// The secret of a message: a key of one of two values in a format, which decides whether another
// secret opens it.
struct Recipe {
  std::size_t format = 0;
  std::size_t key_bytes = 16;
  unsigned key = 1;

  bool operator==(const Recipe&) const = default;
};
constexpr const char* formats[] = {"paraes", "c2sp", "tink"};

struct Sealed {
  Recipe recipe;
  Buffer plain;
  Buffer bytes;
};

struct Secret {
  support::SecretHandle handle;
  Recipe recipe;
};
struct Encryptor {
  support::EncryptorHandle handle;
  Sealed made;
};
struct Decryptor {
  support::DecryptorHandle handle;
  Recipe recipe;
  const Sealed* of = nullptr;
  std::size_t at = 0;    // of the message, what it got
  bool changed = false;  // it got something else
  Buffer plain;
};
struct Reader {
  support::ReaderHandle handle;
  std::unique_ptr<Sealed> of;
  std::uint64_t at = 0;
  bool closed = false;
  int error = 0;  // of the callback

  static int read_at(void* context, std::uint64_t offset, void* buffer, std::size_t bytes) {
    const Reader& self = *static_cast<Reader*>(context);
    if (self.error != 0) return self.error;
    require(offset + bytes <= self.of->bytes.size());
    std::memcpy(buffer, self.of->bytes.data() + offset, bytes);
    return 0;
  }
};
struct Writer {
  support::WriterHandle handle;
  Sealed made;
  int error = 0;

  static int write(void* context, const void* data, std::size_t bytes) {
    Writer& self = *static_cast<Writer*>(context);
    if (self.error != 0) return self.error;
    append(self.made.bytes, {static_cast<const std::uint8_t*>(data), bytes});
    return 0;
  }
};

class Program {
 public:
  explicit Program(Input& input) : input_(input) {}

  void run() {
    using Step = void (Program::*)();
    constexpr Step steps[] = {&Program::new_secret,    &Program::seal,    &Program::unseal,
                              &Program::new_encryptor, &Program::encrypt, &Program::encrypt,
                              &Program::new_decryptor, &Program::decrypt, &Program::new_reader,
                              &Program::read,          &Program::write,   &Program::crypt_gcm};
    for (int step = 0; step < most_steps && input_.remaining_bytes() != 0; ++step) {
      (this->*one_of(input_, steps))();
    }
  }

 private:
  template <class T>
  T& any(std::array<T, slots>& list) {
    return list[number(input_, 0, slots - 1)];
  }
  // One of what was sealed as a whole; nullptr if there is none.
  const Sealed* any_sealed() {
    return sealed_.empty() ? nullptr : sealed_[number(input_, 0, sealed_.size() - 1)].get();
  }
  // Decrypts a message that was encrypted as a whole, by another handle of its secret.
  void keep(Sealed made) {
    const support::SecretHandle secret = handle_of(made.recipe);
    Room room(made.bytes.size());
    std::size_t written = 0;
    require(paraes_unseal(secret.get(), made.bytes.data(), made.bytes.size(), room.data(),
                          room.size(), &written, nullptr) == PARAES_OK);
    require(equal(room.first(written), made.plain));
    if (sealed_.size() < 8) sealed_.push_back(std::make_unique<Sealed>(std::move(made)));
  }
  // A size that mostly is `right`.
  std::size_t capacity(std::size_t right) {
    return number(input_, 0, 7) == 0 ? number(input_, 0, right) : right;
  }
  std::size_t piece(std::size_t most) { return std::min(size_of_text(input_, most_text), most); }

  // NULL for a key of a wrong size.
  static support::SecretHandle handle_of(const Recipe& recipe) {
    const Buffer key = support::make_key(recipe.key_bytes, recipe.key);
    paraes_secret_options options = PARAES_SECRET_OPTIONS;
    options.key = key.data();
    options.key_bytes = key.size();
    options.format = formats[recipe.format];
    if (recipe.format == 2) options.segment_size = 1000;
    paraes_secret* made = nullptr;
    const bool wrong = recipe.key_bytes != 16 && recipe.key_bytes != 32;
    require((noted(paraes_secret_new(&made, &options)) == PARAES_OK) != wrong);
    require((made != nullptr) != wrong);
    return support::SecretHandle(made);
  }

  // Frees what was in the slot, which others may still use.
  void new_secret() {
    Secret& secret = any(secrets_);
    secret.handle.reset();
    if (input_.ConsumeBool() && input_.ConsumeBool()) return;
    Recipe recipe{number(input_, 0, 2), input_.ConsumeBool() ? 16U : 32U,
                  input_.ConsumeBool() ? 1U : 2U};
    if (number(input_, 0, 7) == 0) recipe.key_bytes = number(input_, 0, 15);
    secret = {handle_of(recipe), recipe};
  }

  void seal() {
    const Secret& secret = any(secrets_);
    Sealed made{secret.recipe, text(input_, size_of_text(input_, most_text)), {}};
    const std::size_t bound = paraes_seal_bound(secret.handle.get(), made.plain.size());
    Room room(capacity(bound));
    std::size_t written = 1;
    const int code = noted(paraes_seal(secret.handle.get(), made.plain.data(), made.plain.size(),
                                       room.data(), room.size(), &written, nullptr));
    require((code == PARAES_OK) == (secret.handle && room.size() == bound));
    append(made.bytes, room.first(written));
    require(code == PARAES_OK || made.bytes.empty());
    if (code == PARAES_OK) keep(std::move(made));
  }

  void unseal() {
    const Secret& secret = any(secrets_);
    const Sealed* const of = any_sealed();
    if (of == nullptr) return;
    Buffer bytes = of->bytes;
    damage(input_, bytes);
    Room room(capacity(bytes.size()));
    std::size_t written = 1;
    const int code = noted(paraes_unseal(secret.handle.get(), bytes.data(), bytes.size(),
                                         room.data(), room.size(), &written, nullptr));
    const bool right = secret.handle && secret.recipe == of->recipe && bytes == of->bytes;
    require(code != PARAES_OK || (right && equal(room.first(written), of->plain)));
    require(code == PARAES_OK || written == 0);
    require(code == PARAES_OK || !right || room.size() < of->plain.size());
    const std::size_t from = number(input_, 0, most_text);
    Room range(number(input_, 0, 300));
    const int ranged =
        noted(paraes_unseal_range(secret.handle.get(), of->bytes.data(), of->bytes.size(), from,
                                  range.data(), range.size(), nullptr));
    if (range.size() == 0) return;  // nothing is authenticated then
    const bool inside = from <= of->plain.size() && range.size() <= of->plain.size() - from;
    require((ranged == PARAES_OK) == (inside && secret.handle && secret.recipe == of->recipe));
    if (ranged != PARAES_OK) return;
    require(equal(range.first(range.size()), Bytes(of->plain).subspan(from, range.size())));
  }

  void new_encryptor() {
    const Secret& secret = any(secrets_);
    paraes_encryptor* made = nullptr;
    const int code = noted(paraes_encryptor_new(&made, secret.handle.get(), nullptr));
    require((code == PARAES_OK) == (secret.handle != nullptr));
    any(encryptors_) = {support::EncryptorHandle(made), {secret.recipe, {}, {}}};
  }

  void encrypt() {
    Encryptor& encryptor = any(encryptors_);
    const bool ends = number(input_, 0, 3) == 0;
    const Buffer more = ends ? Buffer() : text(input_, piece(most_text));
    Room room(capacity(paraes_encryptor_bound(encryptor.handle.get(), more.size())));
    std::size_t written = 1;
    const int code = noted(
        ends ? paraes_encryptor_finish(encryptor.handle.get(), room.data(), room.size(), &written)
             : paraes_encryptor_update(encryptor.handle.get(), more.data(), more.size(),
                                       room.data(), room.size(), &written));
    require(code == PARAES_OK || written == 0);
    if (code != PARAES_OK) return;
    append(encryptor.made.plain, more);
    append(encryptor.made.bytes, room.first(written));
    if (ends) keep(encryptor.made);
  }

  void new_decryptor() {
    const Secret& secret = any(secrets_);
    paraes_decryptor* made = nullptr;
    static_cast<void>(noted(paraes_decryptor_new(&made, secret.handle.get(), nullptr)));
    any(decryptors_) = {support::DecryptorHandle(made), secret.recipe, any_sealed(), 0, false, {}};
  }

  void decrypt() {
    Decryptor& decryptor = any(decryptors_);
    if (decryptor.of == nullptr) return;
    const Bytes rest = Bytes(decryptor.of->bytes).subspan(decryptor.at);
    const bool ends = rest.empty() || number(input_, 0, 7) == 0;
    Buffer more(rest.begin(),
                rest.begin() + static_cast<std::ptrdiff_t>(ends ? 0 : piece(rest.size())));
    const bool changes = !more.empty() && number(input_, 0, 15) == 0;
    if (changes) more[number(input_, 0, more.size() - 1)] ^= 1;
    Room room(capacity(paraes_decryptor_bound(decryptor.handle.get(), more.size())));
    std::size_t written = 1;
    const int code = noted(
        ends ? paraes_decryptor_finish(decryptor.handle.get(), room.data(), room.size(), &written)
             : paraes_decryptor_update(decryptor.handle.get(), more.data(), more.size(),
                                       room.data(), room.size(), &written));
    require(code == PARAES_OK || written == 0);
    if (code != PARAES_OK) return;
    decryptor.at += more.size();
    decryptor.changed = decryptor.changed || changes;
    append(decryptor.plain, room.first(written));
    // The output so far is the beginning of the plaintext, and at the end all of it.
    const Buffer& plain = decryptor.of->plain;
    require(decryptor.plain.size() <= plain.size() &&
            std::equal(decryptor.plain.begin(), decryptor.plain.end(), plain.begin()));
    if (!ends) return;
    require(!decryptor.changed && decryptor.at == decryptor.of->bytes.size() &&
            decryptor.recipe == decryptor.of->recipe && decryptor.plain == plain);
  }

  void new_reader() {
    const Secret& secret = any(secrets_);
    const Sealed* const of = any_sealed();
    if (of == nullptr) return;
    auto reader = std::make_unique<Reader>();
    reader->of = std::make_unique<Sealed>(*of);
    paraes_source source = PARAES_SOURCE;
    source.context = reader.get();
    source.bytes = of->bytes.size();
    source.read_at = Reader::read_at;
    paraes_reader* made = nullptr;
    const int code = noted(paraes_reader_open_source(&made, &source, secret.handle.get(), nullptr));
    require((code == PARAES_OK) == (secret.handle && secret.recipe == of->recipe));
    reader->handle.reset(made);
    require(made == nullptr || paraes_reader_size(made) == of->plain.size());
    any(readers_) = std::move(reader);
  }

  void read() {
    const std::unique_ptr<Reader>& reader = any(readers_);
    if (!reader) return;
    paraes_reader* const handle = reader->handle.get();
    const Bytes plain = reader->of->plain;
    const bool works = handle != nullptr && !reader->closed;
    switch (number(input_, 0, 4)) {
      case 0: {
        const auto offset = input_.ConsumeIntegral<std::int64_t>() >> number(input_, 0, 63);
        const int whence = static_cast<int>(number(input_, 0, 3));
        std::uint64_t at = 0;
        if (noted(paraes_reader_seek(handle, offset, whence, &at)) != PARAES_OK) break;
        const std::uint64_t bases[] = {0, reader->at, plain.size()};
        require(works && whence < 3 && at == bases[whence] + static_cast<std::uint64_t>(offset));
        reader->at = at;
        break;
      }
      case 1:
        require((noted(paraes_reader_close(handle)) == PARAES_OK) == (handle != nullptr));
        reader->closed = true;
        break;
      case 2:
        reader->error = input_.ConsumeBool() ? EIO : 0;
        break;
      default: {
        Room room(size_of_text(input_, most_text));
        std::size_t got = 1;
        const bool moves = input_.ConsumeBool();
        const std::uint64_t from = moves ? reader->at : number(input_, 0, most_text);
        const int code =
            noted(moves ? paraes_reader_read(handle, room.data(), room.size(), &got)
                        : paraes_reader_read_at(handle, from, room.data(), room.size(), &got));
        if (code != PARAES_OK) {
          require(got == 0 && (!works || reader->error != 0));
          break;
        }
        const auto left =
            static_cast<std::size_t>(plain.size() - std::min<std::uint64_t>(plain.size(), from));
        require(works && got == std::min(room.size(), left));
        require(equal(room.first(got), plain.subspan(plain.size() - left, got)));
        if (moves) reader->at += got;
      }
    }
  }

  // Makes a writer, or does something with it.
  void write() {
    std::unique_ptr<Writer>& writer = any(writers_);
    if (!writer || number(input_, 0, 7) == 0) {
      const Secret& secret = any(secrets_);
      writer = std::make_unique<Writer>();
      paraes_sink sink = PARAES_SINK;
      sink.context = writer.get();
      sink.write = Writer::write;
      paraes_writer* made = nullptr;
      static_cast<void>(noted(paraes_writer_open_sink(&made, &sink, secret.handle.get(), nullptr)));
      writer->handle.reset(made);
      writer->made.recipe = secret.recipe;
      return;
    }
    switch (number(input_, 0, 5)) {
      case 0:
        paraes_writer_abort(writer->handle.get());
        break;
      case 1:
        writer->error = input_.ConsumeBool() ? ENOSPC : 0;
        break;
      case 2:
        if (noted(paraes_writer_close(writer->handle.get())) == PARAES_OK) keep(writer->made);
        break;
      default: {
        const Buffer more = text(input_, piece(most_text));
        if (noted(paraes_writer_write(writer->handle.get(), more.data(), more.size())) ==
            PARAES_OK) {
          append(writer->made.plain, more);
        }
      }
    }
  }

  void crypt_gcm() {
    const Buffer key = take(input_, number(input_, 0, 40));
    paraes_gcm_key* made = nullptr;
    const int code = noted(paraes_gcm_key_new(&made, key.data(), key.size(), nullptr));
    const support::GcmHandle gcm(made);
    require((code == PARAES_OK) == (key.size() == 16 || key.size() == 24 || key.size() == 32));
    const Buffer nonce = take(input_, number(input_, 0, 20));
    const Buffer plain = text(input_, size_of_text(input_, 3000));
    Room sealed(plain.size() + 16);
    const int encrypted =
        noted(paraes_gcm_encrypt_into(gcm.get(), nonce.data(), nonce.size(), nullptr, 0,
                                      plain.data(), plain.size(), sealed.data(), sealed.size()));
    require((encrypted == PARAES_OK) == (gcm && nonce.size() >= 8));
    // Encrypts it once more, as one of many.
    Room many(sealed.size());
    paraes_gcm_message message = {};
    message.nonce = nonce.data();
    message.nonce_bytes = nonce.size();
    message.in = plain.data();
    message.bytes = plain.size();
    message.out = many.data();
    message.tag = many.data() + plain.size();
    const int of_many = noted(paraes_gcm_encrypt_many(gcm.get(), &message, 1, sizeof message));
    require(of_many == encrypted);
    if (encrypted != PARAES_OK) return;
    require(equal(many.first(many.size()), sealed.first(sealed.size())));
    const bool changes = input_.ConsumeBool();
    if (changes) sealed.data()[number(input_, 0, sealed.size() - 1)] ^= 4;
    Room opened(plain.size());
    const int decrypted =
        noted(paraes_gcm_decrypt_into(gcm.get(), nonce.data(), nonce.size(), nullptr, 0,
                                      sealed.data(), sealed.size(), opened.data(), opened.size()));
    require(decrypted == (changes ? PARAES_INTEGRITY_ERROR : PARAES_OK));
    require(equal(opened.first(plain.size()), changes ? Buffer(plain.size()) : plain));
  }

  Input& input_;
  std::vector<std::unique_ptr<Sealed>> sealed_;
  std::array<Secret, slots> secrets_;
  std::array<Encryptor, slots> encryptors_;
  std::array<Decryptor, slots> decryptors_;
  std::array<std::unique_ptr<Reader>, slots> readers_;
  std::array<std::unique_ptr<Writer>, slots> writers_;
};

}  // namespace

void fuzz(Input& input) { Program(input).run(); }

}  // namespace paraes::fuzz
