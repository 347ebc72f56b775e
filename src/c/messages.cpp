// Secrets, and messages in memory: whole, and piece by piece.

#include "paraes/messages.hpp"

#include <optional>
#include <utility>
#include <vector>

#include "paraes/forks.hpp"
#include "paraes/memory.hpp"
#include "paraes/message_streams.hpp"
#include "src/c/secret.hpp"

namespace paraes::c {
namespace {

std::vector<std::string> strings_at(const char* const* strings, std::size_t count,
                                    const char* name) {
  if (strings == nullptr && count != 0) refuse_null(name);
  std::vector<std::string> found;
  for (std::size_t i = 0; i < count; ++i) {
    found.emplace_back(&require(strings[i], (std::string("an element of ") + name).c_str()));
  }
  return found;
}

Format format_of(const std::string& name) {
  if (name.empty() || name == "paraes") return Format::paraes;
  if (name == "c2sp") return Format::c2sp;
  if (name == "tink") return Format::tink;
  throw InvalidArgument("format: it is paraes, c2sp or tink, not " + name);
}

TinkHash hash_of(const std::string& name) {
  if (name == "sha256") return TinkHash::sha256;
  if (name == "sha1") return TinkHash::sha1;
  if (name == "sha512") return TinkHash::sha512;
  throw InvalidArgument("tink_hash: it is sha1, sha256 or sha512, not " + name);
}

SecretOptions secret_options_of(const paraes_secret_options& given) {
  SecretOptions options;
  options.format = format_of(text_of(given.format));
  const Bytes context = bytes_at(given.context, given.context_bytes, "context");
  options.context.assign(context.begin(), context.end());
  if (given.key_bits != 0) options.key_bits = given.key_bits;
  if (given.scrypt_log2n != 0) options.scrypt_log2n = given.scrypt_log2n;
  if (given.max_scrypt_log2n != 0) options.max_scrypt_log2n = given.max_scrypt_log2n;
  if (given.tink_hash != nullptr) options.tink_hash = hash_of(given.tink_hash);
  if (given.segment_size != 0) options.segment_size = given.segment_size;
  options.age.name = text_of(given.age);
  if (given.age_message != nullptr) {
    options.age.on_message = [say = given.age_message,
                              context_of_say = given.age_message_context](std::string_view line) {
      say(context_of_say, std::string(line).c_str());
    };
  }
  return options;
}

std::unique_ptr<MessageSecret> make_secret(const paraes_secret_options& given) {
  const bool has_recipients = given.recipient_count != 0 || given.recipients_file_count != 0;
  const int secrets = (given.key != nullptr || given.key_bytes != 0 ? 1 : 0) +
                      (given.key_file != nullptr ? 1 : 0) +
                      (given.passphrase != nullptr || given.passphrase_bytes != 0 ? 1 : 0) +
                      (has_recipients ? 1 : 0) + (given.identity_count != 0 ? 1 : 0);
  if (secrets != 1) {
    throw InvalidArgument(
        "pass exactly one of key, key_file, passphrase, recipients and identities, not " +
        std::to_string(secrets) + " of them");
  }
  SecretOptions options = secret_options_of(given);
  if (given.key_file != nullptr) return MessageSecret::key_file(given.key_file, std::move(options));
  if (given.identity_count != 0) {
    return MessageSecret::identities(
        strings_at(given.identities, given.identity_count, "identities"), std::move(options));
  }
  if (has_recipients) {
    return MessageSecret::recipients(
        {strings_at(given.recipients, given.recipient_count, "recipients"),
         strings_at(given.recipients_files, given.recipients_file_count, "recipients_files")},
        std::move(options));
  }
  if (given.passphrase_bytes != 0 || given.passphrase != nullptr) {
    return MessageSecret::passphrase(
        SecretBytes(bytes_at(given.passphrase, given.passphrase_bytes, "passphrase")),
        std::move(options));
  }
  return MessageSecret::key(SecretBytes(bytes_at(given.key, given.key_bytes, "key")),
                            std::move(options));
}

// Writes into memory.
class MemorySink final : public PositionalSink {
 public:
  explicit MemorySink(MutableBytes out) : out_(out) {}

  void write(Bytes data) override {
    write_at(position_, data);
    position_ += data.size();
  }
  void write_at(std::uint64_t offset, Bytes data) override {
    std::copy(data.begin(), data.end(),
              out_.subspan(static_cast<std::size_t>(offset), data.size()).begin());
  }
  void commit() override {}

 private:
  MutableBytes out_;
  std::uint64_t position_ = 0;
};

// The bytes of a header, which has no size of a message.
class HeaderSource final : public Source {
 public:
  explicit HeaderSource(Bytes header) : rest_(header) {}

