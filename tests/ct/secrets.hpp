// Shows that no branch and no memory address depends on a secret. valgrind's memcheck runs these
// tests: they mark secrets as undefined, memcheck follows everything that is computed from them,
// and reports each branch and each address that is undefined. (Adam Langley's ctgrind.)
#pragma once

#include <gtest/gtest.h>

#include <string_view>

#include "src/kernels/kernel.hpp"
#include "tests/support/buffers.hpp"
#include "tests/support/kernels.hpp"

namespace paraes::ct {

using support::Buffer;

// Marks memory as secret, and as public again. A secret keeps its value.
void hide(MutableBytes secret);
void reveal(MutableBytes secret);
template <class T>
void hide_object(T& object) {
  hide({reinterpret_cast<std::uint8_t*>(&object), sizeof object});
}

// Whether each byte has a bit that memcheck takes for secret.
[[nodiscard]] bool is_hidden(Bytes bytes);

// Whether a verdict depends on secrets. Its value must be hidden before any code branches on it.
[[nodiscard]] inline bool is_hidden_verdict(const bool& verdict) {
  return is_hidden({reinterpret_cast<const std::uint8_t*>(&verdict), 1});
}

// The number of reports by memcheck since the program started, repetitions included.
[[nodiscard]] unsigned reports();

[[nodiscard]] Buffer hidden_key(std::size_t bytes, unsigned seed = 7);
[[nodiscard]] Buffer hidden_text(std::size_t bytes, unsigned first = 2);

// Runs once for each kernel that promises constant time, and for one that does not: the control,
// without which a silent memcheck would prove nothing.
class SecretsTest : public support::KernelTest {
 protected:
  void SetUp() override;
  void TearDown() override;

  // Runs `work`, and counts what memcheck reports meanwhile: `verdicts`, which the caller may
  // learn.
  template <class Work>
  void watch(std::string_view what, unsigned verdicts, const Work& work) {
    const unsigned before = reports();
    work();
    judge(what, verdicts, reports() - before);
  }
  template <class Work>
  void watch(std::string_view what, const Work& work) {
    watch(what, 0, work);
  }

  // Checks that a result depends on secrets as far as memcheck knows: if it lost track of them, it
  // would report nothing.
  void expect_hidden(Bytes result, std::string_view what) const;

  [[nodiscard]] bool is_control() const { return kernel().timing == Timing::leaky; }

 private:
  void judge(std::string_view what, unsigned verdicts, unsigned found);

  bool ready_ = false;
  unsigned found_ = 0;
};

}  // namespace paraes::ct

// `ttable` is the control. `reference` is not: Clang makes its GHASH free of branches.
#define PARAES_FOR_SECRETS(Suite)                                                  \
  PARAES_FOR_KERNELS(Suite, [](const ::paraes::Kernel& kernel) {                   \
    return kernel.timing == ::paraes::Timing::constant || kernel.name == "ttable"; \
  })
