#include "bench/suites/suites.hpp"

#include <algorithm>

#include "bench/memory/openmp.hpp"
#include "paraes/devices.hpp"
#include "paraes/error.hpp"
#include "paraes/streams.hpp"
#include "src/core/cache.hpp"
#include "src/gpu/device_names.hpp"
#include "src/kernels/registry.hpp"
#include "src/modes/gcm.hpp"

namespace paraes::bench {

Row row_of(const Job& job) {
  Row row = {
      .mode = job.mode, .threads = job.threads, .bytes = job.bytes, .in_place = job.in_place};
  if (job.mode) {
    row.key_bits = job.key_bits;
    row.direction = job.direction;
    row.key_expansion = "host";
  }
  if (job.threads > 1) row.executor = own_threads;
  // Warm if all that a call touches fits in the last-level cache at once.
  std::uint64_t touched = (job.in_place ? 1 : 2) * buffer_bytes(job);
  if (job.message != 0) {
    row.messages = Messages(job).count;
    row.keys = job.keys == Keys::one ? "one" : job.keys == Keys::each ? "each" : "once";
    // Long messages read tables, too.
    const std::size_t key_size =
        job.message <= find_kernel("auto").max_short_bytes ? sizeof(ShortGcmKey) : sizeof(GcmKey);
    if (job.keys == Keys::each) touched += row.messages * key_size;
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
    if (job.keys != Keys::one && Messages(job).count > max_keys) {
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
  return {.mode = job.mode,
          .key_bits = job.key_bits,
          .direction = direction,
          .bytes = bytes,
          .scope = "file",
          .format = job.format,
          .key_expansion = "host"};
}

bool is_authenticated(const std::string& format) {
  const auto* end = format_names.begin() + authenticated_formats;
  return std::find(format_names.begin(), end, format) != end;
}

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

void require_kernel(const std::string& name, bool on_gpu) {
  for (const KernelInfo& info : on_gpu ? gpu_kernels() : kernels()) {
    if (info.name != name) continue;
    if (!info.available) throw Skip(info.reason);
    return;
  }
  throw Skip(std::string("no ") + (on_gpu ? "GPU" : "CPU") + " kernel has this name");
}

std::vector<std::uint64_t> sizes_or(const Axes& axes, std::vector<std::uint64_t> defaults) {
  if (axes.sizes.empty()) return defaults;
  return axes.sizes;
}

std::vector<GpuProgram> gpu_programs(const Axes& axes) {
  std::vector<GpuProgram> programs;
  for (const std::string& kernel : axes.gpu_kernels) {
    for (const unsigned threads : axes.group_threads) {
      for (const Axes::Tuning& tuning : axes.gpu_tunings) {
        programs.push_back({kernel, threads, tuning});
      }
    }
  }
  return programs;
}

Row on_gpu(Row row, const std::string& device, const GpuProgram& program,
           const std::string& key_expansion) {
  row.device = device;
  row.kernel = program.kernel;
  row.threads = 0;
  row.key_expansion = key_expansion;
  if (program.group_threads != 0) row.group_threads = program.group_threads;
  row.gpu_tuning = program.tuning.text;
  return row;
}

void skip_device(BenchPlan& plan, const std::string& device, const std::string& scope,
                 const std::string& reason) {
  plan.skipped.push_back(
      {{.device = device, .threads = device == "cpu" ? 1 : 0, .scope = scope, .cache = ""},
       reason});
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
  plan.skipped.push_back({{.executor = std::string(openmp), .scope = scope}, reason});
}

bool skip_without_gcm(const Axes& axes, const std::string& format, BenchPlan& plan) {
  if (has(axes.modes, Mode::gcm) || !is_authenticated(format)) return false;
  plan.skipped.push_back(
      {{.scope = "file", .format = format},
       "--format " + format + " has only GCM: other modes go with --format raw"});
  return true;
}

void skip_device_keys_of_cpu(const Axes& axes, const std::string& scope, BenchPlan& plan) {
  if (!has(axes.devices, "cpu") || !has(axes.key_expansions, "device")) return;
  plan.skipped.push_back({{.scope = scope, .key_expansion = "device"},
                          "the cpu expands keys itself: use --key-expansion host"});
}

}  // namespace paraes::bench