  std::size_t read(MutableBytes buffer) override {
    const std::size_t n = std::min(buffer.size(), rest_.size());
    std::copy_n(rest_.begin(), n, buffer.begin());
    rest_ = rest_.subspan(n);
    return n;
  }
  [[nodiscard]] std::optional<std::uint64_t> remaining() const override { return std::nullopt; }

 private:
  Bytes rest_;
};

// No buffer is this large: it stands for more bytes than a message can have.
constexpr std::size_t no_capacity = SIZE_MAX;

// The capacity for a caller: 0 if there is none.
std::size_t shown_bound(std::size_t bound) { return bound == no_capacity ? 0 : bound; }

// Set if a call on a message that is processed piece by piece fails in the middle.
class Progress {
 public:
  void check() const {
    if (ended_) throw InvalidArgument("the message has ended: make another handle");
    if (failed_) throw Error("an earlier call for this message failed: make another handle");
  }
  // Runs what cannot be repeated if it fails.
  template <class Body>
  void operator()(const Body& body) {
    failed_ = true;
    body();
    failed_ = false;
  }
  void end() noexcept { ended_ = true; }

 private:
  bool failed_ = false;
  bool ended_ = false;
};

}  // namespace
}  // namespace paraes::c

struct paraes_encryptor {
  paraes::SegmentStream stream;
  paraes::OwnerProcess owner;
  paraes::c::Progress progress;
  bool has_header = false;  // it was written

  [[nodiscard]] std::size_t header_bytes() const noexcept {
    return has_header ? 0 : stream.message().header().size();
  }
  // The capacity for `bytes` more bytes, and for the end.
  [[nodiscard]] std::size_t bound(std::size_t bytes) const noexcept {
    const paraes::SegmentLayout& layout = stream.message().layout();
    if (bytes / layout.segment_bytes >= layout.max_segments) return paraes::c::no_capacity;
    return header_bytes() +
           std::max(stream.output_bytes(bytes), stream.held() + paraes::segment_tag_bytes);
  }
  void check(std::size_t bytes, std::size_t capacity) const {
    owner.check("a message that is being encrypted");
    progress.check();
    if (capacity < bound(bytes)) paraes::c::refuse_capacity(capacity, bound(bytes));
  }
  std::size_t put_header(paraes::MutableBytes out) noexcept {
    const paraes::Bytes header = stream.message().header().first(header_bytes());
    std::copy(header.begin(), header.end(), out.begin());
    has_header = true;
    return header.size();
  }
};

struct paraes_decryptor {
  std::shared_ptr<const paraes::MessageSecret> secret;
  paraes::Execution execution;
  std::vector<std::uint8_t> header;  // as much as has come
  std::optional<paraes::SegmentStream> stream;
  paraes::c::Progress progress;

  [[nodiscard]] std::size_t bound(std::size_t bytes) const noexcept {
    if (bytes > SIZE_MAX / 4) return paraes::c::no_capacity;
    return (stream ? stream->held() : 0) + bytes;
  }
  void check(std::size_t bytes, std::size_t capacity) const {
    progress.check();
    if (capacity < bound(bytes)) paraes::c::refuse_capacity(capacity, bound(bytes));
  }
  // The size of the header, as far as it is known by what has come.
  [[nodiscard]] std::size_t header_bytes() const {
    if (secret->format() != paraes::Format::paraes) {
      return static_cast<std::size_t>(secret->layout().header_bytes);
    }
    if (header.size() < paraes::Preface::bytes) return paraes::Preface::bytes;
    // Other input needs no more bytes: it is refused as it is.
    if (!paraes::looks_like_paraes(header)) return header.size();
    const paraes::Preface preface =
        paraes::Preface::parse(paraes::Bytes(header).first(paraes::Preface::bytes));
    return paraes::paraes_header_bytes + preface.wrap_bytes;
  }
  void open_header() {
    paraes::c::HeaderSource source(header);
    stream.emplace(paraes::Message(secret->open_header(source).parts, execution),
                   paraes::Direction::decrypt, execution.threads);
  }
  // Takes what belongs to the header, and returns the rest.
  [[nodiscard]] paraes::Bytes take_header(paraes::Bytes in) {
    while (!stream && !in.empty()) {
      const std::size_t n = std::min(in.size(), header_bytes() - header.size());
      header.insert(header.end(), in.begin(), in.begin() + static_cast<std::ptrdiff_t>(n));
      in = in.subspan(n);
      if (header.size() == header_bytes()) open_header();
    }
    return in;
  }
};

