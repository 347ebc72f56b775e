// Functions of the C API whose names end in _free leave no keys, no passphrase and no plaintext, in
// memory that is freed or in the locked memory.

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <initializer_list>

#include "tests/c/c_api.hpp"
#include "tests/support/buffers.hpp"
#include "tests/support/evp_oracle.hpp"
#include "tests/support/freed_memory.hpp"
#include "tests/support/temporary_folder.hpp"

namespace paraes {
namespace {

using support::Buffer;

void watch_for(std::initializer_list<Buffer> secrets) {
  support::forget_needles();
  for (const Buffer& secret : secrets) {
    for (std::size_t at = 0; at + 16 <= secret.size(); at += 16) {
      support::add_needle(secret.data() + at);
    }
  }
}

// Runs `work`, which makes a handle, uses it and frees it, and looks for what is left.
void expect_nothing_left(const std::function<void()>& work) {
  support::watching = true;
  work();
  support::watching = false;
  EXPECT_EQ(support::leaks, 0U);
  EXPECT_EQ(support::needles_in_arena(), 0U);
  EXPECT_GE(support::blocks_freed, 1U) << "the test saw no block freed";
}

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
    EXPECT_DONE(paraes_gcm_encrypt(gcm.get(), out.data(), 12, nullptr, 0, plain.data(),
                                   plain.size(), out.data(), tag.data()));
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
      EXPECT_DONE(paraes_seal(secret.get(), plain.data(), plain.size(), sealed.data(),
                              sealed.size(), &written, nullptr));
      EXPECT_DONE(paraes_unseal(secret.get(), sealed.data(), written, out.data(), out.size(),
                                &written, nullptr));
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
  watch_for({{plain.begin(), plain.begin() + 64},
             {plain.begin() + 2496, plain.begin() + 2560},
             {plain.end() - 64, plain.end()}});
  expect_nothing_left([&] {
    paraes_encryptor* made = nullptr;
    EXPECT_DONE(paraes_encryptor_new(&made, secret.get(), nullptr));
    const support::EncryptorHandle encryptor(made);
    EXPECT_DONE(paraes_encryptor_update(made, plain.data(), plain.size(), out.data(), out.size(),
                                        &written));
    EXPECT_GE(support::needles_in_arena(), 1U) << "the test searches memory without plaintext";
  });
  expect_nothing_left([&] {
    paraes_writer* made = nullptr;
    EXPECT_DONE(paraes_writer_open(&made, to.c_str(), secret.get(), nullptr));
    const support::WriterHandle writer(made);
    EXPECT_DONE(paraes_writer_write(made, plain.data(), plain.size()));
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
    EXPECT_DONE(paraes_decryptor_update(made, sealed.data(), sealed.size(), out.data(), out.size(),
                                        &written));
    EXPECT_DONE(paraes_decryptor_finish(made, out.data(), out.size(), &written));
  });
}

}  // namespace
}  // namespace paraes
