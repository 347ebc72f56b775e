// Files, readers and writers of the C API.

#include <gtest/gtest.h>

#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "tests/c/c_api.hpp"
#include "tests/support/buffers.hpp"
#include "tests/support/in_child.hpp"
#include "tests/support/temporary_folder.hpp"

namespace paraes {
namespace {

using support::Buffer;
using support::call;
using support::difference;
using support::key_secret;
using support::make_key;
using support::pattern;
using support::ReaderHandle;
using support::seal;
using support::SecretHandle;
using support::unseal;
using support::WriterHandle;

class Files : public testing::Test {
 protected:
  [[nodiscard]] std::string path(const char* name) const { return folder_.path(name); }

  int encrypt(const char* from, const char* to, const paraes_file_options* options = nullptr,
              std::uint64_t* bytes = nullptr) const {
    return paraes_encrypt_file(path(from).c_str(), to == nullptr ? nullptr : path(to).c_str(),
                               secret_.get(), options, bytes);
  }
  int decrypt(const char* from, const char* to, const paraes_file_options* options = nullptr,
              std::uint64_t* bytes = nullptr) const {
    return paraes_decrypt_file(path(from).c_str(), to == nullptr ? nullptr : path(to).c_str(),
                               secret_.get(), options, bytes);
  }
  // The file "sealed", which has the secret `from`.
  int rekey(const SecretHandle& from, const SecretHandle& to,
            const paraes_file_options* options = nullptr, std::uint64_t* bytes = nullptr) const {
    return paraes_rekey_file(path("sealed").c_str(), from.get(), to.get(), options, bytes);
  }
  ReaderHandle open_reader(const char* name) const {
    paraes_reader* made = nullptr;
    EXPECT_DONE(paraes_reader_open(&made, path(name).c_str(), secret_.get(), nullptr));
    return ReaderHandle(made);
  }
  WriterHandle open_writer(const char* name, const paraes_file_options* options = nullptr) const {
    paraes_writer* made = nullptr;
    EXPECT_DONE(paraes_writer_open(&made, path(name).c_str(), secret_.get(), options));
    return WriterHandle(made);
  }
  // How many files there are.
  [[nodiscard]] long files() const {
    return std::distance(std::filesystem::directory_iterator(folder_.path()),
                         std::filesystem::directory_iterator());
  }