namespace paraes::c {
namespace {

// Makes a call on a message that is processed piece by piece: work(handle, in, out) returns how
// many bytes it has written.
template <class Handle, class Work>
int process(Handle* handle, const char* name, const void* in, std::size_t bytes, void* out,
            std::size_t capacity, std::size_t* written, const Work& work) noexcept {
  return call([&] {
    require(written, "written") = 0;
    Handle& made = require(handle, name);
    const Bytes text = bytes_at(in, bytes, "in");
    const MutableBytes room = room_at(out, capacity, "out");
    made.check(bytes, capacity);
    check_apart(text, room);
    made.progress([&] { *written = work(made, text, room); });
  });
}

}  // namespace
}  // namespace paraes::c

using paraes::c::bytes_at;
using paraes::c::call;
using paraes::c::process;
using paraes::c::require;
using paraes::c::room_at;
using paraes::c::secret_of;

extern "C" {

int paraes_secret_new(paraes_secret** secret, const paraes_secret_options* options) {
  return paraes::c::make_handle(secret, [&] {
    require(options, "options");
    return new paraes_secret{paraes::c::make_secret(
        paraes::c::options_at(options, "options", sizeof(paraes_secret_options)))};
  });
}

int paraes_secret_from_key(paraes_secret** secret, const void* key, std::size_t key_bytes) {
  return paraes::c::make_handle(secret, [&] {
    return new paraes_secret{
        paraes::MessageSecret::key(paraes::SecretBytes(bytes_at(key, key_bytes, "key")), {})};
  });
}

int paraes_secret_from_key_file(paraes_secret** secret, const char* path) {
  return paraes::c::make_handle(secret, [&] {
    return new paraes_secret{paraes::MessageSecret::key_file(&require(path, "path"), {})};
  });
}

int paraes_secret_from_passphrase(paraes_secret** secret, const void* passphrase,
                                  std::size_t passphrase_bytes) {
  return paraes::c::make_handle(secret, [&] {
    return new paraes_secret{paraes::MessageSecret::passphrase(
        paraes::SecretBytes(bytes_at(passphrase, passphrase_bytes, "passphrase")), {})};
  });
}

void paraes_secret_free(paraes_secret* secret) { delete secret; }

void paraes_secret_cancel(paraes_secret* secret) {
  if (secret != nullptr) secret->secret->cancel();
}

std::size_t paraes_seal_bound(const paraes_secret* secret, std::size_t bytes) {
  std::size_t most = 0;
  const int code = call(
      [&] { most = static_cast<std::size_t>(secret_of(secret).layout().sealed_bytes(bytes)); });
  return code == PARAES_OK ? most : 0;
}

int paraes_seal(const paraes_secret* secret, const void* in, std::size_t bytes, void* out,
                std::size_t capacity, std::size_t* written, const paraes_execution* execution) {
  return call([&] {
    require(written, "written") = 0;
    const paraes::Bytes plain = bytes_at(in, bytes, "in");
    const paraes::MutableBytes room = room_at(out, capacity, "out");
    const paraes::Execution where = paraes::c::execution_of_messages(execution);
    paraes::c::check_apart(plain, room);
    // Before a passphrase takes its time. What age makes has a size that nobody knows before.
    const paraes::MessageSecret& made = secret_of(secret);
    if (!made.has_recipients()) {
      const std::uint64_t needed = made.layout().sealed_bytes(bytes);
      if (capacity < needed) paraes::c::refuse_capacity(capacity, needed);
    }
    const paraes::Message message(made.new_message(), where);
    const auto sealed = static_cast<std::size_t>(message.layout().sealed_bytes(bytes));
    if (capacity < sealed) paraes::c::refuse_capacity(capacity, sealed);
    const std::size_t header = message.header().size();
    std::copy_n(message.header().begin(), header, room.begin());
    paraes::seal_segments(message, 0, true, plain, room.subspan(header, sealed - header),
                          where.threads);
    *written = sealed;
  });
}

int paraes_unseal(const paraes_secret* secret, const void* in, std::size_t bytes, void* out,
                  std::size_t capacity, std::size_t* written, const paraes_execution* execution) {
  return call([&] {
    require(written, "written") = 0;
    const paraes::Bytes sealed = bytes_at(in, bytes, "in");
    const paraes::MutableBytes room = room_at(out, capacity, "out");
    const paraes::Execution where = paraes::c::execution_of_messages(execution);
    paraes::c::check_apart(sealed, room);
    paraes::MemorySource source(sealed, "the message");
    const paraes::Message message(secret_of(secret).open_header(source).parts, where);
    const auto plain = static_cast<std::size_t>(message.layout().extent_of(bytes).plain_bytes);
    if (capacity < plain) paraes::c::refuse_capacity(capacity, plain);
    paraes::open_segments(message, 0, true, sealed.subspan(message.header().size()),
                          room.first(plain), where.threads);
    *written = plain;
  });
}

int paraes_unseal_range(const paraes_secret* secret, const void* in, std::size_t bytes,
                        std::uint64_t offset, void* out, std::size_t out_bytes,
                        const paraes_execution* execution) {
  return call([&] {
    const paraes::Bytes sealed = bytes_at(in, bytes, "in");
    const paraes::MutableBytes room = room_at(out, out_bytes, "out");
    const paraes::Execution where = paraes::c::execution_of_messages(execution);
    paraes::c::check_apart(sealed, room);
    paraes::MemorySource source(sealed, "the message");
    const paraes::Message message(secret_of(secret).open_header(source).parts, where);
    paraes::OpenOptions range;
    range.threads = where.threads;
    range.offset = offset;
    range.length = out_bytes;
    paraes::c::MemorySink sink(room);
    try {
      paraes::open_message(source, message, &sink, range);
    } catch (...) {
      paraes::secure_zero(room.data(), room.size());
      throw;
    }
  });
}

int paraes_encryptor_new(paraes_encryptor** encryptor, const paraes_secret* secret,
                         const paraes_execution* execution) {
  return paraes::c::make_handle(encryptor, [&] {
    const paraes::Execution where = paraes::c::execution_of_messages(execution);
    return new paraes_encryptor{
        paraes::SegmentStream(paraes::Message(secret_of(secret).new_message(), where),
                              paraes::Direction::encrypt, where.threads),
        {},
        {}};
  });
}

void paraes_encryptor_free(paraes_encryptor* encryptor) { delete encryptor; }

std::size_t paraes_encryptor_bound(const paraes_encryptor* encryptor, std::size_t bytes) {
  return encryptor == nullptr ? 0 : paraes::c::shown_bound(encryptor->bound(bytes));
}

int paraes_encryptor_update(paraes_encryptor* encryptor, const void* in, std::size_t bytes,
                            void* out, std::size_t capacity, std::size_t* written) {
  return process(encryptor, "encryptor", in, bytes, out, capacity, written,
                 [](paraes_encryptor& made, paraes::Bytes plain, paraes::MutableBytes room) {
                   const std::size_t header = made.put_header(room);
                   const std::size_t sealed = made.stream.output_bytes(plain.size());
                   made.stream.update(plain, room.subspan(header, sealed));
                   return header + sealed;
                 });
}

int paraes_encryptor_finish(paraes_encryptor* encryptor, void* out, std::size_t capacity,
                            std::size_t* written) {
  return process(encryptor, "encryptor", nullptr, 0, out, capacity, written,
                 [](paraes_encryptor& made, paraes::Bytes, paraes::MutableBytes room) {
                   const std::size_t header = made.put_header(room);
                   const std::size_t sealed = made.stream.final_bytes();
                   made.stream.finish(room.subspan(header, sealed));
                   made.progress.end();
                   return header + sealed;
                 });
}

int paraes_decryptor_new(paraes_decryptor** decryptor, const paraes_secret* secret,
                         const paraes_execution* execution) {
  return paraes::c::make_handle(decryptor, [&] {
    return new paraes_decryptor{
        require(secret, "secret").secret, paraes::c::execution_of_messages(execution), {}, {}, {}};
  });
}

void paraes_decryptor_free(paraes_decryptor* decryptor) { delete decryptor; }

std::size_t paraes_decryptor_bound(const paraes_decryptor* decryptor, std::size_t bytes) {
  return decryptor == nullptr ? 0 : paraes::c::shown_bound(decryptor->bound(bytes));
}

int paraes_decryptor_update(paraes_decryptor* decryptor, const void* in, std::size_t bytes,
                            void* out, std::size_t capacity, std::size_t* written) {
  return process(decryptor, "decryptor", in, bytes, out, capacity, written,
                 [](paraes_decryptor& made, paraes::Bytes sealed, paraes::MutableBytes room) {
                   const paraes::Bytes rest = made.take_header(sealed);
                   if (!made.stream) return std::size_t{0};
                   const std::size_t plain = made.stream->output_bytes(rest.size());
                   made.stream->update(rest, room.first(plain));
                   return plain;
                 });
}

int paraes_decryptor_finish(paraes_decryptor* decryptor, void* out, std::size_t capacity,
                            std::size_t* written) {
  return process(decryptor, "decryptor", nullptr, 0, out, capacity, written,
                 [](paraes_decryptor& made, paraes::Bytes, paraes::MutableBytes room) {
                   if (!made.stream) made.open_header();  // which says what is missing
                   const std::size_t plain = made.stream->final_bytes();
                   made.stream->finish(room.first(plain));
                   made.progress.end();
                   return plain;
                 });
}

}  // extern "C"
