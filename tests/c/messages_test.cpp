// Messages in memory by the C API, whole and piece by piece, beside those of C++.

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

#include "paraes/messages.hpp"
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
using support::seal;
using support::SecretHandle;
using support::unseal;

constexpr std::size_t sizes[] = {0, 1, 15, 16, 16'383, 16'384, 16'385, 100'000, 3'000'000};

// A message piece by piece, as encryptor and decryptor process it.
template <class Handle>
struct Pieces {
  std::size_t (*bound)(const Handle*, std::size_t);
  int (*update)(Handle*, const void*, std::size_t, void*, std::size_t, std::size_t*);
  int (*finish)(Handle*, void*, std::size_t, std::size_t*);

  // In pieces of this size.
  Buffer operator()(Handle* handle, Bytes in, std::size_t piece) const {
    Buffer all;
    std::size_t written = 0;
    const auto keep = [&](Buffer& out) {
      EXPECT_LE(written, out.size());
      all.insert(all.end(), out.begin(), out.begin() + static_cast<std::ptrdiff_t>(written));
    };
    for (std::size_t at = 0; at < in.size(); at += piece) {
      const Bytes part = in.subspan(at, std::min(piece, in.size() - at));
      Buffer out(bound(handle, part.size()));
      EXPECT_DONE(update(handle, part.data(), part.size(), out.data(), out.size(), &written));
      keep(out);
    }
    Buffer out(bound(handle, 0));
    EXPECT_DONE(finish(handle, out.data(), out.size(), &written));
    keep(out);
    return all;
  }
};

constexpr Pieces<paraes_encryptor> encrypt_pieces = {
    paraes_encryptor_bound, paraes_encryptor_update, paraes_encryptor_finish};
constexpr Pieces<paraes_decryptor> decrypt_pieces = {
    paraes_decryptor_bound, paraes_decryptor_update, paraes_decryptor_finish};

support::EncryptorHandle new_encryptor(const paraes_secret* secret) {
  paraes_encryptor* made = nullptr;
  EXPECT_DONE(paraes_encryptor_new(&made, secret, nullptr));
  return support::EncryptorHandle(made);
}

support::DecryptorHandle new_decryptor(const paraes_secret* secret) {
  paraes_decryptor* made = nullptr;
  EXPECT_DONE(paraes_decryptor_new(&made, secret, nullptr));
  return support::DecryptorHandle(made);
}

SecretHandle passphrase_secret(const std::string& passphrase) {
  paraes_secret_options options = PARAES_SECRET_OPTIONS;
  options.passphrase = passphrase.data();
  options.passphrase_bytes = passphrase.size();
  options.scrypt_log2n = 4;
  options.key_bits = 128;
  return support::new_secret(options);
}

class EveryFormat : public testing::TestWithParam<std::tuple<const char*, std::size_t>> {
 protected:
  [[nodiscard]] const char* format() const { return std::get<0>(GetParam()); }
  Buffer key_ = make_key(std::get<1>(GetParam()));
  SecretHandle secret_ = key_secret(key_, format());
};

