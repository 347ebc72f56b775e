// What must not stay on the stack: intermediate results of key derivation, and vector registers.

#include <gtest/gtest.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <pthread.h>
#include <signal.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <vector>

#include "paraes/kdf.hpp"
#include "paraes/secret.hpp"
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

#if defined(__x86_64__) && defined(__linux__)

// Fills the vector registers with copies of 16 bytes and calls `function` with the trap flag set:
// after each instruction the system saves all registers to the stack, for the handler of a signal.
// This is the worst that a signal or the dynamic loader can do while it runs.
[[gnu::noinline]] void step_through(void (*function)(), const std::uint8_t* part) {
  if (__builtin_cpu_supports("avx512f") != 0) {
    __asm__ volatile(
        ".irp n, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15\n"
        "vbroadcasti32x4 (%0), %%zmm\\n\n.endr\n"
        ".irp n, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31\n"
        "vbroadcasti32x4 (%0), %%zmm\\n\n.endr"
        :
        : "r"(part)
        : "memory");
  } else {
    __asm__ volatile(
        ".irp n, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15\n"
        "movdqu (%0), %%xmm\\n\n.endr"
        :
        : "r"(part)
        : "memory");
  }
  __asm__ volatile(
      "mov %%rsp, %%rbx\n"
      "sub $128, %%rsp\n"  // the red zone
      "and $-16, %%rsp\n"
      "pushfq\norq $0x100, (%%rsp)\npopfq\n"
      "call *%0\n"
      "pushfq\nandq $~0x100, (%%rsp)\npopfq\n"
      "mov %%rbx, %%rsp"
      :
      : "r"(function)
      : "rax", "rbx", "rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10", "r11", "cc", "memory", "xmm0",
        "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", "xmm11",
        "xmm12", "xmm13", "xmm14", "xmm15");
}

#if defined(__SANITIZE_ADDRESS__)
constexpr bool address_sanitizer = true;
#elif defined(__has_feature)
constexpr bool address_sanitizer = __has_feature(address_sanitizer);
#else
constexpr bool address_sanitizer = false;
#endif

volatile sig_atomic_t steps_left = 0;

void end_step(int, siginfo_t*, void* context) {
  constexpr greg_t trap_flag = 0x100;
  steps_left = steps_left - 1;
  if (steps_left <= 0) static_cast<ucontext_t*>(context)->uc_mcontext.gregs[REG_EFL] &= ~trap_flag;
}

// How often a part of the registers is on a stack on which the first `steps` instructions of
// `function` were traced. The later ones are not: they would save other registers in the same
// place.
int count_after_steps(void (*function)(), int steps, Bytes part) {
  struct sigaction trace = {};
  trace.sa_sigaction = end_step;
  trace.sa_flags = SA_SIGINFO;
  struct sigaction before = {};
  EXPECT_EQ(sigaction(SIGTRAP, &trace, &before), 0);
  steps_left = steps;
  const auto memory = stack_after([&] { step_through(function, part.data()); });
  EXPECT_EQ(sigaction(SIGTRAP, &before, nullptr), 0);
  return count(memory, part);
}

TEST(Stack, SearchFindsRegistersThatASignalSaved) {
  const Buffer secret = support::make_key(16);
  EXPECT_GE(count_after_steps([] {}, 1, secret), 16);
}

TEST(Stack, Wipe_LeavesNoRegisterThatWasSavedMeanwhile) {
  if (address_sanitizer) GTEST_SKIP() << "it has 288 bytes between a frame and its array";
  // After so many, it has overwritten all registers, and what follows saves zeros.
  constexpr int most_steps = 300;
  const Buffer secret = support::make_key(16);
  for (int steps = 1; steps <= most_steps; ++steps) {
    ASSERT_EQ(count_after_steps(wipe_stack, steps, secret), 0) << steps;
    ASSERT_EQ(steps_left, 0);
  }
}

#endif

}  // namespace
}  // namespace paraes
