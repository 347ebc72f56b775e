// One row of a benchmark, as the harness sees it. The harness knows nothing of AES: a case sets
// itself up, does its work once per call and checks its own result.
#pragma once

#include <initializer_list>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "bench/harness/row.hpp"
#include "paraes/phase_times.hpp"
#include "src/core/non_copyable.hpp"

namespace paraes::bench {

// The phases of a row, in nanoseconds, by the names in phase_table. A phase that was not measured
// has no entry.
using PhaseNanoseconds = std::map<std::string_view, double>;
using PhaseSamples = std::map<std::string_view, std::vector<double>>;

// The phases of `times` that `measured` names.
[[nodiscard]] inline PhaseNanoseconds phases_of(const PhaseTimes& times,
                                                std::initializer_list<std::string_view> measured) {
  PhaseNanoseconds result;
  for (const Phase& phase : phase_table) {
    for (const std::string_view name : measured) {
      if (name == phase.name) result[name] = static_cast<double>(times.*phase.busy_ns);
    }
  }
  return result;
}

// Thrown by the constructor or set_up() of a case that cannot run here; what() is the reason.
class Skip : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// Thrown by verify() where nobody can tell whether the result is right; what() is the reason.
class Unverifiable : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

class Case : public Interface {
 public:
  explicit Case(Row row) : row_(std::move(row)) {}

  [[nodiscard]] const Row& row() const { return row_; }

  // Acquires what the calls need (buffers, files), which the destructor gives back. Throws Skip.
  virtual void set_up() {}

  // Does the timed work once. May throw: the row then counts as wrong.
  virtual void call() = 0;

  // Whether a call destroys its own input. Such calls are timed one by one, each after an untimed
  // restore(); all others are timed a batch at a time.
  [[nodiscard]] virtual bool needs_restore() const { return false; }
  virtual void restore() {}

  // Called before each sample, untimed: brings the caches, the device or the threads into the state
  // in which this case is to be measured, since other cases ran in between.
  virtual void lead_in() {}

  // Called after this case's calls, untimed: stops activity that would take cores from the next
  // case.
  virtual void rest() noexcept {}

  // Makes one more call, from fresh input into overwritten output, and checks every byte of the
  // result: against an independent computation where there is one, else by decrypting it. May throw
  // Unverifiable.
  [[nodiscard]] virtual bool verify() = 0;

  // Busy time of each phase that was measured separately, summed over the calls since the last
  // take_phases().
  [[nodiscard]] virtual PhaseNanoseconds take_phases() { return {}; }

  // Whether a call is the kernel phase alone. The timeline then has the median call as `kernel`.
  [[nodiscard]] virtual bool is_kernel_alone() const { return false; }

  // Expands a key once, outside the calls, for the timeline; false if this case has no key to
  // expand. A case that measures the expansion itself adds the time to its phases.
  virtual bool expand_key() { return false; }

 protected:
  // For use in lead_in().
  void call_untimed() {
    if (needs_restore()) restore();
    call();
  }

 private:
  Row row_;
};

// Cases whose samples are interleaved. All are set up at the same time, so their buffers must fit
// in memory together.
using Group = std::vector<std::unique_ptr<Case>>;

struct Skipped {
  Row row;
  std::string reason;
};

struct BenchPlan {
  std::vector<Group> groups;
  std::vector<Skipped> skipped;
  std::string folder;  // where files are created; empty if there are none
};

}  // namespace paraes::bench
