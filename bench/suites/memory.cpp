// Memory scope on the CPU: how fast is a kernel on data that is already in host memory?
#include <algorithm>
#include <map>
#include <utility>

#include "memory/ours.hpp"
#include "memory/variant.hpp"
#include "paraes/error.hpp"
#include "paraes/kernels.hpp"
#include "rivals/rivals.hpp"
#include "suites/suites.hpp"

namespace paraes::bench {
namespace {

Row row_of(const Job& job) {
  Row row;
  row.mode = job.mode;
  if (job.mode) {
    row.key_bits = job.key_bits;
    row.direction = job.direction;
    row.key_expansion = "host";
  }
  row.threads = job.threads;
  row.bytes = job.bytes;
  row.in_place = job.in_place;
  // What the run touches must fit in the last cache to be found there again.
  const std::uint64_t touched = job.in_place ? job.bytes : 2 * job.bytes;
  row.cache = touched < last_level_cache_bytes() ? "warm" : "cold";
  return row;
}

// Jobs that no implementation can do.
void refuse(const Job& job) {
  if ((job.mode == Mode::ecb || job.mode == Mode::cbc) && job.bytes % 16 != 0) {
    throw Skip("ECB and CBC take whole blocks of 16 bytes (SP 800-38A section 5.2)");
  }
  if (job.mode == Mode::xts) {
    if (job.key_bits == 192) throw Skip("XTS has no AES-192 (SP 800-38E section 3)");
    if (job.bytes < 16) throw Skip("XTS takes 16 bytes or more (IEEE 1619 section 5.1)");
    if (job.unit == 0 && job.bytes > std::uint64_t{16} << 20) {
      throw Skip("a data unit has at most 2^20 blocks (SP 800-38E section 4)");
    }
  }
  if (job.mode == Mode::gcm && job.bytes > (std::uint64_t{1} << 36) - 32) {
    throw Skip("GCM takes at most 2^36 - 32 bytes (SP 800-38D section 5.2.1.1)");
  }
}

class Planner {
 public:
  Planner(const Axes& axes, Plan& plan) : axes_(axes), plan_(plan) {
    for (const KernelInfo& info : kernels()) infos_.emplace(info.name, info);
  }

  // All rows of one size: one group, so that they are interleaved with each other.
  void plan(std::uint64_t bytes) {
    group_.clear();
    for (const int threads : axes_.threads) {
      // One arena a number of threads: its pages lie where these threads run.
      arena_ = std::make_shared<Arena>(bytes, threads);
      for (const MemoryRival& rival : memory_rivals()) {
        if (rival.copies && wanted(rival)) add_copy(rival, bytes, threads);
      }
      for (const bool in_place : axes_.in_place) {
        for (const Mode mode : axes_.modes) {
          for (const int bits : axes_.key_bits) {
            for (const Direction direction : axes_.directions) {
              add_job(Job{mode, bits, direction, axes_.unit, bytes, threads, in_place});
            }
          }
        }
      }
    }
    if (!group_.empty()) plan_.groups.push_back(std::move(group_));
  }

 private:
  [[nodiscard]] bool wanted(const MemoryRival& rival) const {
    for (const std::string& name : axes_.rivals) {
      if (name == rival.name) return true;
    }
    return false;
  }

  // `make` gives the contender or throws Skip.
  template <class Make>
  void add(Row row, const Job& job, Make make) {
    try {
      if (job.mode) refuse(job);
      group_.push_back(std::make_unique<MemoryVariant>(row, job, make(), arena_));
    } catch (const Skip& skip) {
      plan_.skipped.push_back({std::move(row), skip.what()});
    }
  }

  void add_copy(const MemoryRival& rival, std::uint64_t bytes, int threads) {
    Job job;
    job.bytes = bytes;
    job.threads = threads;
    Row row = row_of(job);
    row.rival = rival.name;
    add(std::move(row), job, [&] { return rival.make(job); });
  }

  void add_job(const Job& job) {
    for (const std::string& kernel : axes_.kernels) {
      Row row = row_of(job);
      row.kernel = kernel;
      add(std::move(row), job, [&]() -> std::unique_ptr<Contender> {
        const KernelInfo& info = infos_.at(kernel);
        if (!info.available) throw Skip(info.reason);
        if (job.mode == Mode::cbc && job.direction == Direction::encrypt && job.threads > 1) {
          throw Skip("CBC encryption is serial");
        }
        return make_ours(job, kernel);
      });
    }
    for (const MemoryRival& rival : memory_rivals()) {
      if (rival.copies || !wanted(rival)) continue;
      Row row = row_of(job);
      row.rival = rival.name;
      add(std::move(row), job, [&] { return rival.make(job); });
    }
  }

  const Axes& axes_;
  Plan& plan_;
  std::map<std::string, KernelInfo, std::less<>> infos_;
  std::shared_ptr<Arena> arena_;
  Group group_;
};

}  // namespace

void plan_memory(const Axes& axes, Plan& plan) {
  for (const std::string& device : axes.devices) {
    if (device == "cpu") continue;
    Row row;
    row.device = device;
    row.cache.clear();
    plan.skipped.push_back({std::move(row), "this build computes on the cpu only"});
  }
  if (std::find(axes.devices.begin(), axes.devices.end(), "cpu") == axes.devices.end()) return;
  for (const std::string& place : axes.key_expansions) {
    if (place == "host") continue;
    Row row;
    row.key_expansion = place;
    plan.skipped.push_back({std::move(row), "the cpu expands keys itself: --key-expansion host"});
  }
  const std::vector<std::uint64_t> sizes =
      axes.sizes.empty() ? std::vector<std::uint64_t>{16 << 10, 1 << 20} : axes.sizes;
  Planner planner(axes, plan);
  for (const std::uint64_t bytes : sizes) planner.plan(bytes);
}

}  // namespace paraes::bench
