// Whole files, and readers and writers.

#include "paraes/files.hpp"

#include <cerrno>
#include <limits>
#include <optional>
#include <utility>

#include "paraes/message_streams.hpp"
#include "src/c/secret.hpp"

namespace paraes::c {
namespace {

std::string path_at(const char* path, const char* name) { return &require(path, name); }

template <class Options>
void set_file_options(Options& options, const paraes_file_options& given) {
  options.overwrite = given.overwrite != 0;
  options.execution = execution_of_messages(given.execution);
  if (given.progress == nullptr) return;
  options.progress = [call_back = given.progress, context = given.progress_context](
                         std::uint64_t done, std::optional<std::uint64_t> total) {
    if (call_back(context, done, total.value_or(UINT64_MAX)) != 0) throw Cancelled();
  };
}

FileOptions file_options_of(const paraes_file_options* given) {
  FileOptions options;
  set_file_options(options, options_at(given, "options", sizeof(paraes_file_options)));
  return options;
}

template <class Work>
int file_call(std::uint64_t* plain_bytes, const Work& work) noexcept {
  return call([&] {
    const FileResult done = work();
    if (plain_bytes != nullptr) *plain_bytes = done.plain_bytes;
  });
}

// Throws the error of a callback, which is of no file.
void check(const char* verb, const std::string& name, int error) {
  if (error != 0) throw IoError(io_error(name, verb, error).what(), error);
}

// A source of the caller's, instead of a file.
class CallbackSource final : public PositionalSource {
 public:
  explicit CallbackSource(const paraes_source& source) : source_(source) {
    if (source.read_at == nullptr) refuse_null("read_at");
  }

  std::size_t read(MutableBytes buffer) override {
    const std::size_t n = read_at(position_, buffer);
    position_ += n;
    return n;
  }
  [[nodiscard]] std::optional<std::uint64_t> remaining() const override {
    return source_.bytes - position_;
  }
  [[nodiscard]] std::size_t read_at(std::uint64_t offset, MutableBytes buffer) const override {
    if (offset >= source_.bytes) return 0;
    const auto n =
        static_cast<std::size_t>(std::min<std::uint64_t>(buffer.size(), source_.bytes - offset));
    if (n == 0) return 0;
    check("read", name_, source_.read_at(source_.context, offset, buffer.data(), n));
    return n;
  }
  [[nodiscard]] std::uint64_t size() const noexcept override { return source_.bytes; }
  [[nodiscard]] const std::string& name() const noexcept override { return name_; }
  // The size is what the caller says: there is nothing behind it to look for.
  void check_unchanged() const override {}

 private:
  paraes_source source_;
  std::string name_ = "the source";
  std::uint64_t position_ = 0;
};

class CallbackSink final : public Sink {
 public:
  explicit CallbackSink(const paraes_sink& sink) : sink_(sink) {
    if (sink.write == nullptr) refuse_null("write");
  }

  void write(Bytes data) override {
    if (data.empty()) return;
    check("write", "the sink", sink_.write(sink_.context, data.data(), data.size()));
  }
  void commit() override {
    if (sink_.close != nullptr) check("close", "the sink", sink_.close(sink_.context));
  }

 private:
  paraes_sink sink_;
};

}  // namespace
}  // namespace paraes::c

struct paraes_reader {
  std::unique_ptr<paraes::MessageReader> reader;
  std::uint64_t size = 0;
  std::uint64_t position = 0;

  [[nodiscard]] paraes::MessageReader& open() const {
    if (!reader) throw paraes::InvalidArgument("the reader is closed");
    return *reader;
  }
};

struct paraes_writer {
  std::shared_ptr<const paraes::MessageSecret> secret;  // the writer uses it
  std::unique_ptr<paraes::MessageWriter> writer;
  bool closed = false;

