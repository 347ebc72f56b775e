// A case for tests of measurements.
#pragma once

#include <functional>
#include <string>
#include <utility>

#include "bench/harness/case.hpp"

namespace paraes::bench {

// A case whose every step a test can replace.
class Fake : public Case {
 public:
  explicit Fake(const std::string& kernel, const std::string& device = "cpu")
      : Case(row_of(kernel, device)) {}

  std::function<void()> on_set_up = [] {};
  std::function<void()> on_lead_in = [] {};
  std::function<void()> on_rest = [] {};
  std::function<bool()> on_expand_key = [] { return false; };
  std::function<void()> on_call = [] {};
  std::function<void()> on_restore = [] {};
  std::function<bool()> on_verify = [] { return true; };
  bool restores = false;
  bool kernel_alone = false;
  PhaseNanoseconds phases;  // since the last take_phases()
  int calls = 0;
  int restored = 0;

  void set_up() override { on_set_up(); }
  void call() override {
    ++calls;
    on_call();
  }
  [[nodiscard]] bool needs_restore() const override { return restores; }
  void restore() override {
    ++restored;
    on_restore();
  }
  void lead_in() override { on_lead_in(); }
  void rest() noexcept override { on_rest(); }
  bool expand_key() override { return on_expand_key(); }
  [[nodiscard]] PhaseNanoseconds take_phases() override { return std::exchange(phases, {}); }
  [[nodiscard]] bool is_kernel_alone() const override { return kernel_alone; }
  [[nodiscard]] bool verify() override { return on_verify(); }

 private:
  static Row row_of(const std::string& kernel, const std::string& device) {
    Row row;
    row.kernel = kernel;
    row.device = device;
    row.bytes = 16;
    return row;
  }
};

}  // namespace paraes::bench