TEST_P(EveryFormat, SealedMessagesAreUnsealed) {
  for (const std::size_t bytes : sizes) {
    const Buffer plain = pattern(bytes);
    const Buffer sealed = seal(secret_.get(), plain);
    EXPECT_EQ(sealed.size(), paraes_seal_bound(secret_.get(), bytes));
    EXPECT_EQ(difference(unseal(secret_.get(), sealed), plain), "");
    for (const std::size_t from : {std::size_t{0}, bytes / 3, bytes}) {
      Buffer range(std::min<std::size_t>(bytes - from, 20'000));
      EXPECT_DONE(call(paraes_unseal_range, secret_, sealed, from, range, nullptr));
      EXPECT_EQ(difference(range, Bytes(plain).subspan(from, range.size())), "");
    }
  }
}

TEST_P(EveryFormat, PiecesOfAnySizeAreTheMessage) {
  for (const std::size_t bytes : sizes) {
    const Buffer plain = pattern(bytes);
    for (const std::size_t piece : {7U, 16'384U, 50'000U, 4'000'000U}) {
      if (bytes / piece > 20'000) continue;
      const Buffer sealed = encrypt_pieces(new_encryptor(secret_.get()).get(), plain, piece);
      ASSERT_EQ(difference(unseal(secret_.get(), sealed), plain), "") << bytes << ", " << piece;
      const Buffer opened = decrypt_pieces(new_decryptor(secret_.get()).get(), sealed, piece);
      ASSERT_EQ(difference(opened, plain), "") << bytes << ", " << piece;
    }
  }
}

TEST_P(EveryFormat, DamageIsNoticedAndNothingOfItIsWritten) {
  const Buffer plain = pattern(100'000);
  const Buffer sealed = seal(secret_.get(), plain);
  for (const std::size_t at : {sealed.size() / 2, sealed.size() - 1}) {
    Buffer damaged(sealed);
    damaged[at] ^= 1;
    Buffer out(sealed.size(), 0xee);
    std::size_t written = 99;
    EXPECT_FAILS(PARAES_BAD_SEGMENT, call(paraes_unseal, secret_, damaged, out, &written, nullptr));
    EXPECT_EQ(written, 0U);
    EXPECT_LE(paraes_error_offset(), at);
    EXPECT_EQ(std::count(out.begin(), out.begin() + 100'000, 0), 100'000);

    const auto decryptor = new_decryptor(secret_.get());
    const int code = call(paraes_decryptor_update, decryptor, damaged, out, &written);
    if (code == PARAES_OK) {
      EXPECT_FAILS(PARAES_BAD_SEGMENT, call(paraes_decryptor_finish, decryptor, out, &written));
    } else {
      EXPECT_TRUE(support::failed_with(PARAES_BAD_SEGMENT, code));
    }
    EXPECT_FAILS(PARAES_ERROR, call(paraes_decryptor_finish, decryptor, out, &written))
        << "after a failure";
  }
  // Cut off.
  Buffer out(sealed.size());
  std::size_t written = 0;
  for (const std::size_t bytes : {sealed.size() - 1, sealed.size() / 2, std::size_t{50}}) {
    const auto decryptor = new_decryptor(secret_.get());
    ASSERT_DONE(call(paraes_decryptor_update, decryptor, sealed.data(), bytes, out, &written));
    const int code = call(paraes_decryptor_finish, decryptor, out, &written);
    EXPECT_TRUE(paraes_is_a(code, PARAES_INTEGRITY_ERROR)) << code;
  }
}

INSTANTIATE_TEST_SUITE_P(Keys, EveryFormat,
                         testing::Combine(testing::Values("paraes", "c2sp", "tink"),
                                          testing::Values(16, 32)));

TEST(Messages, AreThoseOfCpp) {
  const Buffer key = make_key(32);
  const Buffer plain = pattern(50'000);
  const Buffer context = pattern(20);
  paraes_secret_options options = PARAES_SECRET_OPTIONS;
  options.key = key.data();
  options.key_bytes = key.size();
  options.context = context.data();
  options.context_bytes = context.size();
  const auto secret = support::new_secret(options);
  const Buffer sealed = seal(secret.get(), plain);
  const Message message(
      open_paraes_message(Bytes(sealed).first(paraes_header_bytes), key, context));
  Buffer opened(plain.size());
  open_segments(message, 0, true, Bytes(sealed).subspan(paraes_header_bytes), opened);
  EXPECT_EQ(difference(opened, plain), "");
}

TEST(Messages, WrongSecretsAreRefused) {
  const auto secret = key_secret(make_key(32, 1));
  const auto other = key_secret(make_key(32, 2));
  const auto passphrase = passphrase_secret("correct horse");
  const Buffer sealed = seal(secret.get(), pattern(100));
  Buffer out(sealed.size());
  std::size_t written = 0;
  EXPECT_FAILS(PARAES_WRONG_KEY, call(paraes_unseal, other, sealed, out, &written, nullptr));
  EXPECT_FAILS(PARAES_INVALID_ARGUMENT,
               call(paraes_unseal, passphrase, sealed, out, &written, nullptr));
  const auto decryptor = new_decryptor(other.get());
  EXPECT_FAILS(PARAES_WRONG_KEY, call(paraes_decryptor_update, decryptor, sealed, out, &written));
}

TEST(Messages, WithAPassphrase) {
  const auto secret = passphrase_secret("correct horse");
  const Buffer plain = pattern(20'000);
  const Buffer sealed = seal(secret.get(), plain);
  EXPECT_EQ(difference(unseal(secret.get(), sealed), plain), "");
  EXPECT_EQ(difference(decrypt_pieces(new_decryptor(secret.get()).get(), sealed, 1000), plain), "");
  paraes_secret_options options = PARAES_SECRET_OPTIONS;
  options.passphrase = "correct horse";
  options.passphrase_bytes = 13;
  options.max_scrypt_log2n = 3;
  const auto careful = support::new_secret(options);
  Buffer out(sealed.size());
  std::size_t written = 0;
  EXPECT_FAILS(PARAES_INVALID_ARGUMENT,
               call(paraes_unseal, careful, sealed, out, &written, nullptr));
}

// Handles that were made from a secret do not need it any more.
TEST(Messages, HandlesOutliveTheirSecret) {
  auto secret = key_secret(make_key(32));
  const Buffer plain = pattern(40'000);
  const auto encryptor = new_encryptor(secret.get());
  const auto decryptor = new_decryptor(secret.get());
  secret.reset();
  const Buffer sealed = encrypt_pieces(encryptor.get(), plain, 1234);
  EXPECT_EQ(difference(decrypt_pieces(decryptor.get(), sealed, 999), plain), "");
}

TEST(Messages, EndedOnesTakeNothingMore) {
  const auto secret = key_secret(make_key(32));
  const auto encryptor = new_encryptor(secret.get());
  const Buffer sealed = encrypt_pieces(encryptor.get(), pattern(10), 3);
  Buffer out(1000);
  std::size_t written = 0;
  EXPECT_FAILS(PARAES_INVALID_ARGUMENT, paraes_encryptor_update(encryptor.get(), out.data(), 1,
                                                                out.data() + 8, 900, &written));
  EXPECT_FAILS(PARAES_INVALID_ARGUMENT,
               paraes_encryptor_finish(encryptor.get(), out.data(), 900, &written));
  const auto decryptor = new_decryptor(secret.get());
  static_cast<void>(decrypt_pieces(decryptor.get(), sealed, 5));
  EXPECT_FAILS(PARAES_INVALID_ARGUMENT,
               paraes_decryptor_finish(decryptor.get(), out.data(), 900, &written));
}

// The capacity is checked before anything happens.
TEST(Messages, TooSmallCapacity_ChangesNothing) {
  const auto secret = key_secret(make_key(32));
  const Buffer plain = pattern(40'000);
  const auto encryptor = new_encryptor(secret.get());
  Buffer out(100'000);
  std::size_t written = 0;
  for (const std::size_t capacity : {std::size_t{0}, std::size_t{88}, std::size_t{16'000}}) {
    EXPECT_FAILS(PARAES_INVALID_ARGUMENT,
                 call(paraes_encryptor_update, encryptor, plain, out.data(), capacity, &written));
  }
  const Buffer sealed = encrypt_pieces(encryptor.get(), plain, 40'000);
  EXPECT_EQ(difference(unseal(secret.get(), sealed), plain), "");
}

TEST(Messages, InAChildProcess_AreDecryptedAndNotEncrypted) {
  const auto secret = key_secret(make_key(32));
  const Buffer plain = pattern(50'000);
  const Buffer sealed = seal(secret.get(), plain);
  const auto encryptor = new_encryptor(secret.get());
  const auto decryptor = new_decryptor(secret.get());
  Buffer out(100'000);
  std::size_t written = 0;
  EXPECT_TRUE(support::in_child([&] {
    return call(paraes_encryptor_update, encryptor, plain.data(), 5, out, &written) ==
               PARAES_WRONG_PROCESS &&
           call(paraes_encryptor_finish, encryptor, out, &written) == PARAES_WRONG_PROCESS &&
           decrypt_pieces(decryptor.get(), sealed, 5000) == plain &&
           unseal(secret.get(), seal(secret.get(), plain)) == plain;
  }));
  EXPECT_EQ(unseal(secret.get(), encrypt_pieces(encryptor.get(), plain, 5000)), plain);
}

TEST(Messages, OfOneSecretInManyThreads) {
  const auto secret = key_secret(make_key(32));
  std::vector<std::thread> threads;
  for (unsigned i = 0; i < 4; ++i) {
    threads.emplace_back([&secret, i] {
      for (std::size_t bytes = 0; bytes < 40'000; bytes += 3001) {
        const Buffer plain = pattern(bytes, i);
        EXPECT_EQ(difference(unseal(secret.get(), seal(secret.get(), plain)), plain), "");
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

// Wherever it runs for the secret.
TEST(Recipients, StandInsForAge_AreCancelled) {
  const support::TemporaryFolder folder;
  const std::string age = folder.write_script("age", "touch \"$folder/$$\"; exec sleep 60");
  paraes_secret_options options = PARAES_SECRET_OPTIONS;
  const char* const to[] = {"age1x"};
  options.recipients = to;
  options.recipient_count = 1;
  options.age = age.c_str();
  const auto secret = support::new_secret(options);
  const auto seal_hello = [&] {
    Buffer out(paraes_seal_bound(secret.get(), 5));
    std::size_t written = 0;
    EXPECT_FAILS(PARAES_CANCELLED, call(paraes_seal, secret, "hello", 5, out, &written, nullptr));
  };
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; ++i) threads.emplace_back(seal_hello);
  const auto runs = [&] {
    return std::distance(std::filesystem::directory_iterator(folder.path()),
                         std::filesystem::directory_iterator());
  };
  while (runs() < 4) std::this_thread::sleep_for(std::chrono::milliseconds(5));
  paraes_secret_cancel(secret.get());
  for (std::thread& thread : threads) thread.join();
  seal_hello();
  EXPECT_EQ(runs(), 4) << "age ran after that";
}

}  // namespace
}  // namespace paraes