  [[nodiscard]] paraes::MessageWriter& open() const {
    if (closed) throw paraes::InvalidArgument("the writer is closed");
    if (!writer) throw paraes::Error("the writer was aborted, or an earlier call for it failed");
    return *writer;
  }
  // After an error, nothing is left. In a child, the file is its parent's.
  template <class Body>
  void run(const Body& body) {
    try {
      body(open());
    } catch (const paraes::WrongProcess&) {
      throw;
    } catch (...) {
      writer.reset();
      throw;
    }
  }
};

namespace paraes::c {
namespace {

paraes_reader* new_reader(std::unique_ptr<PositionalSource> source, const MessageSecret& secret,
                          const paraes_execution* execution, bool many_threads) {
  const Execution where = execution_of_messages(execution);
  Message message(secret.open_header(*source).parts, where);
  auto made = std::make_unique<paraes_reader>();
  made->reader = std::make_unique<MessageReader>(std::move(source), std::move(message),
                                                 where.threads, many_threads);
  made->size = made->reader->size();
  return made.release();
}

}  // namespace
}  // namespace paraes::c

using paraes::c::call;
using paraes::c::file_call;
using paraes::c::file_options_of;
using paraes::c::path_at;
using paraes::c::require;
using paraes::c::secret_of;

extern "C" {

int paraes_encrypt_file(const char* from, const char* to, const paraes_secret* secret,
                        const paraes_file_options* options, std::uint64_t* plain_bytes) {
  return file_call(plain_bytes, [&] {
    const std::string input = path_at(from, "from");
    return paraes::encrypt_file(input, to == nullptr ? paraes::encrypted_name(input) : to,
                                secret_of(secret), file_options_of(options));
  });
}

int paraes_decrypt_file(const char* from, const char* to, const paraes_secret* secret,
                        const paraes_file_options* options, std::uint64_t* plain_bytes) {
  return file_call(plain_bytes, [&] {
    const std::string input = path_at(from, "from");
    return paraes::decrypt_file(input, to == nullptr ? paraes::decrypted_name(input) : to,
                                secret_of(secret), file_options_of(options));
  });
}

int paraes_verify_file(const char* file, const paraes_secret* secret,
                       const paraes_file_options* options, std::uint64_t* plain_bytes) {
  return file_call(plain_bytes, [&] {
    return paraes::verify_file(path_at(file, "file"), secret_of(secret), file_options_of(options));
  });
}

int paraes_rekey_file(const char* file, const paraes_secret* from, const paraes_secret* to,
                      const paraes_file_options* options, std::uint64_t* plain_bytes) {
  return file_call(plain_bytes, [&] {
    const auto given = paraes::c::options_at(options, "options", sizeof(paraes_file_options));
    paraes::RekeyOptions rekey;
    paraes::c::set_file_options(rekey, given);
    rekey.new_key = given.new_key != 0;
    rekey.verify = given.verify != 0;
    return paraes::rekey_file(path_at(file, "file"), secret_of(from, "from"), secret_of(to, "to"),
                              rekey);
  });
}

int paraes_reader_open(paraes_reader** reader, const char* file, const paraes_secret* secret,
                       const paraes_execution* execution) {
  return paraes::c::make_handle(reader, [&] {
    const std::string path = path_at(file, "file");
    auto source = paraes::open_input(path, secret_of(secret), false);
    auto* const positional = dynamic_cast<paraes::PositionalSource*>(source.get());
    if (positional == nullptr) {
      throw paraes::InvalidArgument(
          path + ": it cannot be read at any offset: use a decryptor, which reads in order");
    }
    static_cast<void>(source.release());
    return paraes::c::new_reader(std::unique_ptr<paraes::PositionalSource>(positional),
                                 secret_of(secret), execution, true);
  });
}

int paraes_reader_open_source(paraes_reader** reader, const paraes_source* source,
                              const paraes_secret* secret, const paraes_execution* execution) {
  return paraes::c::make_handle(reader, [&] {
    require(source, "source");
    const auto given = paraes::c::options_at(source, "source", sizeof(paraes_source));
    return paraes::c::new_reader(std::make_unique<paraes::c::CallbackSource>(given),
                                 secret_of(secret), execution, given.many_threads != 0);
  });
}

std::uint64_t paraes_reader_size(const paraes_reader* reader) {
  return reader == nullptr ? 0 : reader->size;
}

int paraes_reader_read(paraes_reader* reader, void* out, std::size_t bytes, std::size_t* read) {
  return call([&] {
    require(read, "read") = 0;
    paraes_reader& made = require(reader, "reader");
    const std::size_t n = made.open().read(made.position, paraes::c::room_at(out, bytes, "out"));
    made.position += n;
    *read = n;
  });
}

int paraes_reader_read_at(paraes_reader* reader, std::uint64_t offset, void* out, std::size_t bytes,
                          std::size_t* read) {
  return call([&] {
    require(read, "read") = 0;
    *read = require(reader, "reader").open().read(offset, paraes::c::room_at(out, bytes, "out"));
  });
}

int paraes_reader_seek(paraes_reader* reader, std::int64_t offset, int whence,
                       std::uint64_t* position) {
  return call([&] {
    paraes_reader& made = require(reader, "reader");
    static_cast<void>(made.open());
    if (whence < 0 || whence > 2) {
      throw paraes::InvalidArgument("whence: it is 0, 1 or 2, not " + std::to_string(whence));
    }
    const std::uint64_t base = whence == 0 ? 0 : whence == 1 ? made.position : made.size;
    const std::uint64_t distance =
        offset < 0 ? 0 - static_cast<std::uint64_t>(offset) : static_cast<std::uint64_t>(offset);
    if (offset < 0 ? distance > base : distance > UINT64_MAX - base) {
      throw paraes::InvalidArgument("offset: the position would be outside of 0 to 2^64 - 1");
    }
    made.position = offset < 0 ? base - distance : base + distance;
    if (position != nullptr) *position = made.position;
  });
}

int paraes_reader_close(paraes_reader* reader) {
  return call([&] { require(reader, "reader").reader.reset(); });
}

void paraes_reader_free(paraes_reader* reader) { delete reader; }

int paraes_writer_open(paraes_writer** writer, const char* file, const paraes_secret* secret,
                       const paraes_file_options* options) {
  return paraes::c::make_handle(writer, [&] {
    auto made = std::make_unique<paraes_writer>();
    made->secret = require(secret, "secret").secret;
    made->writer =
        paraes::create_message(path_at(file, "file"), *made->secret, file_options_of(options));
    return made.release();
  });
}

int paraes_writer_open_sink(paraes_writer** writer, const paraes_sink* sink,
                            const paraes_secret* secret, const paraes_execution* execution) {
  return paraes::c::make_handle(writer, [&] {
    require(sink, "sink");
    const auto given = paraes::c::options_at(sink, "sink", sizeof(paraes_sink));
    const paraes::Execution where = paraes::c::execution_of_messages(execution);
    auto made = std::make_unique<paraes_writer>();
    made->writer = std::make_unique<paraes::MessageWriter>(
        std::make_unique<paraes::c::CallbackSink>(given),
        paraes::Message(secret_of(secret).new_message(), where), where.threads);
    return made.release();
  });
}

int paraes_writer_write(paraes_writer* writer, const void* data, std::size_t bytes) {
  return call([&] {
    paraes_writer& made = require(writer, "writer");
    const paraes::Bytes plain = paraes::c::bytes_at(data, bytes, "data");
    made.run([&](paraes::MessageWriter& open) { open.write(plain); });
  });
}

int paraes_writer_close(paraes_writer* writer) {
  return call([&] {
    paraes_writer& made = require(writer, "writer");
    if (made.closed) return;
    made.run([&](paraes::MessageWriter& open) { open.finish(); });
    made.closed = true;
    made.writer.reset();
  });
}

void paraes_writer_abort(paraes_writer* writer) {
  if (writer != nullptr) writer->writer.reset();
}

void paraes_writer_free(paraes_writer* writer) { delete writer; }

}  // extern "C"
