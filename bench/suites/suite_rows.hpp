// What the suites have in common.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "bench/axes.hpp"
#include "bench/file/tools.hpp"
#include "bench/harness/case.hpp"
#include "bench/memory/job.hpp"
#include "paraes/kernels.hpp"

namespace paraes::bench {

// The row of a job on the CPU, without its kernel.
[[nodiscard]] Row row_of(const Job& job);
// The row of a file of `bytes` bytes, without its device and kernel.
[[nodiscard]] Row row_of(const FileRowJob& job, Direction direction, std::uint64_t bytes);

// Throws Skip for a job that no implementation can do.
void refuse(const Job& job);
void refuse(const FileRowJob& job, std::uint64_t bytes);

[[nodiscard]] bool is_authenticated(const std::string& format);

// Calls `add` with every job of the axes in memory.
template <class Add>
void each_job(const Axes& axes, std::uint64_t bytes, int threads, const Add& add) {
  for (const bool in_place : axes.in_place) {
    for (const Mode mode : axes.modes) {
      for (const int bits : axes.key_bits) {
        for (const Direction direction : axes.directions) {
          add(Job{mode, bits, direction, axes.unit, bytes, threads, in_place});
        }
      }
    }
  }
}

// Collects rows that are interleaved with each other: those of one size.
class GroupBuilder {
 public:
  explicit GroupBuilder(BenchPlan& plan) : plan_(plan) {}

  // make(row) returns the variant of the row, or throws Skip: the row is then listed as skipped.
  template <class Make>
  void add(Row row, const Make& make) {
    try {
      group_.push_back(make(row));
    } catch (const Skip& skip) {
      plan_.skipped.push_back({std::move(row), skip.what()});
    }
  }

  // Gives the group to the plan, if it has a row, and begins the next.
  void finish();

 private:
  BenchPlan& plan_;
  Group group_;
};

// Throws Skip for what cannot be spread over a GPU.
void refuse_serial(Mode mode, Direction direction);

// Kernels of one kind of device by name.
class KernelTable {
 public:
  explicit KernelTable(const std::vector<KernelInfo>& list, std::string kind);
  // Throws Skip if there is no such kernel, or this machine cannot run it.
  void require(const std::string& name) const;

 private:
  std::map<std::string, KernelInfo, std::less<>> infos_;
  std::string kind_;
};

[[nodiscard]] bool has(const std::vector<std::string>& list, std::string_view word);

// Lists all rows of a device in a scope as skipped.
void skip_device(BenchPlan& plan, const std::string& device, const std::string& scope,
                 const std::string& reason);

// The GPUs among the devices that are there. The others are listed as skipped.
[[nodiscard]] std::vector<std::string> present_gpus(const Axes& axes, const std::string& scope,
                                                    BenchPlan& plan);

// Lists rows by OpenMP as skipped, where the threads are the library's own for `reason`.
void skip_openmp(const Axes& axes, const std::string& scope, const std::string& reason,
                 BenchPlan& plan);

// Lists the rows of the CPU as skipped that would have a GPU expand keys.
void skip_device_keys_of_cpu(const Axes& axes, const std::string& scope, BenchPlan& plan);

}  // namespace paraes::bench
