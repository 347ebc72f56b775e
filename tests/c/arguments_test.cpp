// Every function of paraes.h with NULL, zero sizes and wrong sizes.

#include <gtest/gtest.h>

#include <climits>
#include <cstring>
#include <fstream>
#include <functional>
#include <iterator>
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

// Valid arguments, of which a case replaces one.
struct Valid {
  Valid() {
    message.nonce = nonce.data();
    message.nonce_bytes = nonce.size();
    message.in = text.data();
    message.bytes = text.size();
    message.out = out.data();
    message.tag = tag.data();
    message.tag_bytes = tag.size();
    options.key = key.data();
    options.key_bytes = key.size();
    folder.write("file", Buffer(sealed));
    source.context = this;
    source.bytes = sealed.size();
    source.read_at = [](void* context, std::uint64_t offset, void* buffer, std::size_t bytes) {
      std::memcpy(buffer, static_cast<Valid*>(context)->sealed.data() + offset, bytes);
      return 0;
    };
    sink.write = [](void*, const void*, std::size_t) { return 0; };
    paraes_encryptor* new_encryptor = nullptr;
    EXPECT_DONE(paraes_encryptor_new(&new_encryptor, secret.get(), nullptr));
    encryptor.reset(new_encryptor);
    paraes_decryptor* new_decryptor = nullptr;
    EXPECT_DONE(paraes_decryptor_new(&new_decryptor, secret.get(), nullptr));
    decryptor.reset(new_decryptor);
    paraes_reader* new_reader = nullptr;
    EXPECT_DONE(paraes_reader_open(&new_reader, file.c_str(), secret.get(), nullptr));
    reader.reset(new_reader);
    paraes_writer* new_writer = nullptr;
    EXPECT_DONE(paraes_writer_open_sink(&new_writer, &sink, secret.get(), nullptr));
    writer.reset(new_writer);
  }

  Buffer key = make_key(32);
  Buffer nonce = pattern(12);
  Buffer text = pattern(64);
  Buffer out = Buffer(4096);
  Buffer tag = Buffer(16);
  Buffer block16 = pattern(16);
  support::GcmHandle gcm = support::new_gcm(key);
  support::BlockHandle block = support::new_block(key);
  support::XtsHandle xts = support::new_xts(key, 0);
  support::SecretHandle secret = support::key_secret(key);
  Buffer sealed = support::seal(secret.get(), text);
  paraes_gcm_message message = {};
  paraes_secret_options options = PARAES_SECRET_OPTIONS;
  support::TemporaryFolder folder;
  std::string file = folder.path("file");
  std::string other = folder.path("other");
  paraes_source source = PARAES_SOURCE;
  paraes_sink sink = PARAES_SINK;
  support::EncryptorHandle encryptor;
  support::DecryptorHandle decryptor;
  support::ReaderHandle reader;
  support::WriterHandle writer;
  std::size_t size = 0;
};

struct Case {
  const char* function;
  const char* what;  // is wrong
  std::function<int(Valid& v)> call;
  int code = PARAES_INVALID_ARGUMENT;
};