  support::TemporaryFolder folder_;
  Buffer plain_ = pattern(3'000'000);
  SecretHandle secret_ = key_secret(make_key(32));
};

TEST_F(Files, AreEncryptedVerifiedAndDecrypted) {
  folder_.write("in", plain_);
  std::uint64_t bytes = 0;
  ASSERT_DONE(encrypt("in", nullptr, nullptr, &bytes));
  EXPECT_EQ(bytes, plain_.size());
  bytes = 0;
  ASSERT_DONE(paraes_verify_file(path("in.paes").c_str(), secret_.get(), nullptr, &bytes));
  EXPECT_EQ(bytes, plain_.size());
  EXPECT_FAILS(PARAES_TARGET_EXISTS, decrypt("in.paes", nullptr));
  EXPECT_EQ(paraes_error_path(), path("in"));
  ASSERT_DONE(decrypt("in.paes", "out", nullptr, &bytes));
  EXPECT_EQ(folder_.read("out"), plain_);
  EXPECT_EQ(unseal(secret_.get(), folder_.read("in.paes")), plain_);
  paraes_file_options options = PARAES_FILE_OPTIONS;
  options.overwrite = 1;
  folder_.write("out", std::string("old"));
  ASSERT_DONE(decrypt("in.paes", "out", &options));
  EXPECT_EQ(folder_.read("out"), plain_);
}

TEST_F(Files, ThatAreDamagedGiveNoOutput) {
  Buffer sealed = seal(secret_.get(), plain_);
  sealed[sealed.size() - 40] ^= 1;
  folder_.write("damaged", sealed);
  EXPECT_FAILS(PARAES_BAD_SEGMENT, decrypt("damaged", "out"));
  EXPECT_GT(paraes_error_offset(), plain_.size() - 20'000);
  EXPECT_FAILS(PARAES_BAD_SEGMENT,
               paraes_verify_file(path("damaged").c_str(), secret_.get(), nullptr, nullptr));
  EXPECT_EQ(files(), 1);
}

TEST_F(Files, WithTheSecretAreNeverReplaced) {
  const std::string key_file = folder_.write("key", make_key(32, 5));
  paraes_secret_options options = PARAES_SECRET_OPTIONS;
  options.key_file = key_file.c_str();
  const auto secret = support::new_secret(options);
  folder_.write("in", plain_);
  paraes_file_options overwrite = PARAES_FILE_OPTIONS;
  overwrite.overwrite = 1;
  EXPECT_FAILS(PARAES_INVALID_ARGUMENT, paraes_encrypt_file(path("in").c_str(), key_file.c_str(),
                                                            secret.get(), &overwrite, nullptr));
  // A copy of the key in another file is protected as well.
  folder_.write("copy", make_key(32, 5));
  EXPECT_FAILS(PARAES_INVALID_ARGUMENT,
               paraes_encrypt_file(path("in").c_str(), path("copy").c_str(), secret.get(),
                                   &overwrite, nullptr));
  paraes_writer* writer = nullptr;
  EXPECT_FAILS(PARAES_INVALID_ARGUMENT,
               paraes_writer_open(&writer, path("copy").c_str(), secret.get(), &overwrite));
  EXPECT_EQ(folder_.read("key"), make_key(32, 5));
  EXPECT_EQ(folder_.read("copy"), make_key(32, 5));
}

struct Watched {
  std::atomic<std::uint64_t> calls = 0;
  std::atomic<std::uint64_t> most = 0;
  std::atomic<std::uint64_t> total = 0;
  std::uint64_t stop_at = UINT64_MAX;

  static int report(void* context, std::uint64_t done, std::uint64_t total) {
    auto& self = *static_cast<Watched*>(context);
    EXPECT_TRUE(self.calls != 0 || done == 0);
    ++self.calls;
    self.most = std::max<std::uint64_t>(self.most, done);
    self.total = total;
    return done >= self.stop_at ? 1 : 0;
  }
};

TEST_F(Files, ProgressIsReported) {
  folder_.write("in", plain_);
  Watched watched;
  paraes_file_options options = PARAES_FILE_OPTIONS;
  options.progress = Watched::report;
  options.progress_context = &watched;
  ASSERT_DONE(encrypt("in", nullptr, &options));
  EXPECT_EQ(watched.most, plain_.size());
  EXPECT_EQ(watched.total, plain_.size());
  EXPECT_GE(watched.calls, 2U);
  watched.calls = 0;
  watched.most = 0;
  ASSERT_DONE(decrypt("in.paes", "out", &options));
  EXPECT_EQ(watched.most, plain_.size());
}

TEST_F(Files, CancelledWorkLeavesNothing) {
  folder_.write("in", plain_);
  folder_.write("sealed", seal(secret_.get(), plain_));
  for (const std::uint64_t stop_at : {0, 1, 3'000'000}) {
    Watched watched;
    watched.stop_at = stop_at;
    paraes_execution execution = PARAES_EXECUTION;
    execution.threads = 2;
    paraes_file_options options = PARAES_FILE_OPTIONS;
    options.execution = &execution;
    options.progress = Watched::report;
    options.progress_context = &watched;
    EXPECT_FAILS(PARAES_CANCELLED, encrypt("in", "out", &options));
    watched.calls = 0;
    EXPECT_FAILS(PARAES_CANCELLED, decrypt("sealed", "out", &options));
    watched.calls = 0;
    EXPECT_FAILS(PARAES_CANCELLED, rekey(secret_, secret_, &options));
    EXPECT_EQ(files(), 2);
  }
  EXPECT_EQ(unseal(secret_.get(), folder_.read("sealed")), plain_);
}

// A callback in C++ that throws is not the C API's, but ends no process either.
TEST_F(Files, ExceptionOfACallback_IsAnotherError) {
  folder_.write("in", plain_);
  paraes_file_options options = PARAES_FILE_OPTIONS;
  options.progress = [](void*, std::uint64_t, std::uint64_t) -> int { throw 5; };
  EXPECT_FAILS(PARAES_OTHER_ERROR, encrypt("in", "out", &options));
  EXPECT_EQ(files(), 1);
}

TEST_F(Files, AreRekeyed) {
  folder_.write("sealed", seal(secret_.get(), plain_));
  const auto to = key_secret(make_key(16, 8));
  std::uint64_t bytes = 0;
  ASSERT_DONE(rekey(secret_, to, nullptr, &bytes));
  EXPECT_EQ(bytes, plain_.size());
  EXPECT_EQ(unseal(to.get(), folder_.read("sealed")), plain_);
  const Buffer before = folder_.read("sealed");
  EXPECT_FAILS(PARAES_WRONG_KEY, rekey(secret_, to));
  EXPECT_EQ(folder_.read("sealed"), before);
  const auto c2sp = key_secret(make_key(16, 8), "c2sp");
  EXPECT_FAILS(PARAES_INVALID_ARGUMENT, rekey(c2sp, to));
  EXPECT_EQ(files(), 1);
}

TEST_F(Files, KeepTheirContextWhenRekeyed) {
  const Buffer key = make_key(32, 3);
  const auto with = [&key](const char* context) {
    paraes_secret_options options = PARAES_SECRET_OPTIONS;
    options.key = key.data();
    options.key_bytes = key.size();
    options.context = context;
    options.context_bytes = std::strlen(context);
    return support::new_secret(options);
  };
  const auto secret = with("one");
  folder_.write("sealed", seal(secret.get(), plain_));
  EXPECT_FAILS(PARAES_INVALID_ARGUMENT, rekey(secret, with("two")));
  for (const char* context : {"", "one"}) {
    ASSERT_DONE(rekey(secret, with(context)));
    EXPECT_EQ(unseal(secret.get(), folder_.read("sealed")), plain_);
  }
}

TEST_F(Files, AreReadAtAnyOffset) {
  folder_.write("sealed", seal(secret_.get(), plain_));
  const auto reader = open_reader("sealed");
  EXPECT_EQ(paraes_reader_size(reader.get()), plain_.size());
  Buffer out(100'000);
  std::size_t read = 0;
  std::uint64_t at = 0;
  // In order to the end.
  Buffer all;
  do {
    ASSERT_DONE(call(paraes_reader_read, reader, out, &read));
    all.insert(all.end(), out.begin(), out.begin() + static_cast<std::ptrdiff_t>(read));
  } while (read != 0);
  EXPECT_EQ(difference(all, plain_), "");
  ASSERT_DONE(paraes_reader_seek(reader.get(), -10, 2, &at));
  EXPECT_EQ(at, plain_.size() - 10);
  ASSERT_DONE(call(paraes_reader_read, reader, out, &read));
  EXPECT_EQ(difference(Bytes(out).first(read), Bytes(plain_).last(10)), "");
  ASSERT_DONE(paraes_reader_seek(reader.get(), 1'000'000, 0, nullptr));
  ASSERT_DONE(paraes_reader_seek(reader.get(), -7, 1, &at));
  EXPECT_EQ(at, 999'993U);
  ASSERT_DONE(paraes_reader_read_at(reader.get(), 5, out.data(), 100, &read));
  EXPECT_EQ(difference(Bytes(out).first(100), Bytes(plain_).subspan(5, 100)), "");
  ASSERT_DONE(paraes_reader_read(reader.get(), out.data(), 100, &read));
  EXPECT_EQ(difference(Bytes(out).first(100), Bytes(plain_).subspan(999'993, 100)), "")
      << "read_at has moved the position";
  ASSERT_DONE(paraes_reader_seek(reader.get(), INT64_MAX, 0, nullptr));
  ASSERT_DONE(paraes_reader_read(reader.get(), out.data(), 100, &read));
  EXPECT_EQ(read, 0U);
  EXPECT_DONE(paraes_reader_close(reader.get()));
  EXPECT_DONE(paraes_reader_close(reader.get()));
  EXPECT_EQ(paraes_reader_size(reader.get()), plain_.size());
  EXPECT_FAILS(PARAES_INVALID_ARGUMENT, paraes_reader_read(reader.get(), out.data(), 100, &read));
}

TEST_F(Files, DamageIsReadAround) {
  Buffer sealed = seal(secret_.get(), plain_);
  sealed[sealed.size() / 2] ^= 1;
  folder_.write("sealed", sealed);
  const auto reader = open_reader("sealed");
  Buffer out(100'000, 0xee);
  std::size_t read = 99;
  ASSERT_DONE(paraes_reader_seek(reader.get(), 1'480'000, 0, nullptr));
  EXPECT_FAILS(PARAES_BAD_SEGMENT, call(paraes_reader_read, reader, out, &read));
  EXPECT_EQ(read, 0U);
  std::uint64_t at = 0;
  ASSERT_DONE(paraes_reader_seek(reader.get(), 0, 1, &at));
  EXPECT_EQ(at, 1'480'000U) << "the position has moved";
  ASSERT_DONE(call(paraes_reader_read_at, reader, 2'000'000, out, &read));
  EXPECT_EQ(difference(out, Bytes(plain_).subspan(2'000'000, out.size())), "");
}

TEST_F(Files, AreWritten) {
  const auto writer = open_writer("out");
  EXPECT_EQ(files(), 0) << "the file has a name before it is complete";
  for (std::size_t at = 0; at < plain_.size(); at += 70'001) {
    const std::size_t n = std::min<std::size_t>(70'001, plain_.size() - at);
    ASSERT_DONE(paraes_writer_write(writer.get(), plain_.data() + at, n));
  }
  ASSERT_DONE(paraes_writer_close(writer.get()));
  EXPECT_DONE(paraes_writer_close(writer.get()));
  EXPECT_EQ(unseal(secret_.get(), folder_.read("out")), plain_);
  EXPECT_FAILS(PARAES_INVALID_ARGUMENT, paraes_writer_write(writer.get(), plain_.data(), 1));
  paraes_writer_abort(writer.get());
  EXPECT_EQ(files(), 1);
}

TEST_F(Files, ThatAreNotClosedDoNotAppear) {
  folder_.write("out", std::string("old"));
  paraes_file_options options = PARAES_FILE_OPTIONS;
  options.overwrite = 1;
  {
    const auto writer = open_writer("out", &options);
    ASSERT_DONE(call(paraes_writer_write, writer, plain_));
  }
  {
    const auto writer = open_writer("out", &options);
    ASSERT_DONE(call(paraes_writer_write, writer, plain_));
    paraes_writer_abort(writer.get());
    EXPECT_FAILS(PARAES_ERROR, paraes_writer_write(writer.get(), plain_.data(), 1));
    EXPECT_FAILS(PARAES_ERROR, paraes_writer_close(writer.get()));
  }
  EXPECT_EQ(folder_.text("out"), "old");
  EXPECT_EQ(files(), 1);
}

TEST_F(Files, InAChildProcess_AreReadAndNotWritten) {
  folder_.write("sealed", seal(secret_.get(), plain_));
  const auto reader = open_reader("sealed");
  const auto writer = open_writer("out");
  ASSERT_DONE(paraes_writer_write(writer.get(), plain_.data(), 10));
  Buffer out(plain_.size());
  std::size_t read = 0;
  EXPECT_TRUE(support::in_child([&] {
    const bool refused =
        paraes_writer_write(writer.get(), plain_.data(), 5) == PARAES_WRONG_PROCESS &&
        paraes_writer_close(writer.get()) == PARAES_WRONG_PROCESS;
    return refused && call(paraes_reader_read, reader, out, &read) == PARAES_OK && out == plain_;
  }));
  ASSERT_DONE(paraes_writer_write(writer.get(), plain_.data() + 10, plain_.size() - 10));
  ASSERT_DONE(paraes_writer_close(writer.get()));
  EXPECT_EQ(unseal(secret_.get(), folder_.read("out")), plain_);
}

TEST_F(Files, PipesAreNotReadAtAnyOffset) {
  ASSERT_EQ(mkfifo(path("fifo").c_str(), 0600), 0);
  paraes_reader* reader = nullptr;
  EXPECT_FAILS(PARAES_INVALID_ARGUMENT,
               paraes_reader_open(&reader, path("fifo").c_str(), secret_.get(), nullptr));
}

// ---- In place of files ----

struct Memory {
  paraes_sink sink() { return {sizeof(paraes_sink), this, write, close}; }
  paraes_source source(int many_threads) {
    return {sizeof(paraes_source), this, bytes.size(), read_at, many_threads};
  }

  Buffer bytes;
  int error = 0;
  bool closed = false;

  static int read_at(void* context, std::uint64_t offset, void* buffer, std::size_t bytes) {
    const auto& self = *static_cast<Memory*>(context);
    if (self.error != 0) return self.error;
    EXPECT_LE(offset + bytes, self.bytes.size());
    std::memcpy(buffer, self.bytes.data() + offset, bytes);
    return 0;
  }
  static int write(void* context, const void* data, std::size_t bytes) {
    auto& self = *static_cast<Memory*>(context);
    const auto* const from = static_cast<const std::uint8_t*>(data);
    self.bytes.insert(self.bytes.end(), from, from + bytes);
    return self.error;
  }
  static int close(void* context) {
    static_cast<Memory*>(context)->closed = true;
    return 0;
  }
};

TEST_F(Files, CallbacksTakeTheirPlace) {
  Memory memory;
  const paraes_sink sink = memory.sink();
  paraes_writer* made = nullptr;
  ASSERT_DONE(paraes_writer_open_sink(&made, &sink, secret_.get(), nullptr));
  const WriterHandle writer(made);
  ASSERT_DONE(call(paraes_writer_write, writer, plain_));
  EXPECT_FALSE(memory.closed);
  ASSERT_DONE(paraes_writer_close(writer.get()));
  EXPECT_TRUE(memory.closed);
  EXPECT_EQ(unseal(secret_.get(), memory.bytes), plain_);

  for (const int many_threads : {0, 1}) {
    const paraes_source source = memory.source(many_threads);
    paraes_reader* opened = nullptr;
    ASSERT_DONE(paraes_reader_open_source(&opened, &source, secret_.get(), nullptr));
    const ReaderHandle reader(opened);
    Buffer out(plain_.size());
    std::size_t read = 0;
    ASSERT_DONE(call(paraes_reader_read, reader, out, &read));
    EXPECT_EQ(difference(out, plain_), "");
    EXPECT_DONE(paraes_reader_close(reader.get()));
  }
}

TEST_F(Files, ErrorsOfCallbacksArePassedOn) {
  Memory memory;
  memory.bytes = seal(secret_.get(), plain_);
  const paraes_source source = memory.source(0);
  paraes_reader* opened = nullptr;
  ASSERT_DONE(paraes_reader_open_source(&opened, &source, secret_.get(), nullptr));
  const ReaderHandle reader(opened);
  memory.error = EIO;
  Buffer out(100);
  std::size_t read = 0;
  EXPECT_FAILS(PARAES_IO_ERROR, paraes_reader_read(reader.get(), out.data(), 100, &read));
  EXPECT_EQ(paraes_error_errno(), EIO);
  EXPECT_STREQ(paraes_error_path(), "") << "it is no file";
  memory.error = 0;
  EXPECT_DONE(paraes_reader_read(reader.get(), out.data(), 100, &read));
  EXPECT_EQ(difference(out, Bytes(plain_).first(100)), "");

  memory.error = ENOSPC;
  const paraes_sink sink = memory.sink();
  paraes_writer* made = nullptr;
  ASSERT_DONE(paraes_writer_open_sink(&made, &sink, secret_.get(), nullptr));
  const WriterHandle writer(made);
  EXPECT_FAILS(PARAES_IO_ERROR, call(paraes_writer_write, writer, plain_));
  EXPECT_EQ(paraes_error_errno(), ENOSPC);
  EXPECT_FAILS(PARAES_ERROR, paraes_writer_close(writer.get()));
}

}  // namespace
}  // namespace paraes
