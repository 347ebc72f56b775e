// Measures whether the time of an operation depends on secrets, without knowing how it works:
// dudect, see welch.hpp. Each test measures inputs of two classes in random order. They lie in the
// same memory, and came there in the same way.
//
// Other programs disturb the measurements. `ttable` and a comparison with early exit show that the
// test finds leaks here nevertheless.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstring>
#include <random>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "tests/ct/dudect/clock.hpp"
#include "tests/ct/dudect/welch.hpp"
#include "tests/ct/operations.hpp"
#include "tests/support/kernels.hpp"

namespace paraes::dudect {
namespace {

using ct::Operation;
using ct::Work;
using Random = std::mt19937_64;

// ---- What is measured

// The difference between the classes: class 0 has zeros and class 1 random bytes; tags are wrong in
// the first byte in class 0, and in the last one in class 1.
enum class Secret { key, text, place };

struct Timed {
  std::string_view operation;
  std::size_t text_bytes;
  std::vector<Secret> secrets;  // one by one
};

constexpr std::size_t most_text_bytes = 512;
constexpr unsigned key_bytes = 32;

const Timed all[] = {
    {"expand", 0, {Secret::key}},
    {"ghash-key", 0, {Secret::key}},
    {"ecb-encrypt", 16, {Secret::key, Secret::text}},
    {"ecb-encrypt", 256, {Secret::key, Secret::text}},
    {"ecb-decrypt", 256, {Secret::key, Secret::text}},
    {"cbc-encrypt", 256, {Secret::key, Secret::text}},
    {"cbc-decrypt", 256, {Secret::key, Secret::text}},
    {"ctr", 256, {Secret::key, Secret::text}},
    {"xts-units-encrypt", 500, {Secret::key, Secret::text}},
    {"xts-units-decrypt", 500, {Secret::key, Secret::text}},
    {"ghash", 256, {Secret::key, Secret::text}},
    {"gcm-seal", 256, {Secret::key, Secret::text}},
    {"gcm-seal-nonce-60", 256, {Secret::key}},
    {"gcm-open-forged", 256, {Secret::place}},
    {"tag-compare", 16, {Secret::place}},
};

const Operation& operation_named(std::string_view name) {
  const auto all_operations = ct::operations();
  const auto found = std::find_if(all_operations.begin(), all_operations.end(),
                                  [&](const Operation& o) { return o.name == name; });
  if (found == all_operations.end()) throw std::logic_error("no operation has the name in `all`");
  return *found;
}

// Compares tags up to the first difference, to show that the measurement finds leaks.
void compare_to_the_first_difference(const Work& work) {
  for (std::size_t i = 0; i < 16; ++i) {
    const volatile bool differs = i == work.secrets.forged_byte;
    if (differs) return;
  }
}
constexpr Operation early_exit = {"comparison with early exit", ct::always, ct::nothing,
                                  ct::nothing, compare_to_the_first_difference};

// ---- Measuring

constexpr std::size_t batch = 500;
constexpr std::size_t batches = 200;
constexpr std::size_t first_batches = 2;  // caches and branch predictors settle: not used

// Cold: tables, keys and texts have left the first-level cache. Attackers can bring that about, and
// each line of a table that is read then costs time.
enum class Caches { warm, cold };

class Evictor {
 public:
  // Reads four times the usual size of a first-level cache, one word of each line.
  void run() noexcept {
    std::uint64_t sum = 0;
    for (std::size_t i = 0; i < memory_.size(); i += 64) sum += memory_[i];
    sum_ = sum_ + sum;
  }