// NOLINTBEGIN(readability-function-size): a table
std::vector<Case> cases() {
  return {
      {"paraes_random_bytes", "NULL", [](Valid&) { return paraes_random_bytes(nullptr, 1); }},
      {"paraes_random_key", "NULL", [](Valid&) { return paraes_random_key(nullptr, 32); }},
      {"paraes_random_key", "size 0", [](Valid& v) { return paraes_random_key(v.out.data(), 0); }},
      {"paraes_random_key", "size 17",
       [](Valid& v) { return paraes_random_key(v.out.data(), 17); }},
      {"paraes_kernels", "NULL", [](Valid&) { return paraes_kernels(0, nullptr); }},
      {"paraes_select_kernel", "NULL place",
       [](Valid&) { return paraes_select_kernel("auto", "cpu", 0, nullptr); }},
      {"paraes_select_kernel", "unknown",
       [](Valid&) {
         paraes_kernel_list* list = nullptr;
         return paraes_select_kernel("none", "cpu", 0, &list);
       },
       PARAES_UNKNOWN_KERNEL},
      {"paraes_select_kernel", "a device that is none",
       [](Valid&) {
         paraes_kernel_list* list = nullptr;
         return paraes_select_kernel("auto", "gpu", 0, &list);
       }},
      {"paraes_kernel_at", "NULL list",
       [](Valid&) {
         paraes_kernel_info info = PARAES_KERNEL_INFO;
         return paraes_kernel_at(nullptr, 0, &info);
       }},
      {"paraes_devices", "NULL", [](Valid&) { return paraes_devices(nullptr); }},
      {"paraes_device_at", "NULL list",
       [](Valid&) {
         paraes_device_info info = PARAES_DEVICE_INFO;
         return paraes_device_at(nullptr, 0, &info);
       }},

      {"paraes_gcm_key_new", "NULL place",
       [](Valid& v) { return paraes_gcm_key_new(nullptr, v.key.data(), 32, nullptr); }},
      {"paraes_gcm_key_new", "NULL key",
       [](Valid&) {
         paraes_gcm_key* made = nullptr;
         return paraes_gcm_key_new(&made, nullptr, 32, nullptr);
       }},
      {"paraes_gcm_key_new", "size 0",
       [](Valid&) {
         paraes_gcm_key* made = nullptr;
         return paraes_gcm_key_new(&made, nullptr, 0, nullptr);
       }},
      {"paraes_gcm_key_new", "size 31",
       [](Valid& v) {
         paraes_gcm_key* made = nullptr;
         return paraes_gcm_key_new(&made, v.key.data(), 31, nullptr);
       }},
      {"paraes_gcm_encrypt", "NULL handle",
       [](Valid& v) {
         return paraes_gcm_encrypt(nullptr, v.nonce.data(), 12, nullptr, 0, v.text.data(), 64,
                                   v.out.data(), v.tag.data());
       }},
      {"paraes_gcm_encrypt", "NULL nonce",
       [](Valid& v) {
         return paraes_gcm_encrypt(v.gcm.get(), nullptr, 12, nullptr, 0, v.text.data(), 64,
                                   v.out.data(), v.tag.data());
       }},
      {"paraes_gcm_encrypt", "nonce of 0 bytes",
       [](Valid& v) {
         return paraes_gcm_encrypt(v.gcm.get(), nullptr, 0, nullptr, 0, v.text.data(), 64,
                                   v.out.data(), v.tag.data());
       }},
      {"paraes_gcm_encrypt", "NULL associated data",
       [](Valid& v) {
         return paraes_gcm_encrypt(v.gcm.get(), v.nonce.data(), 12, nullptr, 1, v.text.data(), 64,
                                   v.out.data(), v.tag.data());
       }},
      {"paraes_gcm_encrypt", "NULL input",
       [](Valid& v) {
         return paraes_gcm_encrypt(v.gcm.get(), v.nonce.data(), 12, nullptr, 0, nullptr, 64,
                                   v.out.data(), v.tag.data());
       }},
      {"paraes_gcm_encrypt", "NULL output",
       [](Valid& v) {
         return paraes_gcm_encrypt(v.gcm.get(), v.nonce.data(), 12, nullptr, 0, v.text.data(), 64,
                                   nullptr, v.tag.data());
       }},
      {"paraes_gcm_encrypt", "NULL tag",
       [](Valid& v) {
         return paraes_gcm_encrypt(v.gcm.get(), v.nonce.data(), 12, nullptr, 0, v.text.data(), 64,
                                   v.out.data(), nullptr);
       }},
      {"paraes_gcm_encrypt", "output that overlaps the input partly",
       [](Valid& v) {
         return paraes_gcm_encrypt(v.gcm.get(), v.nonce.data(), 12, nullptr, 0, v.out.data(), 64,
                                   v.out.data() + 1, v.tag.data());
       }},
      {"paraes_gcm_decrypt", "NULL handle",
       [](Valid& v) {
         return paraes_gcm_decrypt(nullptr, v.nonce.data(), 12, nullptr, 0, v.text.data(), 64,
                                   v.out.data(), v.tag.data(), 16);
       }},
      {"paraes_gcm_decrypt", "NULL tag",
       [](Valid& v) {
         return paraes_gcm_decrypt(v.gcm.get(), v.nonce.data(), 12, nullptr, 0, v.text.data(), 64,
                                   v.out.data(), nullptr, 16);
       }},
      {"paraes_gcm_decrypt", "tag of 0 bytes",
       [](Valid& v) {
         return paraes_gcm_decrypt(v.gcm.get(), v.nonce.data(), 12, nullptr, 0, v.text.data(), 64,
                                   v.out.data(), nullptr, 0);
       }},
      {"paraes_gcm_decrypt", "tag of 17 bytes",
       [](Valid& v) {
         return paraes_gcm_decrypt(v.gcm.get(), v.nonce.data(), 12, nullptr, 0, v.text.data(), 64,
                                   v.out.data(), v.out.data() + 100, 17);
       }},
      {"paraes_gcm_encrypt_into", "NULL handle",
       [](Valid& v) {
         return paraes_gcm_encrypt_into(nullptr, v.nonce.data(), 12, nullptr, 0, v.text.data(), 64,
                                        v.out.data(), 80);
       }},
      {"paraes_gcm_encrypt_into", "output of another size",
       [](Valid& v) {
         return paraes_gcm_encrypt_into(v.gcm.get(), v.nonce.data(), 12, nullptr, 0, v.text.data(),
                                        64, v.out.data(), 79);
       }},
      {"paraes_gcm_encrypt_into", "size whose tag does not fit",
       [](Valid& v) {
         return paraes_gcm_encrypt_into(v.gcm.get(), v.nonce.data(), 12, nullptr, 0, v.text.data(),
                                        SIZE_MAX - 3, v.out.data(), 12);
       }},
      {"paraes_gcm_encrypt_into", "the same for an output of 0 bytes",
       [](Valid& v) {
         return paraes_gcm_encrypt_into(v.gcm.get(), v.nonce.data(), 12, nullptr, 0, v.text.data(),
                                        SIZE_MAX - 15, v.out.data(), 0);
       }},
      {"paraes_gcm_encrypt_into", "tag over the nonce",
       [](Valid& v) {
         return paraes_gcm_encrypt_into(v.gcm.get(), v.out.data() + 64, 12, nullptr, 0,
                                        v.text.data(), 64, v.out.data(), 80);
       }},
      {"paraes_gcm_encrypt_into", "tag over the end of the input",
       [](Valid& v) {
         return paraes_gcm_encrypt_into(v.gcm.get(), v.nonce.data(), 12, nullptr, 0,
                                        v.out.data() + 64, 64, v.out.data(), 80);
       }},
      {"paraes_gcm_decrypt_into", "NULL handle",
       [](Valid& v) {
         return paraes_gcm_decrypt_into(nullptr, v.nonce.data(), 12, nullptr, 0, v.text.data(), 64,
                                        v.out.data(), 48);
       }},
      {"paraes_gcm_decrypt_into", "input shorter than a tag",
       [](Valid& v) {
         return paraes_gcm_decrypt_into(v.gcm.get(), v.nonce.data(), 12, nullptr, 0, v.text.data(),
                                        15, v.out.data(), 0);
       }},
      {"paraes_gcm_decrypt_into", "output of another size",
       [](Valid& v) {
         return paraes_gcm_decrypt_into(v.gcm.get(), v.nonce.data(), 12, nullptr, 0, v.text.data(),
                                        64, v.out.data(), 64);
       }},
      {"paraes_gcm_encrypt_many", "NULL handle",
       [](Valid& v) {
         return paraes_gcm_encrypt_many(nullptr, &v.message, 1, sizeof(paraes_gcm_message));
       }},
      {"paraes_gcm_encrypt_many", "NULL messages",
       [](Valid& v) {
         return paraes_gcm_encrypt_many(v.gcm.get(), nullptr, 1, sizeof(paraes_gcm_message));
       }},
      {"paraes_gcm_encrypt_many", "size 0 of a message",
       [](Valid& v) { return paraes_gcm_encrypt_many(v.gcm.get(), &v.message, 1, 0); }},
      {"paraes_gcm_encrypt_many", "size of a message that its members do not allow",
       [](Valid& v) {
         return paraes_gcm_encrypt_many(v.gcm.get(), &v.message, 1, sizeof(paraes_gcm_message) + 1);
       }},
      {"paraes_gcm_encrypt_many", "value in a member of a later version",
       [](Valid& v) {
         struct {
           paraes_gcm_message message;
           std::uint64_t later;
         } larger = {v.message, 1};
         return paraes_gcm_encrypt_many(v.gcm.get(), &larger.message, 1, sizeof larger);
       }},
      {"paraes_gcm_encrypt_many", "NULL tag",
       [](Valid& v) {
         v.message.tag = nullptr;
         return paraes_gcm_encrypt_many(v.gcm.get(), &v.message, 1, sizeof(paraes_gcm_message));
       }},
      {"paraes_gcm_encrypt_many", "tag of 12 bytes",
       [](Valid& v) {
         v.message.tag_bytes = 12;
         return paraes_gcm_encrypt_many(v.gcm.get(), &v.message, 1, sizeof(paraes_gcm_message));
       }},
      {"paraes_gcm_decrypt_many", "NULL handle",
       [](Valid& v) {
         return paraes_gcm_decrypt_many(nullptr, &v.message, 1, sizeof(paraes_gcm_message));
       }},
      {"paraes_gcm_decrypt_many", "NULL text",
       [](Valid& v) {
         v.message.in = nullptr;
         return paraes_gcm_decrypt_many(v.gcm.get(), &v.message, 1, sizeof(paraes_gcm_message));
       }},

      {"paraes_block_key_new", "NULL place",
       [](Valid& v) { return paraes_block_key_new(nullptr, v.key.data(), 32, nullptr); }},
      {"paraes_block_key_new", "size 8",
       [](Valid& v) {
         paraes_block_key* made = nullptr;
         return paraes_block_key_new(&made, v.key.data(), 8, nullptr);
       }},
      {"paraes_ctr", "NULL handle",
       [](Valid& v) {
         return paraes_ctr(nullptr, v.block16.data(), 0, v.text.data(), 64, v.out.data());
       }},
      {"paraes_ctr", "NULL counter",
       [](Valid& v) {
         return paraes_ctr(v.block.get(), nullptr, 0, v.text.data(), 64, v.out.data());
       }},
      {"paraes_ctr", "end of the stream",
       [](Valid& v) {
         return paraes_ctr(v.block.get(), v.block16.data(), UINT64_MAX - 3, v.text.data(), 64,
                           v.out.data());
       }},
      {"paraes_cbc_encrypt", "NULL handle",
       [](Valid& v) {
         return paraes_cbc_encrypt(nullptr, v.block16.data(), v.text.data(), 64, v.out.data());
       }},
      {"paraes_cbc_encrypt", "NULL IV",
       [](Valid& v) {
         return paraes_cbc_encrypt(v.block.get(), nullptr, v.text.data(), 64, v.out.data());
       }},
      {"paraes_cbc_encrypt", "a part of a block",
       [](Valid& v) {
         return paraes_cbc_encrypt(v.block.get(), v.block16.data(), v.text.data(), 63,
                                   v.out.data());
       }},
      {"paraes_cbc_decrypt", "NULL handle",
       [](Valid& v) {
         return paraes_cbc_decrypt(nullptr, v.block16.data(), v.text.data(), 64, v.out.data());
       }},
      {"paraes_cbc_decrypt", "NULL output",
       [](Valid& v) {
         return paraes_cbc_decrypt(v.block.get(), v.block16.data(), v.text.data(), 64, nullptr);
       }},
      {"paraes_ecb_encrypt", "NULL handle",
       [](Valid& v) { return paraes_ecb_encrypt(nullptr, v.text.data(), 64, v.out.data()); }},
      {"paraes_ecb_encrypt", "a part of a block",
       [](Valid& v) { return paraes_ecb_encrypt(v.block.get(), v.text.data(), 1, v.out.data()); }},
      {"paraes_ecb_decrypt", "NULL handle",
       [](Valid& v) { return paraes_ecb_decrypt(nullptr, v.text.data(), 64, v.out.data()); }},
      {"paraes_ecb_decrypt", "NULL input",
       [](Valid& v) { return paraes_ecb_decrypt(v.block.get(), nullptr, 64, v.out.data()); }},
      {"paraes_xts_key_new", "NULL place",
       [](Valid& v) { return paraes_xts_key_new(nullptr, v.key.data(), 32, 0, nullptr); }},
      {"paraes_xts_key_new", "size 16",
       [](Valid& v) {
         paraes_xts_key* made = nullptr;
         return paraes_xts_key_new(&made, v.key.data(), 16, 0, nullptr);
       }},
      {"paraes_xts_key_new", "halves that are equal",
       [](Valid&) {
         paraes_xts_key* made = nullptr;
         const Buffer equal(32, 7);
         return paraes_xts_key_new(&made, equal.data(), 32, 0, nullptr);
       }},
      {"paraes_xts_key_new", "data units of 15 bytes",
       [](Valid& v) {
         paraes_xts_key* made = nullptr;
         return paraes_xts_key_new(&made, v.key.data(), 32, 15, nullptr);
       }},
      {"paraes_xts_encrypt", "NULL handle",
       [](Valid& v) {
         return paraes_xts_encrypt(nullptr, v.block16.data(), v.text.data(), 64, v.out.data());
       }},
      {"paraes_xts_encrypt", "0 bytes",
       [](Valid& v) {
         return paraes_xts_encrypt(v.xts.get(), v.block16.data(), v.text.data(), 0, v.out.data());
       }},
      {"paraes_xts_decrypt", "NULL handle",
       [](Valid& v) {
         return paraes_xts_decrypt(nullptr, v.block16.data(), v.text.data(), 64, v.out.data());
       }},
      {"paraes_xts_decrypt", "NULL unit",
       [](Valid& v) {
         return paraes_xts_decrypt(v.xts.get(), nullptr, v.text.data(), 64, v.out.data());
       }},

      {"paraes_secret_new", "NULL place",
       [](Valid& v) { return paraes_secret_new(nullptr, &v.options); }},
      {"paraes_secret_new", "NULL options",
       [](Valid&) {
         paraes_secret* made = nullptr;
         return paraes_secret_new(&made, nullptr);
       }},
      {"paraes_secret_new", "no secret",
       [](Valid& v) {
         paraes_secret* made = nullptr;
         v.options.key = nullptr;
         v.options.key_bytes = 0;
         return paraes_secret_new(&made, &v.options);
       }},
      {"paraes_secret_new", "two secrets",
       [](Valid& v) {
         paraes_secret* made = nullptr;
         v.options.passphrase = "x";
         v.options.passphrase_bytes = 1;
         return paraes_secret_new(&made, &v.options);
       }},
      {"paraes_secret_new", "NULL key",
       [](Valid& v) {
         paraes_secret* made = nullptr;
         v.options.key = nullptr;
         return paraes_secret_new(&made, &v.options);
       }},
      {"paraes_secret_new", "key of 17 bytes",
       [](Valid& v) {
         paraes_secret* made = nullptr;
         v.options.key_bytes = 17;
         return paraes_secret_new(&made, &v.options);
       },
       PARAES_WRONG_KEY_SIZE},
      {"paraes_secret_new", "key file that is missing",
       [](Valid& v) {
         paraes_secret* made = nullptr;
         v.options.key = nullptr;
         v.options.key_bytes = 0;
         v.options.key_file = v.other.c_str();
         return paraes_secret_new(&made, &v.options);
       },
       PARAES_IO_ERROR},
      {"paraes_secret_new", "empty passphrase",
       [](Valid& v) {
         paraes_secret* made = nullptr;
         v.options.key = nullptr;
         v.options.key_bytes = 0;
         v.options.passphrase = "";
         return paraes_secret_new(&made, &v.options);
       }},
      {"paraes_secret_new", "NULL recipient",
       [](Valid& v) {
         paraes_secret* made = nullptr;
         const char* const none[] = {nullptr};
         v.options.key = nullptr;
         v.options.key_bytes = 0;
         v.options.recipients = none;
         v.options.recipient_count = 1;
         return paraes_secret_new(&made, &v.options);
       }},
      {"paraes_secret_new", "NULL list of identities",
       [](Valid& v) {
         paraes_secret* made = nullptr;
         v.options.key = nullptr;
         v.options.key_bytes = 0;
         v.options.identity_count = 1;
         return paraes_secret_new(&made, &v.options);
       }},
      {"paraes_secret_new", "unknown format",
       [](Valid& v) {
         paraes_secret* made = nullptr;
         v.options.format = "zip";
         return paraes_secret_new(&made, &v.options);
       }},
      {"paraes_secret_new", "long context",
       [](Valid& v) {
         paraes_secret* made = nullptr;
         v.options.context = v.out.data();
         v.options.context_bytes = 513;
         return paraes_secret_new(&made, &v.options);
       }},
      {"paraes_secret_new", "option of another format",
       [](Valid& v) {
         paraes_secret* made = nullptr;
         v.options.tink_hash = "sha1";
         return paraes_secret_new(&made, &v.options);
       }},
      {"paraes_secret_new", "size 0 of the options",
       [](Valid& v) {
         paraes_secret* made = nullptr;
         v.options.size = 0;
         return paraes_secret_new(&made, &v.options);
       }},
      {"paraes_secret_new", "a size that no structure has",
       [](Valid& v) {
         paraes_secret* made = nullptr;
         v.options.size = SIZE_MAX;
         return paraes_secret_new(&made, &v.options);
       }},
      {"paraes_secret_new", "cost of scrypt for a key",
       [](Valid& v) {
         paraes_secret* made = nullptr;
         v.options.scrypt_log2n = 15;
         return paraes_secret_new(&made, &v.options);
       }},
      {"paraes_secret_new", "cost of scrypt for recipients",
       [](Valid& v) {
         paraes_secret* made = nullptr;
         const char* const to[] = {"age1x"};
         v.options.key = nullptr;
         v.options.key_bytes = 0;
         v.options.recipients = to;
         v.options.recipient_count = 1;
         v.options.scrypt_log2n = 15;
         return paraes_secret_new(&made, &v.options);
       }},
      {"paraes_secret_new", "size of new keys for identities",
       [](Valid& v) {
         paraes_secret* made = nullptr;
         const char* const files[] = {v.file.c_str()};
         v.options.key = nullptr;
         v.options.key_bytes = 0;
         v.options.identities = files;
         v.options.identity_count = 1;
         v.options.key_bits = 128;
         return paraes_secret_new(&made, &v.options);
       }},
      {"paraes_secret_new", "segments of tink that are too small",
       [](Valid& v) {
         paraes_secret* made = nullptr;
         v.options.format = "tink";
         v.options.segment_size = 1;
         return paraes_secret_new(&made, &v.options);
       }},
      {"paraes_secret_new", "value in a member of a later version",
       [](Valid& v) {
         struct {
           paraes_secret_options options;
           int later;
         } larger = {v.options, 1};
         paraes_secret* made = nullptr;
         larger.options.size = sizeof larger;
         return paraes_secret_new(&made, &larger.options);
       }},

      {"paraes_secret_new", "a cost of scrypt that is too high",
       [](Valid& v) {
         paraes_secret* made = nullptr;
         v.options.scrypt_log2n = 41;
         return paraes_secret_new(&made, &v.options);
       }},
      {"paraes_secret_new", "a limit for scrypt that is too high",
       [](Valid& v) {
         paraes_secret* made = nullptr;
         v.options.max_scrypt_log2n = UINT_MAX;
         return paraes_secret_new(&made, &v.options);
       }},
      {"paraes_secret_from_key", "NULL key",
       [](Valid&) {
         paraes_secret* made = nullptr;
         return paraes_secret_from_key(&made, nullptr, 32);
       }},
      {"paraes_secret_from_key", "size 0",
       [](Valid& v) {
         paraes_secret* made = nullptr;
         return paraes_secret_from_key(&made, v.key.data(), 0);
       },
       PARAES_WRONG_KEY_SIZE},
      {"paraes_secret_from_key_file", "NULL path",
       [](Valid&) {
         paraes_secret* made = nullptr;
         return paraes_secret_from_key_file(&made, nullptr);
       }},
      {"paraes_secret_from_passphrase", "0 bytes",
       [](Valid&) {
         paraes_secret* made = nullptr;
         return paraes_secret_from_passphrase(&made, nullptr, 0);
       }},

      {"paraes_seal", "NULL secret",
       [](Valid& v) {
         return paraes_seal(nullptr, v.text.data(), 64, v.out.data(), v.out.size(), &v.size,
                            nullptr);
       }},
      {"paraes_seal", "NULL text",
       [](Valid& v) {
         return paraes_seal(v.secret.get(), nullptr, 64, v.out.data(), v.out.size(), &v.size,
                            nullptr);
       }},
      {"paraes_seal", "NULL output",
       [](Valid& v) {
         return paraes_seal(v.secret.get(), v.text.data(), 64, nullptr, 4096, &v.size, nullptr);
       }},
      {"paraes_seal", "NULL size",
       [](Valid& v) {
         return paraes_seal(v.secret.get(), v.text.data(), 64, v.out.data(), v.out.size(), nullptr,
                            nullptr);
       }},
      {"paraes_seal", "output that is too small",
       [](Valid& v) {
         return paraes_seal(v.secret.get(), v.text.data(), 64, v.out.data(), v.sealed.size() - 1,
                            &v.size, nullptr);
       }},
      {"paraes_seal", "output over the input",
       [](Valid& v) {
         return paraes_seal(v.secret.get(), v.out.data(), 64, v.out.data(), v.out.size(), &v.size,
                            nullptr);
       }},
      {"paraes_unseal", "NULL secret",
       [](Valid& v) {
         return paraes_unseal(nullptr, v.sealed.data(), v.sealed.size(), v.out.data(), v.out.size(),
                              &v.size, nullptr);
       }},
      {"paraes_unseal", "0 bytes",
       [](Valid& v) {
         return paraes_unseal(v.secret.get(), nullptr, 0, v.out.data(), v.out.size(), &v.size,
                              nullptr);
       },
       PARAES_INTEGRITY_ERROR},
      {"paraes_unseal", "output that is too small",
       [](Valid& v) {
         return paraes_unseal(v.secret.get(), v.sealed.data(), v.sealed.size(), v.out.data(), 63,
                              &v.size, nullptr);
       }},
      {"paraes_unseal_range", "NULL secret",
       [](Valid& v) {
         return paraes_unseal_range(nullptr, v.sealed.data(), v.sealed.size(), 0, v.out.data(), 1,
                                    nullptr);
       }},
      {"paraes_unseal_range", "range beyond the end",
       [](Valid& v) {
         return paraes_unseal_range(v.secret.get(), v.sealed.data(), v.sealed.size(), 60,
                                    v.out.data(), 5, nullptr);
       }},

      {"paraes_encryptor_new", "NULL place",
       [](Valid& v) { return paraes_encryptor_new(nullptr, v.secret.get(), nullptr); }},
      {"paraes_encryptor_new", "NULL secret",
       [](Valid&) {
         paraes_encryptor* made = nullptr;
         return paraes_encryptor_new(&made, nullptr, nullptr);
       }},
      {"paraes_encryptor_update", "NULL handle",
       [](Valid& v) {
         return paraes_encryptor_update(nullptr, v.text.data(), 64, v.out.data(), 4096, &v.size);
       }},
      {"paraes_encryptor_update", "NULL text",
       [](Valid& v) {
         return paraes_encryptor_update(v.encryptor.get(), nullptr, 64, v.out.data(), 4096,
                                        &v.size);
       }},
      {"paraes_encryptor_update", "output that is too small",
       [](Valid& v) {
         return paraes_encryptor_update(v.encryptor.get(), v.text.data(), 64, v.out.data(),
                                        paraes_encryptor_bound(v.encryptor.get(), 64) - 1, &v.size);
       }},
      {"paraes_encryptor_update", "more bytes than a message has",
       [](Valid& v) {
         EXPECT_EQ(paraes_encryptor_bound(v.encryptor.get(), SIZE_MAX), 0U);
         return paraes_encryptor_update(v.encryptor.get(), v.text.data(), SIZE_MAX - 5,
                                        v.out.data(), 4096, &v.size);
       }},
      {"paraes_encryptor_finish", "NULL handle",
       [](Valid& v) { return paraes_encryptor_finish(nullptr, v.out.data(), 4096, &v.size); }},
      {"paraes_encryptor_finish", "0 bytes of room",
       [](Valid& v) { return paraes_encryptor_finish(v.encryptor.get(), nullptr, 0, &v.size); }},
      {"paraes_decryptor_new", "NULL place",
       [](Valid& v) { return paraes_decryptor_new(nullptr, v.secret.get(), nullptr); }},
      {"paraes_decryptor_new", "NULL secret",
       [](Valid&) {
         paraes_decryptor* made = nullptr;
         return paraes_decryptor_new(&made, nullptr, nullptr);
       }},
      {"paraes_decryptor_update", "NULL handle",
       [](Valid& v) {
         return paraes_decryptor_update(nullptr, v.text.data(), 64, v.out.data(), 4096, &v.size);
       }},
      {"paraes_decryptor_update", "output that is too small",
       [](Valid& v) {
         return paraes_decryptor_update(v.decryptor.get(), v.sealed.data(), v.sealed.size(),
                                        v.out.data(), v.sealed.size() - 1, &v.size);
       }},
      {"paraes_decryptor_update", "more bytes than a message has",
       [](Valid& v) {
         EXPECT_EQ(paraes_decryptor_bound(v.decryptor.get(), SIZE_MAX), 0U);
         return paraes_decryptor_update(v.decryptor.get(), v.text.data(), SIZE_MAX - 5,
                                        v.out.data(), 4096, &v.size);
       }},
      {"paraes_decryptor_finish", "NULL handle",
       [](Valid& v) { return paraes_decryptor_finish(nullptr, v.out.data(), 4096, &v.size); }},
      {"paraes_decryptor_finish", "NULL size",
       [](Valid& v) {
         return paraes_decryptor_finish(v.decryptor.get(), v.out.data(), 4096, nullptr);
       }},
      {"paraes_decryptor_finish", "nothing came",
       [](Valid& v) { return paraes_decryptor_finish(v.decryptor.get(), nullptr, 0, &v.size); },
       PARAES_INTEGRITY_ERROR},

      {"paraes_encrypt_file", "NULL path",
       [](Valid& v) {
         return paraes_encrypt_file(nullptr, v.other.c_str(), v.secret.get(), nullptr, nullptr);
       }},
      {"paraes_encrypt_file", "NULL secret",
       [](Valid& v) {
         return paraes_encrypt_file(v.file.c_str(), v.other.c_str(), nullptr, nullptr, nullptr);
       }},
      {"paraes_encrypt_file", "missing file",
       [](Valid& v) {
         return paraes_encrypt_file(v.other.c_str(), nullptr, v.secret.get(), nullptr, nullptr);
       },
       PARAES_IO_ERROR},
      {"paraes_encrypt_file", "its own output",
       [](Valid& v) {
         paraes_file_options options = PARAES_FILE_OPTIONS;
         options.overwrite = 1;
         return paraes_encrypt_file(v.file.c_str(), v.file.c_str(), v.secret.get(), &options,
                                    nullptr);
       }},
      {"paraes_encrypt_file", "a device",
       [](Valid& v) {
         return paraes_encrypt_file("/dev/null", v.other.c_str(), v.secret.get(), nullptr, nullptr);
       }},
      {"paraes_decrypt_file", "NULL path",
       [](Valid& v) {
         return paraes_decrypt_file(nullptr, v.other.c_str(), v.secret.get(), nullptr, nullptr);
       }},
      {"paraes_decrypt_file", "name without .paes",
       [](Valid& v) {
         return paraes_decrypt_file(v.file.c_str(), nullptr, v.secret.get(), nullptr, nullptr);
       }},
      {"paraes_verify_file", "NULL path",
       [](Valid& v) { return paraes_verify_file(nullptr, v.secret.get(), nullptr, nullptr); }},
      {"paraes_verify_file", "small options",
       [](Valid& v) {
         paraes_file_options options = PARAES_FILE_OPTIONS;
         options.size = 8;
         return paraes_verify_file(v.file.c_str(), v.secret.get(), &options, nullptr);
       }},
      {"paraes_rekey_file", "NULL path",
       [](Valid& v) {
         return paraes_rekey_file(nullptr, v.secret.get(), v.secret.get(), nullptr, nullptr);
       }},
      {"paraes_rekey_file", "NULL new secret",
       [](Valid& v) {
         return paraes_rekey_file(v.file.c_str(), v.secret.get(), nullptr, nullptr, nullptr);
       }},

      {"paraes_reader_open", "NULL place",
       [](Valid& v) {
         return paraes_reader_open(nullptr, v.file.c_str(), v.secret.get(), nullptr);
       }},
      {"paraes_reader_open", "NULL path",
       [](Valid& v) {
         paraes_reader* made = nullptr;
         return paraes_reader_open(&made, nullptr, v.secret.get(), nullptr);
       }},
      {"paraes_reader_open", "NULL secret",
       [](Valid& v) {
         paraes_reader* made = nullptr;
         return paraes_reader_open(&made, v.file.c_str(), nullptr, nullptr);
       }},
      {"paraes_reader_open", "a folder",
       [](Valid& v) {
         paraes_reader* made = nullptr;
         return paraes_reader_open(&made, v.folder.path("").c_str(), v.secret.get(), nullptr);
       },
       PARAES_IO_ERROR},
      {"paraes_reader_open_source", "NULL source",
       [](Valid& v) {
         paraes_reader* made = nullptr;
         return paraes_reader_open_source(&made, nullptr, v.secret.get(), nullptr);
       }},
      {"paraes_reader_open_source", "NULL callback",
       [](Valid& v) {
         paraes_reader* made = nullptr;
         v.source.read_at = nullptr;
         return paraes_reader_open_source(&made, &v.source, v.secret.get(), nullptr);
       }},
      {"paraes_reader_open_source", "0 bytes",
       [](Valid& v) {
         paraes_reader* made = nullptr;
         v.source.bytes = 0;
         return paraes_reader_open_source(&made, &v.source, v.secret.get(), nullptr);
       },
       PARAES_INTEGRITY_ERROR},
      {"paraes_reader_read", "NULL handle",
       [](Valid& v) { return paraes_reader_read(nullptr, v.out.data(), 1, &v.size); }},
      {"paraes_reader_read", "NULL output",
       [](Valid& v) { return paraes_reader_read(v.reader.get(), nullptr, 1, &v.size); }},
      {"paraes_reader_read", "NULL size",
       [](Valid& v) { return paraes_reader_read(v.reader.get(), v.out.data(), 1, nullptr); }},
      {"paraes_reader_read_at", "NULL handle",
       [](Valid& v) { return paraes_reader_read_at(nullptr, 0, v.out.data(), 1, &v.size); }},
      {"paraes_reader_read_at", "closed",
       [](Valid& v) {
         EXPECT_DONE(paraes_reader_close(v.reader.get()));
         return paraes_reader_read_at(v.reader.get(), 0, v.out.data(), 1, &v.size);
       }},
      {"paraes_reader_seek", "NULL handle",
       [](Valid&) { return paraes_reader_seek(nullptr, 0, 0, nullptr); }},
      {"paraes_reader_seek", "whence 3",
       [](Valid& v) { return paraes_reader_seek(v.reader.get(), 0, 3, nullptr); }},
      {"paraes_reader_seek", "before the beginning",
       [](Valid& v) { return paraes_reader_seek(v.reader.get(), -1, 0, nullptr); }},
      {"paraes_reader_seek", "the least offset",
       [](Valid& v) { return paraes_reader_seek(v.reader.get(), INT64_MIN, 2, nullptr); }},
      {"paraes_reader_close", "NULL", [](Valid&) { return paraes_reader_close(nullptr); }},

      {"paraes_writer_open", "NULL place",
       [](Valid& v) {
         return paraes_writer_open(nullptr, v.other.c_str(), v.secret.get(), nullptr);
       }},
      {"paraes_writer_open", "NULL path",
       [](Valid& v) {
         paraes_writer* made = nullptr;
         return paraes_writer_open(&made, nullptr, v.secret.get(), nullptr);
       }},
      {"paraes_writer_open", "a file that exists",
       [](Valid& v) {
         paraes_writer* made = nullptr;
         return paraes_writer_open(&made, v.file.c_str(), v.secret.get(), nullptr);
       },
       PARAES_TARGET_EXISTS},
      {"paraes_writer_open_sink", "NULL sink",
       [](Valid& v) {
         paraes_writer* made = nullptr;
         return paraes_writer_open_sink(&made, nullptr, v.secret.get(), nullptr);
       }},
      {"paraes_writer_open_sink", "NULL callback",
       [](Valid& v) {
         paraes_writer* made = nullptr;
         v.sink.write = nullptr;
         return paraes_writer_open_sink(&made, &v.sink, v.secret.get(), nullptr);
       }},
      {"paraes_writer_write", "NULL handle",
       [](Valid& v) { return paraes_writer_write(nullptr, v.text.data(), 64); }},
      {"paraes_writer_write", "NULL data",
       [](Valid& v) { return paraes_writer_write(v.writer.get(), nullptr, 64); }},
      {"paraes_writer_write", "closed",
       [](Valid& v) {
         EXPECT_DONE(paraes_writer_close(v.writer.get()));
         return paraes_writer_write(v.writer.get(), v.text.data(), 64);
       }},
      {"paraes_writer_close", "NULL", [](Valid&) { return paraes_writer_close(nullptr); }},
      {"paraes_writer_close", "aborted",
       [](Valid& v) {
         paraes_writer_abort(v.writer.get());
         return paraes_writer_close(v.writer.get());
       },
       PARAES_ERROR},

      {"paraes_device_work_ready", "NULL work",
       [](Valid&) {
         int ready = 0;
         return paraes_device_work_ready(nullptr, &ready);
       }},
      {"paraes_device_verdict_ready", "NULL verdict",
       [](Valid&) {
         int ready = 0;
         return paraes_device_verdict_ready(nullptr, &ready);
       }},
      {"paraes_device_verdict_at", "NULL",
       [](Valid&) { return paraes_device_verdict_at(nullptr, 0); }},
      {"paraes_device_verdict_all", "NULL",
       [](Valid&) { return paraes_device_verdict_all(nullptr); }},
      {"paraes_device_gcm_new", "NULL stream",
       [](Valid& v) {
         paraes_device_gcm* made = nullptr;
         const void* const keys[] = {v.key.data()};
         return paraes_device_gcm_new(&made, nullptr, keys, 1, 32, nullptr);
       }},
      {"paraes_device_gcm_new", "NULL keys",
       [](Valid&) {
         paraes_device_gcm* made = nullptr;
         paraes_stream stream = PARAES_STREAM;
         stream.device = "opencl";
         return paraes_device_gcm_new(&made, &stream, nullptr, 1, 32, nullptr);
       }},
      {"paraes_device_gcm_new", "a CPU",
       [](Valid& v) {
         paraes_device_gcm* made = nullptr;
         const void* const keys[] = {v.key.data()};
         paraes_stream stream = PARAES_STREAM;
         stream.device = "cpu";
         return paraes_device_gcm_new(&made, &stream, keys, 1, 32, nullptr);
       }},
      {"paraes_device_gcm_wait_for", "NULL",
       [](Valid&) { return paraes_device_gcm_wait_for(nullptr, nullptr, nullptr); }},
      {"paraes_device_gcm_encrypt", "NULL",
       [](Valid&) {
         return paraes_device_gcm_encrypt(nullptr, nullptr, nullptr, nullptr, 0,
                                          sizeof(paraes_device_message), nullptr, nullptr);
       }},
      {"paraes_device_gcm_decrypt", "NULL",
       [](Valid&) {
         paraes_device_verdict* verdict = nullptr;
         return paraes_device_gcm_decrypt(nullptr, nullptr, nullptr, nullptr, 0,
                                          sizeof(paraes_device_message), nullptr, &verdict);
       }},
      {"paraes_device_gcm_encrypt_texts", "NULL",
       [](Valid&) {
         return paraes_device_gcm_encrypt_texts(nullptr, nullptr, 0, sizeof(paraes_device_text),
                                                nullptr, nullptr);
       }},
      {"paraes_device_gcm_decrypt_texts", "NULL",
       [](Valid&) {
         paraes_device_verdict* verdict = nullptr;
         return paraes_device_gcm_decrypt_texts(nullptr, nullptr, 0, sizeof(paraes_device_text),
                                                nullptr, &verdict);
       }},
      {"paraes_device_ctr_new", "NULL stream",
       [](Valid& v) {
         paraes_device_ctr* made = nullptr;
         const void* const keys[] = {v.key.data()};
         return paraes_device_ctr_new(&made, nullptr, keys, 1, 32, nullptr);
       }},
      {"paraes_device_ctr_wait_for", "NULL",
       [](Valid&) { return paraes_device_ctr_wait_for(nullptr, nullptr, nullptr); }},
      {"paraes_device_ctr_process", "NULL",
       [](Valid&) {
         return paraes_device_ctr_process(nullptr, nullptr, nullptr, nullptr, 0,
                                          sizeof(paraes_device_message), nullptr, nullptr);
       }},
      {"paraes_device_ctr_process_texts", "NULL",
       [](Valid&) {
         return paraes_device_ctr_process_texts(nullptr, nullptr, 0, sizeof(paraes_device_text),
                                                nullptr, nullptr);
       }},
  };
}
// NOLINTEND(readability-function-size)

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
  for (const Case& each : cases()) {
    SCOPED_TRACE(std::string(each.function) + ": " + each.what);
    tested.insert(each.function);
    Valid valid;
    const Buffer before = valid.out;
    EXPECT_FAILS(each.code, each.call(valid));
    EXPECT_EQ(valid.out, before) << "the output was written to";
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
