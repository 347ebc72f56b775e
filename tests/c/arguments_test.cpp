// Every function of paraes.h with NULL, zero sizes and wrong sizes.

#include <gtest/gtest.h>

#include <climits>
#include <cstring>
#include <fstream>
#include <iterator>
#include <memory>
#include <regex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "paraes/error.hpp"
#include "tests/c/c_api.hpp"
#include "tests/support/buffers.hpp"
#include "tests/support/temporary_folder.hpp"

namespace paraes {
namespace {

using support::Buffer;
using support::make_key;
using support::pattern;

// The place where a function puts a new object, which `handle` owns from then on; or NULL.
template <class Handle>
class Place {
 public:
  Place(Handle& handle, bool is_null) : handle_(handle), is_null_(is_null) {}
  ~Place() { handle_.reset(made_); }
  Place(const Place&) = delete;
  Place& operator=(const Place&) = delete;
  operator typename Handle::pointer *() { return is_null_ ? nullptr : &made_; }

 private:
  Handle& handle_;
  bool is_null_;
  typename Handle::pointer made_ = nullptr;
};

using KernelListHandle =
    std::unique_ptr<paraes_kernel_list,
                    support::Release<paraes_kernel_list, paraes_kernel_list_free>>;
using DeviceListHandle =
    std::unique_ptr<paraes_device_list,
                    support::Release<paraes_device_list, paraes_device_list_free>>;

// A structure of a later version, with a member that this version does not know.
template <class Known>
struct Larger {
  Known known = {};
  std::uint64_t later = 0;
};

// Valid arguments of all functions, until a case changes some of them.
struct Arguments {
  Arguments() {
    message.nonce = nonce;
    message.nonce_bytes = nonce_bytes;
    message.in = in;
    message.bytes = bytes;
    message.out = out;
    message.tag = tag;
    message.tag_bytes = tag_bytes;
    options = PARAES_SECRET_OPTIONS;
    options.key = key;
    options.key_bytes = key_bytes;
    folder.write("file", sealed_text);
    folder.write("key", valid_key);
    source.context = this;
    source.bytes = sealed_bytes;
    source.read_at = [](void* context, std::uint64_t at, void* buffer, std::size_t count) {
      std::memcpy(buffer, static_cast<Arguments*>(context)->sealed_text.data() + at, count);
      return 0;
    };
    sink.write = [](void*, const void*, std::size_t) { return 0; };
    EXPECT_DONE(paraes_encryptor_new(place(encryptor), secret.get(), nullptr));
    EXPECT_DONE(paraes_decryptor_new(place(decryptor), secret.get(), nullptr));
    EXPECT_DONE(paraes_reader_open(place(reader), from, secret.get(), nullptr));
    EXPECT_DONE(paraes_writer_open_sink(place(writer), &sink, secret.get(), nullptr));
  }

  template <class Handle>
  Place<Handle> place(Handle& handle) {
    return {handle, place_is_null};
  }
  // Leaves the options of a secret without one.
  void without_key() {
    options.key = nullptr;
    options.key_bytes = 0;
  }
  void close_reader() { EXPECT_DONE(paraes_reader_close(reader.get())); }
  void close_writer() { EXPECT_DONE(paraes_writer_close(writer.get())); }

  const Buffer valid_key = make_key(32);
  const Buffer block16 = pattern(16);
  const Buffer text = pattern(64);
  Buffer room = Buffer(4096);
  Buffer valid_tag = Buffer(16);

  support::GcmHandle gcm = support::new_gcm(valid_key);
  support::BlockHandle block = support::new_block(valid_key);
  support::XtsHandle xts = support::new_xts(valid_key, 0);
  support::SecretHandle secret = support::key_secret(valid_key);
  support::SecretHandle new_secret = support::key_secret(valid_key);
  support::EncryptorHandle encryptor;
  support::DecryptorHandle decryptor;
  support::ReaderHandle reader;
  support::WriterHandle writer;
  KernelListHandle kernels;
  DeviceListHandle devices;
  bool place_is_null = false;

  const void* key = valid_key.data();
  std::size_t key_bytes = 32;
  std::size_t unit_bytes = 0;
  const void* nonce = block16.data();
  std::size_t nonce_bytes = 12;
  const void* iv = block16.data();
  std::uint64_t offset = 0;
  std::size_t aad_bytes = 0;  // of NULL
  const void* in = text.data();
  std::size_t bytes = 64;
  void* out = room.data();
  std::size_t capacity = 4096;
  std::size_t joined_bytes = 80;  // of the text with its tag
  std::size_t opened_bytes = 48;  // of the text without a tag
  void* tag = valid_tag.data();
  std::size_t tag_bytes = 16;
  Larger<paraes_gcm_message> larger_message;
  paraes_gcm_message& message = larger_message.known;
  paraes_gcm_message* messages = &message;
  std::size_t message_bytes = sizeof(paraes_gcm_message);