 private:
  std::vector<std::uint8_t> memory_ = std::vector<std::uint8_t>(std::size_t{128} << 10, 1);
  volatile std::uint64_t sum_ = 0;
};

// The bytes that differ from call to call. Random ones are drawn for both classes, so that they
// leave the same traces in caches.
using Input = std::array<std::uint8_t, most_text_bytes>;

void make_input(Input& input, unsigned input_class, Random& random) {
  for (std::size_t i = 0; i < input.size(); i += 8) {
    const std::uint64_t word = random();
    std::memcpy(input.data() + i, &word, 8);
  }
  if (input_class == 0) input.fill(0);
}

void use_input(const Input& input, unsigned input_class, Secret secret, ct::Secrets& secrets) {
  if (secret == Secret::key) std::copy_n(input.begin(), sizeof secrets.key, secrets.key);
  if (secret == Secret::text) std::copy(input.begin(), input.end(), secrets.text);
  secrets.forged_byte = 15U * input_class;
}

std::vector<Measurement> measure(const Operation& operation, Secret secret, const Work& work,
                                 ct::Secrets& secrets, Caches caches, Random& random) {
  Evictor evictor;
  std::vector<Measurement> measurements;
  measurements.reserve(batch * batches);
  std::vector<Input> inputs(batch);
  std::array<unsigned, batch> classes;
  operation.use_key(work);
  for (std::size_t b = 0; b < first_batches + batches; ++b) {
    for (std::size_t i = 0; i < batch; ++i) {
      classes[i] = static_cast<unsigned>(random() >> 63);
      make_input(inputs[i], classes[i], random);
    }
    for (std::size_t i = 0; i < batch; ++i) {
      use_input(inputs[i], classes[i], secret, secrets);
      if (secret == Secret::key) operation.use_key(work);
      operation.prepare(work);
      if (caches == Caches::cold) evictor.run();
      const std::uint64_t begin = ticks();
      operation.run(work);
      const std::uint64_t end = ticks();
      if (b >= first_batches) measurements.push_back({end - begin, classes[i]});
    }
  }
  return measurements;
}

std::string text_of(std::span<const Outcome> outcomes) {
  std::string text;
  for (const Outcome& outcome : outcomes) {
    std::array<char, 64> one;
    std::snprintf(one.data(), one.size(), " %.2f (up to %g %%)", outcome.t, outcome.percentile);
    text += one.data();
  }
  return text;
}

// Whether three runs find a leak. Prints t of each.
bool leaks(const Operation& operation, std::size_t text_bytes, Secret secret, const Kernel& kernel,
           Caches caches) {
  static ct::Secrets secrets;
  for (std::size_t i = 0; i < sizeof secrets.key; ++i) {
    secrets.key[i] = static_cast<std::uint8_t>(37 * i + 11);
  }
  for (std::size_t i = 0; i < most_text_bytes; ++i) {
    secrets.text[i] = static_cast<std::uint8_t>(i % 251);
  }
  secrets.forged_bits = 1;
  const Work work = {kernel, key_bytes, text_bytes, secrets};
  std::vector<Outcome> outcomes;
  for (unsigned run = 0; run < runs; ++run) {
    Random random(std::random_device{}());
    outcomes.push_back(farthest_t(measure(operation, secret, work, secrets, caches, random)));
  }
  constexpr const char* secret_names[] = {"key", "text", "place of the difference"};
  support::report(support::kernel_name(kernel) + ", " + operation.name + ", " +
                  secret_names[static_cast<int>(secret)] + ", " + std::to_string(text_bytes) +
                  " bytes, " + (caches == Caches::warm ? "warm" : "cold") + " caches: t" +
                  text_of(outcomes));
  return is_leak(outcomes);
}

// Tables are read at fewer addresses if the blocks are equal.
bool equal_blocks_leak(const Kernel& kernel) {
  return leaks(operation_named("ecb-encrypt"), 64, Secret::text, kernel, Caches::cold);
}

class LongTimes : public support::KernelTest {};

TEST_P(LongTimes, DoNotDependOnSecrets) {
  for (const Timed& timed : all) {
    const Operation& operation = operation_named(timed.operation);
    for (const Secret secret : timed.secrets) {
      for (const Caches caches : {Caches::warm, Caches::cold}) {
        EXPECT_FALSE(leaks(operation, timed.text_bytes, secret, kernel(), caches))
            << operation.name;
      }
    }
  }
  EXPECT_FALSE(equal_blocks_leak(kernel()));
}

PARAES_FOR_KERNELS(LongTimes,
                   [](const Kernel& kernel) { return kernel.timing == Timing::constant; });

class LongTimesOfTables : public support::KernelTest {};

TEST_P(LongTimesOfTables, DependOnTexts) { EXPECT_TRUE(equal_blocks_leak(kernel())); }

// Not `reference`: its table has 256 bytes, so that every encryption reads all four lines of it. On
// a Zen 4 that leaked nevertheless (|t| of 20 and more), on an Intel Xeon (Emerald Rapids) too
// little to be found each time (1 to 5, and with ten times the calls 1 to 12).
PARAES_FOR_KERNELS(LongTimesOfTables, [](const Kernel& kernel) { return kernel.name == "ttable"; });

TEST(LongTimesOfAComparison, WithEarlyExitDependOnThePlace) {
  EXPECT_TRUE(leaks(early_exit, 0, Secret::place, find_kernel("auto"), Caches::warm));
}

}  // namespace
}  // namespace paraes::dudect
