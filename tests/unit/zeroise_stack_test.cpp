// Intermediate results of key derivation do not stay on the stack.

#include <gtest/gtest.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <pthread.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <vector>

#include "paraes/kdf.hpp"
#include "tests/support/buffers.hpp"

namespace paraes {
namespace {

using support::Buffer;

constexpr std::size_t stack_bytes = std::size_t{1} << 20;

// Runs `work` in a thread and returns that thread's stack as it leaves it.
std::vector<std::uint8_t> stack_after(std::function<void()> work) {
  std::vector<std::uint8_t> memory(stack_bytes + 4096);
  auto* const begin = reinterpret_cast<std::uint8_t*>(
      (reinterpret_cast<std::uintptr_t>(memory.data()) + 4095) & ~std::uintptr_t{4095});
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  EXPECT_EQ(pthread_attr_setstack(&attributes, begin, stack_bytes), 0);
  pthread_t thread = {};
  const auto run = [](void* argument) -> void* {
    (*static_cast<std::function<void()>*>(argument))();
    return nullptr;
  };
  EXPECT_EQ(pthread_create(&thread, &attributes, run, &work), 0);
  EXPECT_EQ(pthread_join(thread, nullptr), 0);
  pthread_attr_destroy(&attributes);
  return memory;
}

// How often one of the 16-byte parts of `secret` is in `memory`.
int count(const std::vector<std::uint8_t>& memory, Bytes secret) {
  int found = 0;
  for (std::size_t at = 0; at + 16 <= secret.size(); at += 16) {
    const std::uint8_t* const part = secret.data() + at;
    for (auto from = memory.begin();; ++from) {
      from = std::search(from, memory.end(), part, part + 16);
      if (from == memory.end()) break;
      ++found;
    }
  }
  return found;
}

struct Hash {
  HkdfHash hash;
  const EVP_MD* (*evp)();
};
constexpr std::array<Hash, 3> hashes = {
    {{HkdfHash::sha1, EVP_sha1}, {HkdfHash::sha256, EVP_sha256}, {HkdfHash::sha512, EVP_sha512}}};

// Leaves it where functions that compute have their variables, below those that end a thread.
[[gnu::noinline]] void leave(Bytes secret) {
  std::array<volatile std::uint8_t, 8192> variables;
  std::copy(secret.begin(), secret.end(), variables.begin());
}

TEST(Stack, SearchFindsASecretThatWasNotZeroed) {
  const Buffer secret = support::make_key(32);
  const auto memory = stack_after([&] { leave(secret); });
  EXPECT_GE(count(memory, secret), 2);
}

// Not what the caller gave: the loader saves registers to the stack when it binds a function.
TEST(Stack, Hkdf_LeavesNeitherItsKeysNorItsBlocks) {
  const Buffer ikm = support::make_key(32, 1);
  const Buffer salt = support::make_key(32, 2);
  const Buffer info = support::make_key(32, 3);
  for (const Hash& hash : hashes) {
    // The pseudorandom key, of which all others can be derived.
    std::array<std::uint8_t, EVP_MAX_MD_SIZE> prk{};
    unsigned prk_bytes = 0;
    HMAC(hash.evp(), salt.data(), static_cast<int>(salt.size()), ikm.data(), ikm.size(), prk.data(),
         &prk_bytes);
    Buffer out(2 * prk_bytes / 16 * 16);  // whole parts of the last block
    const auto memory = stack_after([&] { hkdf(hash.hash, ikm, salt, info, out); });
    EXPECT_EQ(count(memory, Bytes(prk).first(prk_bytes)), 0) << prk_bytes;
    EXPECT_EQ(count(memory, out), 0) << prk_bytes;
  }
}

TEST(Stack, HkdfExpand_LeavesNeitherItsKeyNorItsBlocks) {
  const Buffer prk = support::make_key(64, 4);
  Buffer out(2 * 64);
  const auto memory = stack_after([&] { hkdf_expand_sha512(prk, {}, out); });
  EXPECT_EQ(count(memory, prk), 0);
  EXPECT_EQ(count(memory, out), 0);
}

}  // namespace
}  // namespace paraes
