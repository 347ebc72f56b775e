// Memory scope: how fast is a kernel on data in the memory of its device, which is host memory for
// the CPU and GPU memory for a GPU?
#include <utility>

#include "bench/memory/arena.hpp"
#include "bench/memory/device_memory.hpp"
#include "bench/memory/memory_case.hpp"
#include "bench/memory/openmp.hpp"
#include "bench/memory/ours.hpp"
#include "bench/memory/ports.hpp"
#include "bench/rivals/device.hpp"
#include "bench/rivals/rivals.hpp"
#include "bench/suites/suites.hpp"

namespace paraes::bench {
namespace {

class MemoryPlanner {
 public:
  MemoryPlanner(const Axes& axes, BenchPlan& plan) : axes_(axes), group_(plan) {
    for (std::string& device : present_gpus(axes, "memory", plan)) {
      if (device.find('+') == std::string::npos) {
        gpus_.push_back(std::move(device));
      } else {
        skip_device(plan, device, "memory",
                    "memory scope is for single devices: use --scope transfer for joined ones");
      }
    }
    skip_messages_on_gpus(plan);
    if (has(axes.devices, "cpu") || !axes.rivals_named) return;
    for (const MemoryRival& rival : memory_rivals()) {
      if (!wanted(rival) || rival.on_gpus != nullptr) continue;
      plan.skipped.push_back({{.rival = rival.name}, "it runs on the cpu: add cpu to --device"});
    }
  }

  // Plans all rows of one size as one group, whose samples are interleaved.
  void plan(std::uint64_t bytes) {
    if (has(axes_.devices, "cpu")) plan_cpu(bytes);
    for (const std::string& device : gpus_) {
      if (!has_whole()) break;
      std::shared_ptr<DeviceMemoryArena> arena;
      for (const GpuProgram& program : gpu_programs(axes_)) {
        auto own = plan_gpu(device, program, bytes);
        if (!arena) arena = std::move(own);
      }
      plan_rivals_on(device, arena, bytes);
    }
    group_.finish();
  }

 private:
  // Whether there are rows of one message.
  [[nodiscard]] bool has_whole() const { return has(axes_.messages, 0U); }

  void skip_messages_on_gpus(BenchPlan& plan) const {
    if (axes_.messages == std::vector<std::uint64_t>{0}) return;
    for (const std::string& device : gpus_) {
      skip_device(plan, device, "memory",
                  "--message is for the cpu: on a GPU, GCM has messages of 16 KiB");
    }
  }

  [[nodiscard]] bool wanted(const MemoryRival& rival) const {
    return has(axes_.rivals, rival.name);
  }

  // `make` returns the case or throws Skip.
  void add(Row row, const Job& job, auto make) {
    group_.add(std::move(row), [&](const Row& r) {
      refuse(job);
      return make(r);
    });
  }

  void plan_cpu(std::uint64_t bytes) {
    for (const int threads : axes_.threads) {
      // An arena for each number of threads, whose first touch places its pages near these threads.
      arena_ = std::make_shared<Arena>(bytes, threads);
      add_rivals({.bytes = bytes, .threads = threads});
      for (const Ports& ports : all_ports()) {
        if (has(axes_.rivals, ports.rival)) add_ports(ports, bytes, threads);
      }
      if (has_whole()) each_job(axes_, bytes, threads, [&](const Job& job) { add_job(job); });
      each_job_of_messages(axes_, bytes, threads, [&](const Job& job) {
        // An arena for each job, since the right tags for decryption lie in its input.
        arena_ = std::make_shared<Arena>(buffer_bytes(job), threads);
        add_job(job);
      });
    }
  }

  [[nodiscard]] std::unique_ptr<Case> on_cpu(const Row& row, const Job& job,
                                             std::unique_ptr<Implementation> implementation) {
    return std::make_unique<MemoryCase>(row, job, std::move(implementation), arena_);
  }

  void add_ports(const Ports& ports, std::uint64_t bytes, int threads) {
    for (const int bits : axes_.key_bits) {
      const Job job{ports.mode, bits, Direction::encrypt, 0, bytes, threads, false};
      Row row = row_of(job);
      row.rival = ports.rival;
      row.cache = "warm";
      add(std::move(row), job, [&](const Row& r) {
        require_kernel(std::string(ports.kernel), false);
        return make_ports(r, job, ports);
      });
    }
  }

