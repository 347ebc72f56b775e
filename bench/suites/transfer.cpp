// Transfer scope: how long does a message take from host memory, through a GPU, to host memory?
#include <memory>
#include <string>
#include <utility>

#include "bench/memory/arena.hpp"
#include "bench/memory/transfer.hpp"
#include "bench/suites/suites.hpp"

namespace paraes::bench {
namespace {

class TransferPlanner {
 public:
  TransferPlanner(const Axes& axes, BenchPlan& plan)
      : axes_(axes), group_(plan), gpus_(present_gpus(axes, "transfer", plan)) {
    if (!has(axes.devices, "cpu")) return;
    skip_device(plan, "cpu", "transfer", "data for the cpu is in host memory: nothing to transfer");
  }

  // Plans all rows of one size as one group, whose samples are interleaved.
  void plan(std::uint64_t bytes) {
    arena_ = std::make_shared<Arena>(bytes, 1);
    for (const std::string& device : gpus_) {
      locked_ = std::make_shared<Arena>(bytes, page_locked_buffers(device, bytes));
      if (has(axes_.rivals, pinned_copy_name)) add_copy(device, bytes);
      for (const GpuProgram& program : gpu_programs(axes_)) {
        each_job(axes_, bytes, 1, [&](const Job& job) { add_job(device, program, job); });
      }
    }
    group_.finish();
  }

 private:
  // The row of a copy or a job.
  [[nodiscard]] Row transfer_row(const Job& job) const {
    Row row = row_of(job);
    row.scope = "transfer";
    row.overlap = axes_.overlap;
    return row;
  }

  void add_copy(const std::string& device, std::uint64_t bytes) {
    Row row = transfer_row({.bytes = bytes});
    row.device = device;
    row.threads = 0;
    row.rival = pinned_copy_name;
    group_.add(std::move(row), [](const Row& r) { return make_pinned_copy(r); });
  }

  void add_job(const std::string& device, const GpuProgram& program, const Job& job) {
    for (const std::string& transfer : axes_.transfers) {
      for (const std::string& place : axes_.key_expansions) {
        Row row = on_gpu(transfer_row(job), device, program, place);
        row.transfer = transfer;
        group_.add(std::move(row), [&](const Row& r) {
          refuse(job);
          require_kernel(program.kernel, true);
          refuse_serial(*job.mode, job.direction);
          Execution execution;
          execution.kernel = program.kernel;
          execution.device = device;
          execution.transfer = transfer == "mapped" ? Transfer::mapped : Transfer::staged;
          execution.key_expansion = place == "device" ? KeyExpansion::device : KeyExpansion::host;
          execution.group_threads = program.group_threads;
          execution.gpu_tuning = program.tuning.meaning;
          execution.overlap = axes_.overlap;
          return make_transfer(r, job, transfer == page_locked ? locked_ : arena_, execution);
        });
      }
    }
  }

  const Axes& axes_;
  GroupBuilder group_;
  std::vector<std::string> gpus_;  // those present
  std::shared_ptr<Arena> arena_;
  std::shared_ptr<Arena> locked_;  // by the present device
};

}  // namespace

void plan_transfer(const Axes& axes, BenchPlan& plan) {
  TransferPlanner planner(axes, plan);
  for (const std::uint64_t bytes : sizes_or(axes, {1 << 20, 64 << 20})) planner.plan(bytes);
}

}  // namespace paraes::bench
