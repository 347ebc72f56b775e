#include "bench/suites/suite_rows.hpp"

#include <algorithm>
#include <utility>

#include "bench/memory/openmp.hpp"
#include "paraes/devices.hpp"
#include "paraes/error.hpp"
#include "src/core/cache.hpp"
#include "src/gpu/device_names.hpp"
#include "src/modes/gcm.hpp"

namespace paraes::bench {

Row row_of(const Job& job) {
  Row row;
  row.mode = job.mode;
  if (job.mode) {
    row.key_bits = job.key_bits;
    row.direction = job.direction;
    row.key_expansion = "host";
  }
  row.threads = job.threads;
  if (job.threads > 1) row.executor = own_threads;
  row.bytes = job.bytes;
  row.in_place = job.in_place;
  // Warm if all that a call touches fits in the last-level cache at once.
  std::uint64_t touched = (job.in_place ? 1 : 2) * buffer_bytes(job);
  if (job.message != 0) {
    row.messages = Messages(job).count;
    row.keys = job.key_each ? "each" : "one";
    if (job.key_each) touched += row.messages * sizeof(GcmKey);
  }
  row.cache = touched < last_level_cache_bytes(job.threads) ? "warm" : "cold";
  return row;
}

void refuse(const Job& job) {
  if ((job.mode == Mode::ecb || job.mode == Mode::cbc) && job.bytes % 16 != 0) {
    throw Skip("ECB and CBC take whole blocks of 16 bytes (SP 800-38A section 5.2)");
  }
  if (job.mode == Mode::xts) {
    if (job.key_bits == 192) throw Skip("XTS has no AES-192 (SP 800-38E section 3)");
    if (job.bytes < 16) throw Skip("XTS takes 16 bytes or more (IEEE 1619 section 5.1)");
    if (job.unit == 0 && job.bytes > max_xts_unit_bytes) {
      throw Skip("a data unit has at most 2^20 blocks (SP 800-38E section 4)");
    }
  }
  if (job.message != 0) {
    if (job.mode != Mode::gcm) throw Skip("many messages at once are for --mode gcm");
    if (job.message > job.bytes)
      throw Skip("a message would have more bytes than all together: --size is their sum");
    if (Messages(job).count > max_messages) {
      throw Skip("at most " + std::to_string(max_messages) +
                 " messages: choose a smaller --size or a larger --message");
    }
    if (job.key_each && Messages(job).count > max_keys) {
      throw Skip("a key each is for up to " + std::to_string(max_keys) +
                 " messages: choose a smaller --size or a larger --message");
    }
  }
  if (job.mode == Mode::gcm && job.bytes > (std::uint64_t{1} << 36) - 32) {
    throw Skip("GCM takes at most 2^36 - 32 bytes (SP 800-38D section 5.2.1.1)");
  }
}

void refuse_serial(Mode mode, Direction direction) {
  if (mode == Mode::cbc && direction == Direction::encrypt) {
    throw Skip("CBC encryption is serial: the library computes it on the cpu");
  }
}

Row row_of(const FileRowJob& job, Direction direction, std::uint64_t bytes) {
  Row row;
  row.scope = "file";
  row.format = job.format;
  row.mode = job.mode;
  row.key_bits = job.key_bits;
  row.direction = direction;
  row.bytes = bytes;
  row.key_expansion = "host";
  return row;
}

bool is_authenticated(const std::string& format) { return format != "raw" && format != "openssl"; }

void refuse(const FileRowJob& job, std::uint64_t bytes) {
  if (job.format == "raw") {
    if (job.mode == Mode::gcm) {
      throw Skip("--format raw has no GCM: use --format paraes, c2sp or tink");
    }
    if ((job.mode == Mode::ecb || job.mode == Mode::cbc) && bytes % 16 != 0) {
      throw Skip("without padding ECB and CBC take whole blocks");
    }
    if (job.mode == Mode::xts) {
      if (job.key_bits == 192) throw Skip("XTS has no AES-192 (SP 800-38E section 3)");
      if (bytes < 16) throw Skip("XTS takes 16 bytes or more (IEEE 1619 section 5.1)");
      if (job.unit == 0) throw Skip("--unit 0 is not possible in file scope");
    }
  }
  if (job.format == "openssl" && job.mode != Mode::cbc && job.mode != Mode::ctr) {
    throw Skip("--format openssl has CBC and CTR only");
  }
  if (is_authenticated(job.format) && job.key_bits == 192) {
    throw Skip("--format " + job.format + " has 128- and 256-bit keys only");
  }
}

void GroupBuilder::finish() {
  if (!group_.empty()) plan_.groups.push_back(std::exchange(group_, {}));
}

KernelTable::KernelTable(const std::vector<KernelInfo>& list, std::string kind)
    : kind_(std::move(kind)) {
  for (const KernelInfo& info : list) infos_.emplace(info.name, info);
}

void KernelTable::require(const std::string& name) const {
  const auto found = infos_.find(name);
  if (found == infos_.end()) throw Skip("no " + kind_ + " kernel has this name");
  if (!found->second.available) throw Skip(found->second.reason);
}

bool has(const std::vector<std::string>& list, std::string_view word) {
  return std::find(list.begin(), list.end(), word) != list.end();
}

void skip_device(BenchPlan& plan, const std::string& device, const std::string& scope,
                 const std::string& reason) {
  Row row;
  row.device = device;
  row.scope = scope;
  row.threads = device == "cpu" ? 1 : 0;
  row.cache.clear();
  plan.skipped.push_back({std::move(row), reason});
}

bool is_pair(const std::string& device) {
  const auto names = gpu::parse_device(device);
  return names && names->with_cpu;
}

std::vector<std::string> present_gpus(const Axes& axes, const std::string& scope, BenchPlan& plan) {
  std::vector<std::string> gpus;
  for (const std::string& device : axes.devices) {
    if (device == "cpu") continue;
    if (is_pair(device) && scope != "file") {
      skip_device(plan, device, scope, "it shares out the segments of files: use --scope file");
      continue;
    }
    try {
      require_device(device);
      gpus.push_back(device);
    } catch (const Error& error) {
      skip_device(plan, device, scope, error.what());
    }
  }
  return gpus;
}

void skip_openmp(const Axes& axes, const std::string& scope, const std::string& reason,
                 BenchPlan& plan) {
  if (!has(axes.devices, "cpu") || !has(axes.executors, openmp)) return;
  Row row;
  row.scope = scope;
  row.executor = openmp;
  plan.skipped.push_back({std::move(row), reason});
}

bool skip_without_gcm(const Axes& axes, const std::string& format, BenchPlan& plan) {
  const bool has_gcm =
      std::find(axes.modes.begin(), axes.modes.end(), Mode::gcm) != axes.modes.end();
  if (has_gcm || !is_authenticated(format)) return false;
  Row row;
  row.scope = "file";
  row.format = format;
  plan.skipped.push_back(
      {std::move(row), "--format " + format + " has only GCM: other modes go with --format raw"});
  return true;
}

void skip_device_keys_of_cpu(const Axes& axes, const std::string& scope, BenchPlan& plan) {
  if (!has(axes.devices, "cpu") || !has(axes.key_expansions, "device")) return;
  Row row;
  row.scope = scope;
  row.key_expansion = "device";
  plan.skipped.push_back({std::move(row), "the cpu expands keys itself: use --key-expansion host"});
}

}  // namespace paraes::bench
