// What the harness times. It knows nothing of AES: a variant sets itself up, does its work once,
// checks its own answer and says what it is.
#pragma once

#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "bench/harness/phases.hpp"
#include "bench/harness/row.hpp"

namespace paraes::bench {

// Thrown by constructors and set_up of variants that cannot run here; what() is the reason.
class Skip : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

class Case {
 public:
  explicit Case(Row row) : row_(std::move(row)) {}
  virtual ~Case() = default;
  Case(const Case&) = delete;
  Case& operator=(const Case&) = delete;

  [[nodiscard]] const Row& row() const { return row_; }

  // Takes what the runs need (buffers, files). Throws Skip.
  virtual void set_up() {}
  virtual void tear_down() noexcept {}

  // The work, once. May throw: the row then counts as wrong.
  virtual void call() = 0;

  // A variant whose calls spoil their own input says so; its calls are then timed one at a time,
  // each after an untimed restore().
  [[nodiscard]] virtual bool needs_restore() const { return false; }
  virtual void restore() {}

  // Before each sample, untimed: makes of the caches, or of other processes, what the calls need
  // after those of other variants.
  virtual void lead_in() {}

  // After its calls, untimed: ends what would take cores from the calls of other variants.
  virtual void rest() noexcept {}

  // Works once more from fresh input into spoilt output and compares every byte with an
  // independent computation.
  [[nodiscard]] virtual bool verify() = 0;

  // The phases of all calls since it was last asked, as far as they were timed apart; it then
  // forgets them.
  [[nodiscard]] virtual PhaseNanoseconds take_phases() { return {}; }

  // Whether a call is the kernel phase and no other.
  [[nodiscard]] virtual bool is_kernel_alone() const { return false; }

  // Expands a key once more, for the timeline; false if this variant has no key to expand. One that
  // times this itself adds it to its phases.
  virtual bool expand_key() { return false; }

 protected:
  // For a lead_in().
  void call_untimed() {
    if (needs_restore()) restore();
    call();
  }

 private:
  Row row_;
};

// Variants that are interleaved with each other. They are set up together, so their buffers must
// fit in memory at once.
using Group = std::vector<std::unique_ptr<Case>>;

struct Skipped {
  Row row;
  std::string reason;
};

struct BenchPlan {
  std::vector<Group> groups;
  std::vector<Skipped> skipped;
  std::string folder;  // where files are made; empty: none are
};

}  // namespace paraes::bench
