// Measures whether the time of an operation depends on secrets, without knowing how it works:
// dudect, see welch.hpp. Each test measures inputs of two classes in random order. They lie in the
// same memory, and came there in the same way.
//
// Other programs disturb the measurements. `ttable` and a comparison with early exit show that the
// test finds leaks here nevertheless.
#include <gtest/gtest.h>

#include <array>
#include <cstdio>
#include <memory>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "tests/ct/dudect/clock.hpp"
#include "tests/ct/dudect/welch.hpp"
#include "tests/ct/dudect/work.hpp"
#include "tests/support/builds.hpp"

namespace paraes::dudect {
namespace {

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

std::vector<Measurement> measure(const Operation& operation, Work& work, Caches caches,
                                 Random& random) {
  Evictor evictor;
  std::vector<Measurement> measurements;
  measurements.reserve(batch * batches);
  std::vector<Secret> secrets(batch);
  std::array<unsigned, batch> classes;
  for (std::size_t b = 0; b < first_batches + batches; ++b) {
    for (std::size_t i = 0; i < batch; ++i) {
      classes[i] = static_cast<unsigned>(random() >> 63);
      operation.make(classes[i], random, work, secrets[i]);
    }
    for (std::size_t i = 0; i < batch; ++i) {
      work.secret = secrets[i];
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
bool leaks(const Operation& operation, const Kernel& row, Caches caches) {
  const auto work = std::make_unique<Work>(row);
  std::vector<Outcome> outcomes;
  for (unsigned run = 0; run < runs; ++run) {
    Random random(std::random_device{}());
    outcomes.push_back(farthest_t(measure(operation, *work, caches, random)));
  }
  support::report(support::build_name(row) + ", " + operation.name + ", " +
                  (caches == Caches::warm ? "warm" : "cold") + " caches: t" + text_of(outcomes));
  return is_leak(outcomes);
}

class LongTimes : public support::BuildTest {};

TEST_P(LongTimes, DoNotDependOnSecrets) {
  for (const Operation& operation : operations()) {
    for (const Caches caches : {Caches::warm, Caches::cold}) {
      EXPECT_FALSE(leaks(operation, row(), caches)) << operation.name;
    }
  }
  EXPECT_FALSE(leaks(equal_blocks(), row(), Caches::cold));
}

PARAES_FOR_BUILDS(LongTimes, [](const Kernel& row) { return row.timing == Timing::constant; });

class LongTimesOfTables : public support::BuildTest {};

TEST_P(LongTimesOfTables, DependOnTexts) {
  EXPECT_TRUE(leaks(equal_blocks(), row(), Caches::cold));
}

// Not `reference`: its table has 256 bytes, so that every encryption reads all four lines of it. On
// a Zen 4 that leaked nevertheless (|t| of 20 and more), on an Intel Xeon (Emerald Rapids) too
// little to be found each time (1 to 5, and with ten times the calls 1 to 12).
PARAES_FOR_BUILDS(LongTimesOfTables, [](const Kernel& row) { return row.name == "ttable"; });

TEST(LongTimesOfAComparison, WithEarlyExitDependOnThePlace) {
  EXPECT_TRUE(leaks(early_exit(), find_kernel("auto"), Caches::warm));
}

}  // namespace
}  // namespace paraes::dudect
