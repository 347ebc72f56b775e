// The operations that are also traced and timed: with a secret key, and with a secret text as well.

#include <algorithm>
#include <string>

#include "tests/ct/operations.hpp"
#include "tests/ct/secrets.hpp"

namespace paraes::ct {
namespace {

class SecretsInOperations : public SecretsTest {
 protected:
  void check(const Operation& operation, unsigned key_bytes, std::size_t text_bytes,
             std::size_t messages) {
    static Secrets secrets;
    const Work work = {kernel(), key_bytes, text_bytes, secrets, messages};
    const std::string what = std::string(operation.name) + ", key of " + std::to_string(key_bytes) +
                             ", text of " + std::to_string(text_bytes) + ", " +
                             std::to_string(messages) + " messages";
    for (const bool text_is_secret : {false, true}) {
      const MutableBytes key = secrets.key;
      const MutableBytes text =
          MutableBytes(secrets.text).first(std::max<std::size_t>(text_bytes, 64));
      std::ranges::copy(support::make_key(key.size(), 7), key.begin());
      std::ranges::copy(support::pattern(text.size(), 2), text.begin());
      secrets.forged_bits = 0x40;
      hide(key);
      if (text_is_secret) hide(text);
      hide_object(secrets.forged_bits);
      watch(what, [&] {
        operation.use_key(work);
        operation.prepare(work);
        operation.run(work);
      });
      expect_hidden(output_of(operation, work), what);
      reveal(key);
      reveal(text);
    }
  }
};

TEST_P(SecretsInOperations, DecideNoBranchAndNoAddress) {
  for (const Operation& operation : operations()) {
    if (!operation.exists(kernel())) continue;
    const std::string_view name = operation.name;
    for (const unsigned key_bytes : {16U, 24U, 32U}) {
      if (name.starts_with("xts") && key_bytes == 24) continue;
      for (const std::size_t bytes : {16U, 48U, 112U, 528U, 4096U}) {
        check(operation, key_bytes, bytes, 7);
      }
    }
    if (!name.ends_with("-many")) continue;
    for (const std::size_t messages : {1U, 2U, 3U, 4U, 8U, 9U, 32U}) {
      for (const std::size_t bytes : {0U, 1U, 16U, 100U, 700U, 4096U}) {
        check(operation, 32, bytes, messages);
      }
    }
  }
}

PARAES_FOR_SECRETS(SecretsInOperations);

}  // namespace
}  // namespace paraes::ct
