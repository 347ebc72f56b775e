#include "tests/ct/secrets.hpp"

#include <valgrind/memcheck.h>

#include <algorithm>

namespace paraes::ct {

void hide(MutableBytes secret) {
  static_cast<void>(VALGRIND_MAKE_MEM_UNDEFINED(secret.data(), secret.size()));
}

void reveal(MutableBytes secret) {
  static_cast<void>(VALGRIND_MAKE_MEM_DEFINED(secret.data(), secret.size()));
}

bool is_hidden(Bytes bytes) {
  Buffer bits(bytes.size());  // a bit is set where that of `bytes` is undefined
  if (VALGRIND_GET_VBITS(bytes.data(), bits.data(), bits.size()) != 1) return false;
  return std::none_of(bits.begin(), bits.end(), [](std::uint8_t b) { return b == 0; });
}

unsigned reports() { return static_cast<unsigned>(VALGRIND_COUNT_ERRORS); }

Buffer hidden_key(std::size_t bytes, unsigned seed) {
  Buffer key = support::make_key(bytes, seed);
  hide(key);
  return key;
}

Buffer hidden_text(std::size_t bytes, unsigned first) {
  Buffer text = support::pattern(bytes, first);
  hide(text);
  return text;
}

void SecretsTest::SetUp() {
  KernelTest::SetUp();
  if (IsSkipped() || HasFatalFailure()) return;
  ASSERT_NE(RUNNING_ON_VALGRIND, 0U) << "run this test with valgrind";
  ready_ = true;
}

void SecretsTest::TearDown() {
  if (ready_ && !IsSkipped() && is_control()) {
    EXPECT_GT(found_, 0U) << "memcheck does not see that this kernel leaks";
  }
}

void SecretsTest::judge(std::string_view what, unsigned verdicts, unsigned found) {
  if (found > verdicts) found_ += found - verdicts;
  if (!is_control()) {
    EXPECT_EQ(found, verdicts) << what << ": branches or addresses depend on a secret";
  }
}

void SecretsTest::expect_hidden(Bytes result, std::string_view what) const {
  EXPECT_TRUE(is_hidden(result)) << what << ": memcheck has lost track of the secrets";
}

}  // namespace paraes::ct
