// Suites turn axes into a plan, and share what is here. Each scope has one file. To add a suite,
// add a file and a line in make_plan() (bench/bench.cpp).
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "bench/axes.hpp"
#include "bench/file/tools.hpp"
#include "bench/harness/case.hpp"
#include "bench/lists.hpp"
#include "bench/memory/job.hpp"
#include "paraes/kernels.hpp"

namespace paraes::bench {

void plan_memory(const Axes& axes, BenchPlan& plan);
void plan_transfer(const Axes& axes, BenchPlan& plan);
void plan_file(const Axes& axes, BenchPlan& plan);

[[nodiscard]] BenchPlan make_plan(const Axes& axes);

// The row of a job on the CPU; the caller sets the kernel or the rival.
[[nodiscard]] Row row_of(const Job& job);
// The row of a file with `bytes` bytes of plaintext; the caller sets the device and the kernel or
// the rival.
[[nodiscard]] Row row_of(const FileRowJob& job, Direction direction, std::uint64_t bytes);

// Throws Skip for a job that the standards or the format do not allow.
void refuse(const Job& job);
void refuse(const FileRowJob& job, std::uint64_t bytes);

[[nodiscard]] bool is_authenticated(const std::string& format);

// Calls add(job) for every job in host memory that the axes describe.
void each_job(const Axes& axes, std::uint64_t bytes, int threads, const auto& add) {
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

// Calls add(job) for every job of many messages on the CPU that the axes describe.
void each_job_of_messages(const Axes& axes, std::uint64_t bytes, int threads, const auto& add) {
  for (const std::uint64_t message : axes.messages) {
    if (message == 0) continue;
    each_job(axes, bytes, threads, [&](Job job) {
      // Modes that nobody named are not missed.
      if (job.mode != Mode::gcm && !axes.modes_named) return;
      job.message = message;
      for (const Keys keys : axes.keys) {
        job.keys = keys;
        add(job);
      }
    });
  }
}

// Whether `device` is the CPU and a GPU together ("cpu+cuda:0").
[[nodiscard]] bool is_pair(const std::string& device);

// Collects the cases of one group, whose samples are interleaved: those of one size.
class GroupBuilder {
 public:
  explicit GroupBuilder(BenchPlan& plan) : plan_(plan) {}

  // make(row) returns the case of the row, or throws Skip: then the row is listed as skipped.
  void add(Row row, const auto& make) try {
    group_.push_back(make(row));
  } catch (const Skip& skip) {
    plan_.skipped.push_back({std::move(row), skip.what()});
  }

  // Moves the group to the plan, unless it is empty, and begins the next.
  void finish();

 private:
  BenchPlan& plan_;
  Group group_;
};

// Throws Skip for CBC encryption, which cannot run on a GPU because it is serial.
void refuse_serial(Mode mode, Direction direction);

// Throws Skip if the CPU, or GPUs, have no kernel of this name, or this machine cannot run it.
void require_kernel(const std::string& name, bool on_gpu);

// The sizes of the axes, or these.
[[nodiscard]] std::vector<std::uint64_t> sizes_or(const Axes& axes,
                                                  std::vector<std::uint64_t> defaults);

// A kernel of GPUs, and what the axes say about its launches.
struct GpuProgram {
  std::string kernel;
  unsigned group_threads;  // 0: the kernel's own number
  Axes::Tuning tuning;
};
[[nodiscard]] std::vector<GpuProgram> gpu_programs(const Axes& axes);

// The row on a GPU.
[[nodiscard]] Row on_gpu(Row row, const std::string& device, const GpuProgram& program,
                         const std::string& key_expansion);

// Lists a device in a scope as skipped.
void skip_device(BenchPlan& plan, const std::string& device, const std::string& scope,
                 const std::string& reason);

// The GPUs among axes.devices that are present. Missing ones are listed as skipped.
[[nodiscard]] std::vector<std::string> present_gpus(const Axes& axes, const std::string& scope,
                                                    BenchPlan& plan);

// Lists the executor `openmp` in a scope as skipped, if it was requested for the CPU.
void skip_openmp(const Axes& axes, const std::string& scope, const std::string& reason,
                 BenchPlan& plan);

// Lists an authenticated format, which has only GCM, as skipped if other modes were requested
// alone, and returns whether it did.
bool skip_without_gcm(const Axes& axes, const std::string& format, BenchPlan& plan);

// Lists key expansion on a device as skipped, if it was requested for the CPU.
void skip_device_keys_of_cpu(const Axes& axes, const std::string& scope, BenchPlan& plan);

}  // namespace paraes::bench
