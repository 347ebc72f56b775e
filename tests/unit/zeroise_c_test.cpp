// Functions of the C API whose names end in _free leave no keys, no passphrase and no plaintext, in
// memory that is freed or in the locked memory.

#include <gtest/gtest.h>

#include "tests/c/c_api.hpp"
#include "tests/support/buffers.hpp"
#include "tests/support/evp_oracle.hpp"
#include "tests/support/freed_memory.hpp"
#include "tests/support/temporary_folder.hpp"

namespace paraes {
namespace {

using support::Buffer;
using support::call;
using support::expect_nothing_left;
using support::watch_for;

const Buffer key = support::make_key(32, 77);
const Buffer plain = support::make_key(5000, 78);

TEST(ZeroiseC, Keys) {
  const Buffer hash_key = support::evp_ecb(Direction::encrypt, key, Buffer(16));
  Buffer out(plain.size());
  Buffer tag(16);
  watch_for({key, hash_key});
  expect_nothing_left([&] {
    const auto gcm = support::new_gcm(key);
    EXPECT_GE(support::needles_in_arena(), 1U) << "the test searches memory that holds no keys";
    EXPECT_DONE(
        call(paraes_gcm_encrypt, gcm, out.data(), 12, nullptr, 0, plain, out.data(), tag.data()));
  });
  expect_nothing_left([&] {
    const auto block = support::new_block(key);
    EXPECT_DONE(paraes_ctr(block.get(), tag.data(), 0, plain.data(), 5000, out.data()));
  });
  expect_nothing_left([&] {
    const auto xts = support::new_xts(key, 0);
    EXPECT_DONE(paraes_xts_encrypt(xts.get(), tag.data(), plain.data(), 5000, out.data()));
  });
}

TEST(ZeroiseC, SecretsAndMessages) {
  Buffer sealed(10'000);
  Buffer out(20'000);
  std::size_t written = 0;
  paraes_secret_options options = PARAES_SECRET_OPTIONS;
  options.key = key.data();
  options.key_bytes = key.size();
  paraes_secret_options passphrase = PARAES_SECRET_OPTIONS;
  passphrase.passphrase = key.data();
  passphrase.passphrase_bytes = key.size();
  passphrase.scrypt_log2n = 2;
  for (const paraes_secret_options& each : {options, passphrase}) {
    watch_for({key});
    expect_nothing_left([&] {
      const auto secret = support::new_secret(each);
      EXPECT_GE(support::needles_in_arena(), 1U) << "the test searches memory that holds no keys";
      EXPECT_DONE(call(paraes_seal, secret, plain, sealed, &written, nullptr));
      EXPECT_DONE(call(paraes_unseal, secret, sealed.data(), written, out, &written, nullptr));
    });
  }
}

// Plaintext that a handle keeps until a segment is complete, or is read.
TEST(ZeroiseC, PlaintextOfHandles) {
  const auto secret = support::key_secret(key);
  const Buffer sealed = support::seal(secret.get(), plain);
  const support::TemporaryFolder folder;
  const std::string file = folder.write("sealed", sealed);
  const std::string to = folder.path("to");
  Buffer out(20'000);
  std::size_t written = 0;
  // The beginning, the end, and what lies in the middle.
  const Bytes all = plain;
  watch_for({all.first(64), all.subspan(2496, 64), all.last(64)});
  expect_nothing_left([&] {
    paraes_encryptor* made = nullptr;
    EXPECT_DONE(paraes_encryptor_new(&made, secret.get(), nullptr));
    const support::EncryptorHandle encryptor(made);
    EXPECT_DONE(call(paraes_encryptor_update, made, plain, out, &written));
    EXPECT_GE(support::needles_in_arena(), 1U) << "the test searches memory without plaintext";
  });
  expect_nothing_left([&] {
    paraes_writer* made = nullptr;
    EXPECT_DONE(paraes_writer_open(&made, to.c_str(), secret.get(), nullptr));
    const support::WriterHandle writer(made);
    EXPECT_DONE(call(paraes_writer_write, made, plain));
  });
  expect_nothing_left([&] {
    paraes_reader* made = nullptr;
    EXPECT_DONE(paraes_reader_open(&made, file.c_str(), secret.get(), nullptr));
    const support::ReaderHandle reader(made);
    EXPECT_DONE(paraes_reader_read(made, out.data(), 50, &written));
  });
  expect_nothing_left([&] {
    paraes_decryptor* made = nullptr;
    EXPECT_DONE(paraes_decryptor_new(&made, secret.get(), nullptr));
    const support::DecryptorHandle decryptor(made);
    EXPECT_DONE(call(paraes_decryptor_update, made, sealed, out, &written));
    EXPECT_DONE(call(paraes_decryptor_finish, made, out, &written));
  });
}

}  // namespace
}  // namespace paraes
