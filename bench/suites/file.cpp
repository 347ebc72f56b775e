// File scope: how long does a program take from file to file, its start and exit included?
#include <utility>

#include "bench/file/child.hpp"
#include "bench/file/file_case.hpp"
#include "bench/suites/suites.hpp"
#include "paraes/kernels.hpp"

namespace paraes::bench {
namespace {

class FilePlanner {
 public:
  FilePlanner(const Axes& axes, BenchPlan& plan)
      : axes_(axes), plan_(plan), group_(plan), gpus_(present_gpus(axes, "file", plan)) {}

  // Without a device there is nothing to measure: rivals are only measured beside one.
  [[nodiscard]] bool has_device() const { return has(axes_.devices, "cpu") || !gpus_.empty(); }

  // Plans all rows of one size as one group, whose samples are interleaved.
  void plan(std::uint64_t bytes) {
    rivals_added_.clear();
    workspace_ = std::make_shared<Workspace>(workspace_root(axes_.folder), bytes);
    for (const FileRival& rival : file_rivals()) {
      if (!rival.follows_job) add_rival(rival, FileRowJob{});
    }
    for (const std::string& format : axes_.formats) {
      if (skip_without_gcm(axes_, format, plan_)) continue;
      // Authenticated formats have only GCM. The others do not have it.
      const std::vector<Mode> modes =
          is_authenticated(format) ? std::vector<Mode>{Mode::gcm} : modes_of(format);
      for (const Mode mode : modes) {
        for (const int bits : key_bits_of(format)) {
          FileRowJob job{format, mode, bits, axes_.unit};
          add_jobs(job);
          // `openssl enc` has no authenticated mode. AES-CTR with the same key size comes closest.
          const FileRowJob closest =
              is_authenticated(format) ? FileRowJob{"raw", Mode::ctr, bits, axes_.unit} : job;
          for (const FileRival& rival : file_rivals()) {
            if (rival.follows_job) add_rival(rival, closest);
          }
        }
      }
    }
    group_.finish();
  }

 private:
  [[nodiscard]] std::vector<Mode> modes_of(const std::string& format) const {
    if (axes_.modes_named) return axes_.modes;
    if (format == "openssl") return {Mode::cbc, Mode::ctr};
    return {Mode::ecb, Mode::cbc, Mode::ctr, Mode::xts};
  }

  [[nodiscard]] std::vector<int> key_bits_of(const std::string& format) const {
    // 256 is the default of paraes for these formats.
    if (!axes_.key_bits_named && format != "raw") return {256};
    return axes_.key_bits;
  }

  // `make` returns the tool of a row and its checker, or throws Skip.
  void add(Row row, const FileRowJob& job, FileCheck check, auto make) {
    group_.add(std::move(row), [&](const Row& r) {
      std::pair<FileTool, FileTool> tools = make(r);
      return make_file_case(r, job, check, std::move(tools.first), std::move(tools.second),
                            workspace_);
    });
  }

  void add_jobs(const FileRowJob& job) {
    for (const Direction direction : axes_.directions) {
      if (has(axes_.devices, "cpu")) add_on_cpu(job, row_of(job, direction, workspace_->bytes()));
      for (const std::string& device : gpus_)
        add_on_gpu(job, row_of(job, direction, workspace_->bytes()), device);
    }
  }

  void add_on_cpu(const FileRowJob& job, Row row) {
    // On the CPU, the other formats process one chunk at a time.
    row.overlap = axes_.overlap && is_authenticated(job.format);
    for (const int threads : axes_.threads) {
      for (const std::string& kernel : axes_.kernels) {
        row.threads = threads;
        row.kernel = kernel;
        add_ours(job, row);
      }
    }
  }

  void add_on_gpu(const FileRowJob& job, Row row, const std::string& device) {
    row.device = device;
    row.threads = 0;
    row.overlap = axes_.overlap;
    for (const std::string& kernel : axes_.gpu_kernels) {
      for (const std::string& transfer : axes_.transfers) {
        for (const std::string& place : axes_.key_expansions) {
          row.kernel = kernel;
          row.transfer = transfer;
          row.key_expansion = place;
          add_ours(job, row);
        }
      }
    }
  }

  void add_ours(const FileRowJob& job, const Row& row) {
    const FileCheck check = row.direction == Direction::decrypt ? FileCheck::plaintext
                            : job.format == "raw"               ? FileCheck::raw
                                                                : FileCheck::undo;
    add(row, job, check, [&](const Row& r) {
      refuse(job, workspace_->bytes());
      require_kernel(r.kernel, r.device != "cpu");
      if (r.transfer == page_locked) throw Skip("files are read into memory of the streams");
      if (r.device != "cpu") refuse_serial(job.mode, *r.direction);
      if (is_pair(r.device) && !is_authenticated(job.format)) {
        throw Skip("it shares out segments, which this format does not have");
      }
      return std::make_pair(paraes_tool(job, r, axes_.program),
                            job.format == "openssl"
                                ? openssl_enc_tool(job)
                                : paraes_tool(job, by_openssl(), axes_.program));
    });
  }

  // Formats that `openssl enc` does not have are checked by paraes with OpenSSL's AES.
  [[nodiscard]] static Row by_openssl() {
    return {.kernel = "openssl", .threads = 0, .overlap = true};
  }

  void add_rival(const FileRival& rival, const FileRowJob& job) {
    if (!has(axes_.rivals, rival.name)) return;
    for (const int threads : rival.has_threads ? axes_.threads : std::vector{1}) {
      add_rival(rival, job, threads);
    }
  }

  void add_rival(const FileRival& rival, const FileRowJob& job, int threads) {
    for (const Direction direction : axes_.directions) {
      Row row = row_of(job, direction, workspace_->bytes());
      row.rival = rival.name;
      row.threads = threads;
      if (!rival.follows_job) {
        row.format.clear();
        row.mode.reset();
        row.key_bits.reset();
        row.key_expansion.clear();
      }
      if (rival.copies) row.direction.reset();
      // Several formats may have the same closest job.
      if (has(rivals_added_, row)) continue;
      rivals_added_.push_back(row);
      const FileCheck check = rival.copies || direction == Direction::decrypt ? FileCheck::plaintext
                              : rival.follows_job && job.format == "raw"      ? FileCheck::raw
                                                                              : FileCheck::undo;
      add(std::move(row), job, check, [&](const Row& r) {
        if (rival.follows_job) refuse(job, workspace_->bytes());
        return std::make_pair(rival.make(job, r, axes_.program), rival.make(job, r, axes_.program));
      });
    }
  }

  const Axes& axes_;
  BenchPlan& plan_;
  GroupBuilder group_;
  std::vector<std::string> gpus_;  // those present
  std::shared_ptr<Workspace> workspace_;
  std::vector<Row> rivals_added_;
};

}  // namespace

void plan_file(const Axes& axes, BenchPlan& plan) {
  FilePlanner planner(axes, plan);
  if (!planner.has_device()) return;
  skip_device_keys_of_cpu(axes, "file", plan);
  skip_openmp(axes, "file", "programs have their own threads: --executor is for memory scope",
              plan);
  plan.folder = workspace_root(axes.folder);
  for (const std::uint64_t bytes : sizes_or(axes, {64 << 20})) planner.plan(bytes);
}

}  // namespace paraes::bench
