// Shared by the fuzzers: choices from the bytes of libFuzzer, and checks of the results.
#pragma once

#include <fuzzer/FuzzedDataProvider.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include "paraes/ciphers.hpp"
#include "tests/support/buffers.hpp"
#include "tests/support/kernels.hpp"

namespace paraes::fuzz {

using support::Buffer;
using Input = FuzzedDataProvider;

// What main.cpp calls for each input: every fuzzer defines it.
void fuzz(Input& input);

// libFuzzer reports the abort with its stack, and keeps the input.
inline void require(bool holds) {
  if (!holds) std::abort();
}

// Whether `action` throws an E. Other exceptions are faults.
template <class E, class Action>
[[nodiscard]] bool throws(const Action& action) {
  try {
    action();
  } catch (const E&) {
    return true;
  }
  return false;
}

[[nodiscard]] inline std::size_t number(Input& input, std::size_t least, std::size_t most) {
  return input.ConsumeIntegralInRange<std::size_t>(least, most);
}

// One of a few values.
template <class T, std::size_t count>
[[nodiscard]] T one_of(Input& input, const T (&values)[count]) {
  return values[number(input, 0, count - 1)];
}

// A callback for progress, which never goes back, nor beyond `most`.
[[nodiscard]] inline auto rising(std::uint64_t& done, std::uint64_t most) {
  return [&done, most](std::uint64_t bytes) {
    require(bytes >= done && bytes <= most);
    done = bytes;
  };
}

// `bytes` bytes of the input, and zeros when it has no more.
[[nodiscard]] inline Buffer take(Input& input, std::size_t bytes) {
  Buffer taken = input.ConsumeBytes<std::uint8_t>(bytes);
  taken.resize(bytes);
  return taken;
}

// Up to `most` bytes, more often few of them.
[[nodiscard]] inline std::size_t size_of_text(Input& input, std::size_t most) {
  const std::size_t limits[] = {std::min<std::size_t>(most, 300), std::min<std::size_t>(most, 4500),
                                most};
  return number(input, 0, one_of(input, limits));
}

// A text whose first bytes come from the input: those of a long one would be too many to fuzz.
[[nodiscard]] inline Buffer text(Input& input, std::size_t bytes) {
  Buffer made = support::pattern(bytes, input.ConsumeIntegral<std::uint8_t>());
  const Buffer start = take(input, std::min<std::size_t>(bytes, 32));
  std::copy(start.begin(), start.end(), made.begin());
  return made;
}

// Changes up to three places as chance or an attacker would. It may leave all as it was.
inline void damage(Input& input, Buffer& data) {
  for (std::size_t changes = number(input, 0, 3); changes != 0; --changes) {
    const std::size_t at = number(input, 0, data.size());
    const auto place = data.begin() + static_cast<std::ptrdiff_t>(at);
    const std::size_t behind = data.size() - at;
    switch (number(input, 0, 5)) {
      case 0:  // a bit
        if (behind != 0) data[at] ^= static_cast<std::uint8_t>(1U << number(input, 0, 7));
        break;
      case 1:
        data.resize(at);
        break;
      case 2: {
        const Buffer more = take(input, number(input, 1, 40));
        data.insert(place, more.begin(), more.end());
        break;
      }
      case 3:
        data.erase(place,
                   place + static_cast<std::ptrdiff_t>(std::min(behind, number(input, 1, 20000))));
        break;
      case 4: {  // what stands elsewhere
        const std::size_t from = number(input, 0, data.size());
        const std::size_t n = std::min({behind, data.size() - from, number(input, 1, 20000)});
        const Buffer moved(data.begin() + static_cast<std::ptrdiff_t>(from),
                           data.begin() + static_cast<std::ptrdiff_t>(from + n));
        std::copy(moved.begin(), moved.end(), place);
        break;
      }
      default: {
        const Buffer other = take(input, std::min(behind, number(input, 1, 8)));
        std::copy(other.begin(), other.end(), place);
      }
    }
  }
}

// Calls use(from, bytes) for consecutive parts of `bytes` bytes, all but the last of them a
// multiple of `grain`.
template <class Use>
void in_parts(Input& input, std::size_t bytes, std::size_t grain, const Use& use) {
  std::size_t from = 0;
  for (std::size_t cuts = number(input, 0, 4); cuts != 0; --cuts) {
    const std::size_t n = number(input, 0, (bytes - from) / grain) * grain;
    use(from, n);
    from += n;
  }
  use(from, bytes - from);
}

// Memory whose end AddressSanitizer guards, and whose beginning has any alignment.
class ExactBuffer {
 public:
  ExactBuffer(Bytes contents, std::size_t misalignment)
      : whole_(misalignment + contents.size()), misalignment_(misalignment) {
    std::copy(contents.begin(), contents.end(), span().begin());
  }
  [[nodiscard]] MutableBytes span() noexcept { return MutableBytes(whole_).subspan(misalignment_); }

 private:
  Buffer whole_;
  std::size_t misalignment_;
};

[[nodiscard]] inline bool equal(Bytes a, Bytes b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end());
}
[[nodiscard]] inline bool all_zero(Bytes bytes) {
  return std::all_of(bytes.begin(), bytes.end(), [](std::uint8_t b) { return b == 0; });
}

// A kernel of the kernel table that this machine can run. While the object exists, PARAES_CPU_MASK
// is such that the name of the kernel selects this kernel.
class AnyKernel {
 public:
  explicit AnyKernel(Input& input)
      : choice_(choices()[number(input, 0, choices().size() - 1)]),
        mask_("PARAES_CPU_MASK", choice_.second) {}

  [[nodiscard]] const Kernel& kernel() const noexcept { return *choice_.first; }
  [[nodiscard]] Execution execution(int threads = 1) const {
    return {.kernel = std::string(kernel().name), .threads = threads};
  }

 private:
  using Choice = std::pair<const Kernel*, std::string>;

  static const std::vector<Choice>& choices() {
    static const std::vector<Choice> all = [] {
      std::vector<Choice> list;
      for (const Kernel* kernel : support::compiled_kernels()) {
        if (support::why_unavailable(*kernel).empty())
          list.emplace_back(kernel, support::mask_for(*kernel));
      }
      return list;
    }();
    return all;
  }

  const Choice& choice_;
  support::ScopedEnvironment mask_;
};

}  // namespace paraes::fuzz