  Larger<paraes_secret_options> larger_options;
  paraes_secret_options& options = larger_options.known;
  const paraes_secret_options* options_of_secret = &options;
  const char* names[1] = {nullptr};
  const Buffer sealed_text = support::seal(secret.get(), text);
  const void* sealed = sealed_text.data();
  std::size_t sealed_bytes = sealed_text.size();
  std::size_t range_bytes = 1;
  std::size_t size = 0;
  std::size_t* written = &size;

  const support::TemporaryFolder folder;
  const std::string file = folder.path("file");
  const std::string other = folder.path("other");
  const std::string key_file = folder.path("key");
  const std::string directory = folder.path("");
  const char* from = file.c_str();
  const char* to = other.c_str();
  const char* path_of_key = key_file.c_str();
  paraes_file_options some_options = PARAES_FILE_OPTIONS;
  const paraes_file_options* file_options = nullptr;
  paraes_source source = PARAES_SOURCE;
  const paraes_source* from_source = &source;
  paraes_sink sink = PARAES_SINK;
  const paraes_sink* to_sink = &sink;
  std::int64_t position = 0;
  int whence = 0;

  const char* kernel = "auto";
  const char* device = "cpu";
  const void* const device_keys[1] = {key};
  const void* const* keys = device_keys;
  paraes_stream stream = PARAES_STREAM;
  const paraes_stream* on_stream = nullptr;
  paraes_kernel_info kernel_info = PARAES_KERNEL_INFO;
  paraes_device_info device_info = PARAES_DEVICE_INFO;
  paraes_device_gcm* device_gcm = nullptr;
  paraes_device_ctr* device_ctr = nullptr;
  paraes_device_verdict* verdict = nullptr;
  int ready = 0;
};

struct Change {
  const char* what;  // is wrong
  void (*make)(Arguments& a);
  int code = PARAES_INVALID_ARGUMENT;
};

struct Call {
  const char* function;
  int (*with)(Arguments& a);
};

struct Function {
  Call call;
  std::vector<Change> changes;
  int code = PARAES_OK;  // without a change
};

// A call of `function` with these members of the Arguments `a`.
// clang-format off
#define CALL(function, ...) \
  Call { #function, []([[maybe_unused]] Arguments& a) { return function(__VA_ARGS__); } }
// clang-format on
// Change::make as a list of expressions.
#define WITH(...) [](Arguments& a) { static_cast<void>((__VA_ARGS__)); }

std::vector<Function> functions() {
  return {
      {CALL(paraes_random_bytes, a.out, a.bytes), {{"NULL", WITH(a.out = nullptr)}}},
      {CALL(paraes_random_key, a.out, a.key_bytes),
       {{"NULL", WITH(a.out = nullptr)},
        {"size 0", WITH(a.key_bytes = 0)},
        {"size 17", WITH(a.key_bytes = 17)}}},
      {CALL(paraes_kernels, 0, a.place(a.kernels)), {{"NULL", WITH(a.place_is_null = true)}}},
      {CALL(paraes_select_kernel, a.kernel, a.device, 0, a.place(a.kernels)),
       {{"NULL place", WITH(a.place_is_null = true)},
        {"unknown", WITH(a.kernel = "none"), PARAES_UNKNOWN_KERNEL},
        {"a device that is none", WITH(a.device = "gpu")}}},
      {CALL(paraes_kernel_at, nullptr, 0, &a.kernel_info), {}, PARAES_INVALID_ARGUMENT},
      {CALL(paraes_devices, a.place(a.devices)), {{"NULL", WITH(a.place_is_null = true)}}},
      {CALL(paraes_device_at, nullptr, 0, &a.device_info), {}, PARAES_INVALID_ARGUMENT},

      {CALL(paraes_gcm_key_new, a.place(a.gcm), a.key, a.key_bytes, nullptr),
       {{"NULL place", WITH(a.place_is_null = true)},
        {"NULL key", WITH(a.key = nullptr)},
        {"size 0", WITH(a.key = nullptr, a.key_bytes = 0)},
        {"size 31", WITH(a.key_bytes = 31)}}},
      {CALL(paraes_gcm_encrypt, a.gcm.get(), a.nonce, a.nonce_bytes, nullptr, a.aad_bytes, a.in,
            a.bytes, a.out, a.tag),
       {{"NULL handle", WITH(a.gcm.reset())},
        {"NULL nonce", WITH(a.nonce = nullptr)},
        {"nonce of 0 bytes", WITH(a.nonce = nullptr, a.nonce_bytes = 0)},
        {"NULL associated data", WITH(a.aad_bytes = 1)},
        {"NULL input", WITH(a.in = nullptr)},
        {"NULL output", WITH(a.out = nullptr)},
        {"NULL tag", WITH(a.tag = nullptr)},
        {"output that overlaps the input partly",
         WITH(a.in = a.room.data(), a.out = a.room.data() + 1)}}},
      {CALL(paraes_gcm_decrypt, a.gcm.get(), a.nonce, a.nonce_bytes, nullptr, a.aad_bytes, a.in,
            a.bytes, a.out, a.tag, a.tag_bytes),
       {{"NULL handle", WITH(a.gcm.reset())},
        {"NULL tag", WITH(a.tag = nullptr)},
        {"tag of 0 bytes", WITH(a.tag = nullptr, a.tag_bytes = 0)},
        {"tag of 17 bytes", WITH(a.tag = a.room.data() + 100, a.tag_bytes = 17)}},
       PARAES_INTEGRITY_ERROR},
      {CALL(paraes_gcm_encrypt_into, a.gcm.get(), a.nonce, a.nonce_bytes, nullptr, a.aad_bytes,
            a.in, a.bytes, a.out, a.joined_bytes),
       {{"NULL handle", WITH(a.gcm.reset())},
        {"output of another size", WITH(a.joined_bytes = 79)},
        {"size whose tag does not fit", WITH(a.bytes = SIZE_MAX - 3, a.joined_bytes = 12)},
        {"the same for an output of 0 bytes", WITH(a.bytes = SIZE_MAX - 15, a.joined_bytes = 0)},
        {"tag over the nonce", WITH(a.nonce = a.room.data() + 64)},
        {"tag over the end of the input", WITH(a.in = a.room.data() + 64)}}},
      {CALL(paraes_gcm_decrypt_into, a.gcm.get(), a.nonce, a.nonce_bytes, nullptr, a.aad_bytes,
            a.in, a.bytes, a.out, a.opened_bytes),
       {{"NULL handle", WITH(a.gcm.reset())},
        {"input shorter than a tag", WITH(a.bytes = 15, a.opened_bytes = 0)},
        {"output of another size", WITH(a.opened_bytes = 64)}},
       PARAES_INTEGRITY_ERROR},
      {CALL(paraes_gcm_encrypt_many, a.gcm.get(), a.messages, 1, a.message_bytes),
       {{"NULL handle", WITH(a.gcm.reset())},
        {"NULL messages", WITH(a.messages = nullptr)},
        {"size 0 of a message", WITH(a.message_bytes = 0)},
        {"size of a message that its members do not allow", WITH(++a.message_bytes)},
        {"value in a member of a later version",
         WITH(a.larger_message.later = 1, a.message_bytes = sizeof a.larger_message)},
        {"NULL tag", WITH(a.message.tag = nullptr)},
        {"tag of 12 bytes", WITH(a.message.tag_bytes = 12)}}},
      {CALL(paraes_gcm_decrypt_many, a.gcm.get(), a.messages, 1, a.message_bytes),
       {{"NULL handle", WITH(a.gcm.reset())}, {"NULL text", WITH(a.message.in = nullptr)}},
       PARAES_INTEGRITY_ERROR},

      {CALL(paraes_block_key_new, a.place(a.block), a.key, a.key_bytes, nullptr),
       {{"NULL place", WITH(a.place_is_null = true)}, {"size 8", WITH(a.key_bytes = 8)}}},
      {CALL(paraes_ctr, a.block.get(), a.iv, a.offset, a.in, a.bytes, a.out),
       {{"NULL handle", WITH(a.block.reset())},
        {"NULL counter", WITH(a.iv = nullptr)},
        {"end of the stream", WITH(a.offset = UINT64_MAX - 3)}}},
      {CALL(paraes_cbc_encrypt, a.block.get(), a.iv, a.in, a.bytes, a.out),
       {{"NULL handle", WITH(a.block.reset())},
        {"NULL IV", WITH(a.iv = nullptr)},
        {"a part of a block", WITH(a.bytes = 63)}}},
      {CALL(paraes_cbc_decrypt, a.block.get(), a.iv, a.in, a.bytes, a.out),
       {{"NULL handle", WITH(a.block.reset())}, {"NULL output", WITH(a.out = nullptr)}}},
      {CALL(paraes_ecb_encrypt, a.block.get(), a.in, a.bytes, a.out),
       {{"NULL handle", WITH(a.block.reset())}, {"a part of a block", WITH(a.bytes = 1)}}},
      {CALL(paraes_ecb_decrypt, a.block.get(), a.in, a.bytes, a.out),
       {{"NULL handle", WITH(a.block.reset())}, {"NULL input", WITH(a.in = nullptr)}}},
      {CALL(paraes_xts_key_new, a.place(a.xts), a.key, a.key_bytes, a.unit_bytes, nullptr),
       {{"NULL place", WITH(a.place_is_null = true)},
        {"size 16", WITH(a.key_bytes = 16)},
        {"halves that are equal", WITH(a.key = a.room.data())},
        {"data units of 15 bytes", WITH(a.unit_bytes = 15)}}},
      {CALL(paraes_xts_encrypt, a.xts.get(), a.iv, a.in, a.bytes, a.out),
       {{"NULL handle", WITH(a.xts.reset())}, {"0 bytes", WITH(a.bytes = 0)}}},
      {CALL(paraes_xts_decrypt, a.xts.get(), a.iv, a.in, a.bytes, a.out),
       {{"NULL handle", WITH(a.xts.reset())}, {"NULL unit", WITH(a.iv = nullptr)}}},

      {CALL(paraes_secret_new, a.place(a.secret), a.options_of_secret),
       {{"NULL place", WITH(a.place_is_null = true)},
        {"NULL options", WITH(a.options_of_secret = nullptr)},
        {"no secret", WITH(a.without_key())},
        {"two secrets", WITH(a.options.passphrase = "x", a.options.passphrase_bytes = 1)},
        {"NULL key", WITH(a.options.key = nullptr)},
        {"key of 17 bytes", WITH(a.options.key_bytes = 17), PARAES_WRONG_KEY_SIZE},
        {"key file that is missing", WITH(a.without_key(), a.options.key_file = a.to),
         PARAES_IO_ERROR},
        {"empty passphrase", WITH(a.without_key(), a.options.passphrase = "")},
        {"NULL recipient",
         WITH(a.without_key(), a.options.recipients = a.names, a.options.recipient_count = 1)},
        {"NULL list of identities", WITH(a.without_key(), a.options.identity_count = 1)},
        {"unknown format", WITH(a.options.format = "zip")},
        {"long context", WITH(a.options.context = a.out, a.options.context_bytes = 513)},
        {"option of another format", WITH(a.options.tink_hash = "sha1")},
        {"size 0 of the options", WITH(a.options.size = 0)},
        {"a size that no structure has", WITH(a.options.size = SIZE_MAX)},
        {"cost of scrypt for a key", WITH(a.options.scrypt_log2n = 15)},
        {"cost of scrypt for recipients",
         WITH(a.without_key(), a.names[0] = "age1x", a.options.recipients = a.names,
              a.options.recipient_count = 1, a.options.scrypt_log2n = 15)},
        {"size of new keys for identities",
         WITH(a.without_key(), a.names[0] = a.from, a.options.identities = a.names,
              a.options.identity_count = 1, a.options.key_bits = 128)},
        {"segments of tink that are too small",
         WITH(a.options.format = "tink", a.options.segment_size = 1)},
        {"value in a member of a later version",
         WITH(a.larger_options.later = 1, a.options.size = sizeof a.larger_options)},
        {"a cost of scrypt that is too high", WITH(a.options.scrypt_log2n = 41)},
        {"a limit for scrypt that is too high", WITH(a.options.max_scrypt_log2n = UINT_MAX)}}},
      {CALL(paraes_secret_from_key, a.place(a.secret), a.key, a.key_bytes),
       {{"NULL key", WITH(a.key = nullptr)},
        {"size 0", WITH(a.key_bytes = 0), PARAES_WRONG_KEY_SIZE}}},
      {CALL(paraes_secret_from_key_file, a.place(a.secret), a.path_of_key),
       {{"NULL path", WITH(a.path_of_key = nullptr)}}},
      {CALL(paraes_secret_from_passphrase, a.place(a.secret), a.key, a.key_bytes),
       {{"0 bytes", WITH(a.key = nullptr, a.key_bytes = 0)}}},

      {CALL(paraes_seal, a.secret.get(), a.in, a.bytes, a.out, a.capacity, a.written, nullptr),
       {{"NULL secret", WITH(a.secret.reset())},
        {"NULL text", WITH(a.in = nullptr)},
        {"NULL output", WITH(a.out = nullptr)},
        {"NULL size", WITH(a.written = nullptr)},
        {"output that is too small", WITH(a.capacity = a.sealed_bytes - 1)},
        {"output over the input", WITH(a.in = a.out)}}},
      {CALL(paraes_unseal, a.secret.get(), a.sealed, a.sealed_bytes, a.out, a.capacity, a.written,
            nullptr),
       {{"NULL secret", WITH(a.secret.reset())},
        {"0 bytes", WITH(a.sealed = nullptr, a.sealed_bytes = 0), PARAES_INTEGRITY_ERROR},
        {"output that is too small", WITH(a.capacity = 63)}}},
      {CALL(paraes_unseal_range, a.secret.get(), a.sealed, a.sealed_bytes, a.offset, a.out,
            a.range_bytes, nullptr),
       {{"NULL secret", WITH(a.secret.reset())},
        {"range beyond the end", WITH(a.offset = 60, a.range_bytes = 5)}}},

      {CALL(paraes_encryptor_new, a.place(a.encryptor), a.secret.get(), nullptr),
       {{"NULL place", WITH(a.place_is_null = true)}, {"NULL secret", WITH(a.secret.reset())}}},
      {CALL(paraes_encryptor_update, a.encryptor.get(), a.in, a.bytes, a.out, a.capacity,
            a.written),
       {{"NULL handle", WITH(a.encryptor.reset())},
        {"NULL text", WITH(a.in = nullptr)},
        {"output that is too small",
         WITH(a.capacity = paraes_encryptor_bound(a.encryptor.get(), 64) - 1)},
        {"more bytes than a message has", WITH(a.bytes = SIZE_MAX - 5)}}},
      {CALL(paraes_encryptor_finish, a.encryptor.get(), a.out, a.capacity, a.written),
       {{"NULL handle", WITH(a.encryptor.reset())},
        {"0 bytes of room", WITH(a.out = nullptr, a.capacity = 0)}}},
      {CALL(paraes_decryptor_new, a.place(a.decryptor), a.secret.get(), nullptr),
       {{"NULL place", WITH(a.place_is_null = true)}, {"NULL secret", WITH(a.secret.reset())}}},
      {CALL(paraes_decryptor_update, a.decryptor.get(), a.sealed, a.sealed_bytes, a.out, a.capacity,
            a.written),
       {{"NULL handle", WITH(a.decryptor.reset())},
        {"output that is too small", WITH(a.capacity = a.sealed_bytes - 1)},
        {"more bytes than a message has", WITH(a.sealed_bytes = SIZE_MAX - 5)}}},
      {CALL(paraes_decryptor_finish, a.decryptor.get(), a.out, a.capacity, a.written),
       {{"NULL handle", WITH(a.decryptor.reset())},
        {"NULL size", WITH(a.written = nullptr)},
        {"nothing came", WITH(a.out = nullptr, a.capacity = 0), PARAES_INTEGRITY_ERROR}},
       PARAES_INTEGRITY_ERROR},

      {CALL(paraes_encrypt_file, a.from, a.to, a.secret.get(), a.file_options, nullptr),
       {{"NULL path", WITH(a.from = nullptr)},
        {"NULL secret", WITH(a.secret.reset())},
        {"missing file", WITH(a.from = a.to, a.to = nullptr), PARAES_IO_ERROR},
        {"its own output",
         WITH(a.to = a.from, a.some_options.overwrite = 1, a.file_options = &a.some_options)},
        {"a device", WITH(a.from = "/dev/null")}}},
      {CALL(paraes_decrypt_file, a.from, a.to, a.secret.get(), nullptr, nullptr),
       {{"NULL path", WITH(a.from = nullptr)}, {"name without .paes", WITH(a.to = nullptr)}}},
      {CALL(paraes_verify_file, a.from, a.secret.get(), a.file_options, nullptr),
       {{"NULL path", WITH(a.from = nullptr)},
        {"small options", WITH(a.some_options.size = 8, a.file_options = &a.some_options)}}},
      {CALL(paraes_rekey_file, a.from, a.secret.get(), a.new_secret.get(), nullptr, nullptr),
       {{"NULL path", WITH(a.from = nullptr)}, {"NULL new secret", WITH(a.new_secret.reset())}}},

      {CALL(paraes_reader_open, a.place(a.reader), a.from, a.secret.get(), nullptr),
       {{"NULL place", WITH(a.place_is_null = true)},
        {"NULL path", WITH(a.from = nullptr)},
        {"NULL secret", WITH(a.secret.reset())},
        {"a folder", WITH(a.from = a.directory.c_str()), PARAES_IO_ERROR}}},
      {CALL(paraes_reader_open_source, a.place(a.reader), a.from_source, a.secret.get(), nullptr),
       {{"NULL source", WITH(a.from_source = nullptr)},
        {"NULL callback", WITH(a.source.read_at = nullptr)},
        {"0 bytes", WITH(a.source.bytes = 0), PARAES_INTEGRITY_ERROR}}},
      {CALL(paraes_reader_read, a.reader.get(), a.out, 1, a.written),
       {{"NULL handle", WITH(a.reader.reset())},
        {"NULL output", WITH(a.out = nullptr)},
        {"NULL size", WITH(a.written = nullptr)}}},
      {CALL(paraes_reader_read_at, a.reader.get(), 0, a.out, 1, a.written),
       {{"NULL handle", WITH(a.reader.reset())}, {"closed", WITH(a.close_reader())}}},
      {CALL(paraes_reader_seek, a.reader.get(), a.position, a.whence, nullptr),
       {{"NULL handle", WITH(a.reader.reset())},
        {"whence 3", WITH(a.whence = 3)},
        {"before the beginning", WITH(a.position = -1)},
        {"the least offset", WITH(a.position = INT64_MIN, a.whence = 2)}}},
      {CALL(paraes_reader_close, a.reader.get()), {{"NULL", WITH(a.reader.reset())}}},

      {CALL(paraes_writer_open, a.place(a.writer), a.to, a.secret.get(), nullptr),
       {{"NULL place", WITH(a.place_is_null = true)},
        {"NULL path", WITH(a.to = nullptr)},
        {"a file that exists", WITH(a.to = a.from), PARAES_TARGET_EXISTS}}},
      {CALL(paraes_writer_open_sink, a.place(a.writer), a.to_sink, a.secret.get(), nullptr),
       {{"NULL sink", WITH(a.to_sink = nullptr)}, {"NULL callback", WITH(a.sink.write = nullptr)}}},
      {CALL(paraes_writer_write, a.writer.get(), a.in, a.bytes),
       {{"NULL handle", WITH(a.writer.reset())},
        {"NULL data", WITH(a.in = nullptr)},
        {"closed", WITH(a.close_writer())}}},
      {CALL(paraes_writer_close, a.writer.get()),
       {{"NULL", WITH(a.writer.reset())},
        {"aborted", WITH(paraes_writer_abort(a.writer.get())), PARAES_ERROR}}},

      {CALL(paraes_device_work_ready, nullptr, &a.ready), {}, PARAES_INVALID_ARGUMENT},
      {CALL(paraes_device_verdict_ready, nullptr, &a.ready), {}, PARAES_INVALID_ARGUMENT},
      {CALL(paraes_device_verdict_at, nullptr, 0), {}, PARAES_INVALID_ARGUMENT},
      {CALL(paraes_device_verdict_all, nullptr), {}, PARAES_INVALID_ARGUMENT},
      {CALL(paraes_device_gcm_new, &a.device_gcm, a.on_stream, a.keys, 1, 32, nullptr),
       {{"NULL keys", WITH(a.on_stream = &a.stream, a.stream.device = "opencl", a.keys = nullptr)},
        {"a CPU", WITH(a.on_stream = &a.stream, a.stream.device = "cpu")}},
       PARAES_INVALID_ARGUMENT},
      {CALL(paraes_device_gcm_wait_for, nullptr, nullptr, nullptr), {}, PARAES_INVALID_ARGUMENT},
      {CALL(paraes_device_gcm_encrypt, nullptr, nullptr, nullptr, nullptr, 0,
            sizeof(paraes_device_message), nullptr, nullptr),
       {},
       PARAES_INVALID_ARGUMENT},
      {CALL(paraes_device_gcm_decrypt, nullptr, nullptr, nullptr, nullptr, 0,
            sizeof(paraes_device_message), nullptr, &a.verdict),
       {},
       PARAES_INVALID_ARGUMENT},
      {CALL(paraes_device_gcm_encrypt_texts, nullptr, nullptr, 0, sizeof(paraes_device_text),
            nullptr, nullptr),
       {},
       PARAES_INVALID_ARGUMENT},
      {CALL(paraes_device_gcm_decrypt_texts, nullptr, nullptr, 0, sizeof(paraes_device_text),
            nullptr, &a.verdict),
       {},
       PARAES_INVALID_ARGUMENT},
      {CALL(paraes_device_ctr_new, &a.device_ctr, a.on_stream, a.keys, 1, 32, nullptr),
       {},
       PARAES_INVALID_ARGUMENT},
      {CALL(paraes_device_ctr_wait_for, nullptr, nullptr, nullptr), {}, PARAES_INVALID_ARGUMENT},
      {CALL(paraes_device_ctr_process, nullptr, nullptr, nullptr, nullptr, 0,
            sizeof(paraes_device_message), nullptr, nullptr),
       {},
       PARAES_INVALID_ARGUMENT},
      {CALL(paraes_device_ctr_process_texts, nullptr, nullptr, 0, sizeof(paraes_device_text),
            nullptr, nullptr),
       {},
       PARAES_INVALID_ARGUMENT},
  };
}

// Functions without a code: what they do with NULL.
const std::set<std::string> without_code = {
    "paraes_error_message",   "paraes_error_code",      "paraes_error_errno",
    "paraes_error_path",      "paraes_error_offset",    "paraes_is_a",
    "paraes_exit_status",     "paraes_version",         "paraes_wipe",
    "paraes_cpu_features",    "paraes_cpu_model",       "paraes_limit_threads",
    "paraes_kernel_count",    "paraes_device_count",    "paraes_secret_cancel",
    "paraes_seal_bound",      "paraes_reader_size",     "paraes_writer_abort",
    "paraes_available_cores", "paraes_encryptor_bound", "paraes_decryptor_bound"};

std::set<std::string> functions_of_the_library() {
  std::ifstream file(PARAES_C_MAP);
  const std::string text(std::istreambuf_iterator<char>(file), {});
  const std::regex name("\\b(paraes_\\w+);");
  std::set<std::string> names;
  for (std::sregex_iterator i(text.begin(), text.end(), name), end; i != end; ++i) {
    names.insert((*i)[1]);
  }
  return names;
}

TEST(Arguments, WrongOnesAreRefusedByEveryFunction) {
  std::set<std::string> tested = without_code;
  for (const Function& function : functions()) {
    SCOPED_TRACE(function.call.function);
    tested.insert(function.call.function);
    Arguments unchanged;
    EXPECT_EQ(function.call.with(unchanged), function.code) << paraes_error_message();
    for (const Change& change : function.changes) {
      SCOPED_TRACE(change.what);
      Arguments changed;
      change.make(changed);
      const Buffer before = changed.room;
      EXPECT_FAILS(change.code, function.call.with(changed));
      EXPECT_EQ(changed.room, before) << "the output was written to";
    }
  }
  for (const std::string& function : functions_of_the_library()) {
    if (function.ends_with("_free")) continue;
    EXPECT_EQ(tested.count(function), 1U) << function << " is not tested";
  }
  EXPECT_GT(functions_of_the_library().size(), 90U);
}

// A handle that could not be made is NULL.
TEST(Arguments, FailedConstructors_SetTheHandleToNull) {
  Buffer memory(1);
  auto* gcm = reinterpret_cast<paraes_gcm_key*>(memory.data());
  EXPECT_FAILS(PARAES_INVALID_ARGUMENT, paraes_gcm_key_new(&gcm, memory.data(), 1, nullptr));
  EXPECT_EQ(gcm, nullptr);
  auto* secret = reinterpret_cast<paraes_secret*>(memory.data());
  EXPECT_FAILS(PARAES_INVALID_ARGUMENT, paraes_secret_new(&secret, nullptr));
  EXPECT_EQ(secret, nullptr);
}

TEST(Arguments, MoreBytesThanAMessageHas_HaveNoBound) {
  const Arguments a;
  EXPECT_EQ(paraes_encryptor_bound(a.encryptor.get(), SIZE_MAX), 0U);
  EXPECT_EQ(paraes_decryptor_bound(a.decryptor.get(), SIZE_MAX), 0U);
}

TEST(Arguments, NullIsNothingToFree) {
  paraes_gcm_key_free(nullptr);
  paraes_block_key_free(nullptr);
  paraes_xts_key_free(nullptr);
  paraes_secret_free(nullptr);
  paraes_secret_cancel(nullptr);
  paraes_encryptor_free(nullptr);
  paraes_decryptor_free(nullptr);
  paraes_reader_free(nullptr);
  paraes_writer_abort(nullptr);
  paraes_writer_free(nullptr);
  paraes_kernel_list_free(nullptr);
  paraes_device_list_free(nullptr);
  paraes_device_work_free(nullptr);
  paraes_device_verdict_free(nullptr);
  paraes_device_gcm_free(nullptr);
  paraes_device_ctr_free(nullptr);
  paraes_wipe(nullptr, 5);
  EXPECT_EQ(paraes_kernel_count(nullptr), 0U);
  EXPECT_EQ(paraes_device_count(nullptr), 0U);
  EXPECT_EQ(paraes_reader_size(nullptr), 0U);
  EXPECT_EQ(paraes_encryptor_bound(nullptr, 5), 0U);
  EXPECT_EQ(paraes_decryptor_bound(nullptr, 5), 0U);
  EXPECT_EQ(paraes_seal_bound(nullptr, 5), 0U);
}

TEST(Arguments, ZeroBytesAreAMessage) {
  const auto gcm = support::new_gcm(make_key(16));
  Buffer tag(16);
  EXPECT_DONE(paraes_gcm_encrypt(gcm.get(), tag.data(), 12, nullptr, 0, nullptr, 0, nullptr,
                                 Buffer(16).data()));
  const auto block = support::new_block(make_key(16));
  EXPECT_DONE(paraes_ctr(block.get(), tag.data(), 0, nullptr, 0, nullptr));
  EXPECT_DONE(paraes_cbc_encrypt(block.get(), tag.data(), nullptr, 0, nullptr));
  EXPECT_DONE(paraes_ecb_decrypt(block.get(), nullptr, 0, nullptr));
  EXPECT_DONE(paraes_random_bytes(nullptr, 0));
  const auto secret = support::key_secret(make_key(16));
  const Buffer sealed = support::seal(secret.get(), {});
  EXPECT_EQ(support::unseal(secret.get(), sealed), Buffer());
  std::size_t written = 1;
  EXPECT_DONE(
      paraes_unseal(secret.get(), sealed.data(), sealed.size(), nullptr, 0, &written, nullptr));
  EXPECT_EQ(written, 0U);
  EXPECT_DONE(
      paraes_unseal_range(secret.get(), sealed.data(), sealed.size(), 0, nullptr, 0, nullptr));
}

// Options of a later version that are not set, and those of no version.
TEST(Arguments, LargerOptions_AreAcceptedIfTheRestIsZero) {
  struct {
    paraes_execution execution = PARAES_EXECUTION;
    std::uint64_t later[4] = {};
  } larger;
  larger.execution.size = sizeof larger;
  larger.execution.threads = 2;
  const Buffer key = make_key(16);
  paraes_gcm_key* gcm = nullptr;
  EXPECT_DONE(paraes_gcm_key_new(&gcm, key.data(), 16, &larger.execution));
  paraes_gcm_key_free(gcm);
  larger.later[3] = 1;
  EXPECT_FAILS(PARAES_INVALID_ARGUMENT,
               paraes_gcm_key_new(&gcm, key.data(), 16, &larger.execution));
  paraes_execution all_zero;
  std::memset(&all_zero, 0, sizeof all_zero);
  EXPECT_FAILS(PARAES_INVALID_ARGUMENT, paraes_gcm_key_new(&gcm, key.data(), 16, &all_zero));
  all_zero.size = sizeof all_zero;
  EXPECT_DONE(paraes_gcm_key_new(&gcm, key.data(), 16, &all_zero));
  paraes_gcm_key_free(gcm);
  all_zero.threads = 4097;
  EXPECT_FAILS(PARAES_INVALID_ARGUMENT, paraes_gcm_key_new(&gcm, key.data(), 16, &all_zero));
  all_zero.threads = 1;
  all_zero.kernel = "none";
  EXPECT_FAILS(PARAES_UNKNOWN_KERNEL, paraes_gcm_key_new(&gcm, key.data(), 16, &all_zero));
  all_zero.kernel = "reference";
  EXPECT_DONE(paraes_gcm_key_new(&gcm, key.data(), 16, &all_zero));
  paraes_gcm_key_free(gcm);
}

TEST(Errors, BelongToTheirThread) {
  EXPECT_FAILS(PARAES_INVALID_ARGUMENT, paraes_random_bytes(nullptr, 1));
  const std::string message = paraes_error_message();
  std::thread([] {
    EXPECT_EQ(paraes_error_code(), PARAES_OK);
    EXPECT_STREQ(paraes_error_message(), "");
    EXPECT_STREQ(paraes_error_path(), "");
    paraes_reader* reader = nullptr;
    const auto secret = support::key_secret(make_key(16));
    EXPECT_FAILS(PARAES_IO_ERROR,
                 paraes_reader_open(&reader, "/none/there", secret.get(), nullptr));
    EXPECT_EQ(paraes_error_errno(), ENOENT);
    EXPECT_STREQ(paraes_error_path(), "/none/there");
  }).join();
  EXPECT_EQ(message, paraes_error_message());
  EXPECT_EQ(paraes_error_errno(), 0);
  EXPECT_EQ(paraes_error_offset(), UINT64_MAX);
}

TEST(Errors, AreKindsOfOthersAsTheirClassesAre) {
  for (int code = PARAES_OUT_OF_MEMORY; code <= PARAES_CANCELLED; ++code) {
    for (int base = PARAES_OUT_OF_MEMORY; base <= PARAES_CANCELLED; ++base) {
      EXPECT_EQ(paraes_is_a(code, base) != 0,
                is_a(static_cast<ErrorKind>(code), static_cast<ErrorKind>(base)));
    }
  }
  EXPECT_EQ(paraes_is_a(PARAES_OK, PARAES_ERROR), 0);
  EXPECT_EQ(paraes_is_a(PARAES_OTHER_ERROR, PARAES_ERROR), 0);
  EXPECT_EQ(paraes_is_a(PARAES_OTHER_ERROR, PARAES_OTHER_ERROR), 1);
  EXPECT_EQ(paraes_is_a(200, PARAES_ERROR), 1) << "of a later version";
  EXPECT_EQ(paraes_is_a(-1, PARAES_ERROR), 0);
  EXPECT_EQ(paraes_exit_status(PARAES_OK), 0);
  EXPECT_EQ(paraes_exit_status(PARAES_IO_ERROR), 1);
  EXPECT_EQ(paraes_exit_status(PARAES_TARGET_EXISTS), 2);
  EXPECT_EQ(paraes_exit_status(PARAES_BAD_SEGMENT), 4);
  EXPECT_EQ(paraes_exit_status(PARAES_WRONG_KEY), 5);
  EXPECT_EQ(paraes_exit_status(PARAES_OTHER_ERROR), 1);
}

TEST(General, ListsKernelsAndDevices) {
  paraes_kernel_list* kernels = nullptr;
  ASSERT_DONE(paraes_kernels(0, &kernels));
  ASSERT_GT(paraes_kernel_count(kernels), 2U);
  paraes_kernel_info info = PARAES_KERNEL_INFO;
  std::set<std::string> names;
  for (std::size_t i = 0; i < paraes_kernel_count(kernels); ++i) {
    ASSERT_DONE(paraes_kernel_at(kernels, i, &info));
    names.insert(info.name);
    EXPECT_EQ(info.size, sizeof info);
    EXPECT_EQ(info.available != 0, std::string(info.reason).empty());
  }
  EXPECT_EQ(names.count("reference"), 1U);
  EXPECT_FAILS(PARAES_INVALID_ARGUMENT,
               paraes_kernel_at(kernels, paraes_kernel_count(kernels), &info));
  info.size = 3;
  EXPECT_FAILS(PARAES_INVALID_ARGUMENT, paraes_kernel_at(kernels, 0, &info));
  paraes_kernel_list_free(kernels);

  paraes_kernel_list* selected = nullptr;
  ASSERT_DONE(paraes_select_kernel("ttable", nullptr, 0, &selected));
  info.size = sizeof info;
  ASSERT_DONE(paraes_kernel_at(selected, 0, &info));
  EXPECT_STREQ(info.name, "ttable");
  EXPECT_STREQ(info.timing, "leaky");
  paraes_kernel_list_free(selected);

  paraes_device_list* devices = nullptr;
  ASSERT_DONE(paraes_devices(&devices));
  paraes_device_info device = PARAES_DEVICE_INFO;
  ASSERT_DONE(paraes_device_at(devices, 0, &device));
  EXPECT_STREQ(device.id, "cpu");
  EXPECT_EQ(device.available, 1);
  paraes_device_list_free(devices);
  EXPECT_GE(paraes_available_cores(), 1);
  EXPECT_NE(paraes_cpu_features(), nullptr);
  EXPECT_EQ(paraes_cpu_model(), paraes_cpu_model()) << "the string stays";
}

TEST(General, RandomKeysDiffer) {
  for (const std::size_t bytes : {16U, 24U, 32U, 64U}) {
    Buffer a(bytes);
    Buffer b(bytes);
    ASSERT_DONE(paraes_random_key(a.data(), bytes));
    ASSERT_DONE(paraes_random_key(b.data(), bytes));
    EXPECT_NE(a, b);
    EXPECT_NE(a, Buffer(bytes));
    paraes_wipe(a.data(), bytes);
    EXPECT_EQ(a, Buffer(bytes));
  }
}

}  // namespace
}  // namespace paraes