  void add_job(const Job& job) {
    for (const std::string& kernel : axes_.kernels) {
      Row row = row_of(job);
      row.kernel = kernel;
      if (job.threads == 1) {
        add_ours(row, job);
        continue;
      }
      for (const std::string& executor : axes_.executors) {
        row.executor = executor;
        add_ours(row, job);
      }
    }
    add_rivals(job);
  }

  // Copies have no mode; the other rivals compute one.
  void add_rivals(const Job& job) {
    for (const MemoryRival& rival : memory_rivals()) {
      if (rival.copies == job.mode.has_value() || !rival.on_cpu || !wanted(rival)) continue;
      Row row = row_of(job);
      row.rival = rival.name;
      add(std::move(row), job, [&](const Row& r) { return on_cpu(r, job, rival.make(job)); });
    }
  }

  void add_ours(const Row& row, const Job& job) {
    add(row, job, [&](const Row& r) -> std::unique_ptr<Case> {
      require_kernel(r.kernel, false);
      if (job.mode == Mode::cbc && job.direction == Direction::encrypt && job.threads > 1) {
        throw Skip("CBC encryption is serial");
      }
      auto ours = make_ours(job, r.kernel);
      if (r.executor != openmp) return on_cpu(r, job, std::move(ours));
      return std::make_unique<OpenMpCase>(r, job, std::move(ours), arena_);
    });
  }

  // Returns the memory of the rows.
  std::shared_ptr<DeviceMemoryArena> plan_gpu(const std::string& device, const GpuProgram& program,
                                              std::uint64_t bytes) {
    gpu::PoolOptions options;
    gpu::apply(program.tuning.meaning, options);
    options.variant.group_threads = program.group_threads;
    auto arena =
        std::make_shared<DeviceMemoryArena>(device, program.kernel, options.variant, bytes);
    each_job(axes_, bytes, 1, [&](const Job& job) {
      for (const std::string& place : axes_.key_expansions) {
        Row row = on_gpu(row_of(job), device, program, place);
        row.cache.clear();  // the size of a GPU's cache is not known
        if (job.mode == Mode::gcm) row.messages = segments(bytes);
        add(std::move(row), job, [&](const Row& r) {
          require_kernel(program.kernel, true);
          refuse_serial(*job.mode, job.direction);
          refuse_device_memory(job);
          const auto expansion = place == "device" ? KeyExpansion::device : KeyExpansion::host;
          return std::make_unique<DeviceMemoryCase>(r, job, expansion, arena);
        });
      }
    });
    return arena;
  }

  // They work in the memory, and for OpenCL in the context, of the first program's rows.
  void plan_rivals_on(const std::string& device, const std::shared_ptr<DeviceMemoryArena>& arena,
                      std::uint64_t bytes) {
    for (const MemoryRival& rival : memory_rivals()) {
      if (rival.on_gpus == nullptr || !wanted(rival)) continue;
      each_job(axes_, bytes, 1, [&](const Job& job) {
        Row row = on_gpu(row_of(job), device, {}, "");
        row.rival = rival.name;
        row.traffic = rival.on_gpus->traffic;
        row.cache.clear();
        if (job.mode == Mode::gcm) row.messages = segments(bytes);
        add(std::move(row), job, [&](const Row& r) {
          return std::make_unique<DeviceRivalCase>(r, job, rival.on_gpus, arena);
        });
      });
    }
  }

  const Axes& axes_;
  GroupBuilder group_;
  std::vector<std::string> gpus_;  // those present
  std::shared_ptr<Arena> arena_;
};

}  // namespace

void plan_memory(const Axes& axes, BenchPlan& plan) {
  MemoryPlanner planner(axes, plan);
  skip_device_keys_of_cpu(axes, "memory", plan);
  for (const std::uint64_t bytes : sizes_or(axes, {16 << 10, 1 << 20})) planner.plan(bytes);
}

}  // namespace paraes::bench
