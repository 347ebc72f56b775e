// Memory scope on the CPU: a call computes the job once, between the buffers of an arena. It
// includes what each message needs (IV, tag), but not key expansion.
#pragma once

#include <array>
#include <memory>
#include <utility>

#include "bench/harness/case.hpp"
#include "bench/memory/arena.hpp"
#include "bench/memory/job.hpp"

namespace paraes::bench {

class MemoryCase : public Case {
 public:
  MemoryCase(Row row, const Job& job, std::unique_ptr<Implementation> implementation,
             std::shared_ptr<Arena> arena);

  void set_up() override;
  void call() override;
  [[nodiscard]] bool needs_restore() const override;
  void restore() override;
  void lead_in() override;
  [[nodiscard]] bool verify() override;
  bool expand_key() override;
  [[nodiscard]] bool is_kernel_alone() const override { return true; }

 protected:
  [[nodiscard]] const Job& job() const { return job_; }
  [[nodiscard]] Implementation& implementation() const { return *implementation_; }
  // Sets the implementation in set_up(), where the constructor could not.
  void use(std::unique_ptr<Implementation> implementation) {
    implementation_ = std::move(implementation);
  }

 private:
  Job job_;
  std::unique_ptr<Implementation> implementation_;
  std::shared_ptr<Arena> arena_;
  std::array<std::uint8_t, 16> tag_{};
};

}  // namespace paraes::bench
