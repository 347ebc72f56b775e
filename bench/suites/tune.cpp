#include "bench/suites/tune.hpp"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <map>
#include <memory>
#include <optional>
#include <utility>

#include "bench/axes.hpp"
#include "bench/file/child.hpp"
#include "bench/file/workspace.hpp"
#include "bench/harness/measure.hpp"
#include "bench/harness/noted_signals.hpp"
#include "bench/harness/random.hpp"
#include "bench/memory/arena.hpp"
#include "bench/memory/job.hpp"
#include "paraes/devices.hpp"
#include "paraes/error.hpp"
#include "paraes/io.hpp"
#include "paraes/kernels.hpp"
#include "paraes/memory.hpp"
#include "paraes/messages.hpp"
#include "paraes/threads.hpp"
#include "src/gpu/programs/program_variant.hpp"

namespace paraes::bench {
namespace {

using Clock = std::chrono::steady_clock;

constexpr unsigned samples = least_for_interval;
// The samples, then calibration, warm-up, and verification with its decryption.
constexpr double calls_per_row = samples + 4;
// A machine may be slow for as long as one pass lasts: see Pass.
constexpr unsigned passes = 3;
// Fractions of the whole time. Where samples are cheap there are more of them: in each row for as
// long as this, and of the starts on each device.
constexpr double part_per_row = 1.0 / 400;
constexpr double part_per_start = 1.0 / 40;

// Tunings that may make a GPU faster than paraes's own choice.
constexpr GpuTuning tunings[] = {
    {.streams = 6},
    {.streams = 24},
    {.launch_bytes = std::uint64_t{2} << 20},
    {.launch_bytes = std::uint64_t{8} << 20},
    {.tables = 4},
    {.groups_per_processor = 2},
    {.tensor_hash = true},
    {.tensor_hash = false},
};

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

class MemorySink : public PositionalSink {
 public:
  explicit MemorySink(MutableBytes data) : data_(data) {}

  void write(Bytes bytes) override {
    write_at(position_, bytes);
    position_ += bytes.size();
  }
  void write_at(std::uint64_t offset, Bytes bytes) override {
    if (offset > data_.size() || bytes.size() > data_.size() - offset) {
      throw Error("a message is longer than its layout allows");
    }
    std::memcpy(data_.data() + offset, bytes.data(), bytes.size());
  }
  void commit() override {}

 private:
  MutableBytes data_;
  std::uint64_t position_ = 0;
};

Bytes key() { return Bytes(material().key).first(32); }

std::uint64_t sealed_bytes(std::uint64_t bytes) { return c2sp_layout().sealed_bytes(bytes); }

// A call encrypts row.bytes in the format c2sp, from memory to memory as files are encrypted, but
// without the file system: with AES-256, on row.device with row.kernel and row.threads, and on a
// GPU with `tuning`. `arena` has at least sealed_bytes(row.bytes).
class SealCase : public Case {
 public:
  SealCase(Row row, std::shared_ptr<Arena> arena, const GpuTuning& tuning)
      : Case(std::move(row)), arena_(std::move(arena)), tuning_(tuning) {}

  void set_up() override {
    arena_->acquire();
    try {
      message_.emplace(
          Message(new_c2sp_message(key(), {}),
                  {.kernel = row().kernel, .device = row().device, .gpu_tuning = tuning_}));
    } catch (const Error& error) {
      throw Skip(error.what());
    }
    const SegmentCipher& cipher = message_->cipher();
    if ((tuning_.launch_bytes != 0 && cipher.launch_bytes() != tuning_.launch_bytes) ||
        (tuning_.streams != 0 && cipher.launch_threads() != tuning_.streams)) {
      message_.reset();
      throw Skip("the device lacks the memory for such launches");
    }
  }

  void call() override {
    MemorySource source({arena_->in(), static_cast<std::size_t>(row().bytes)});
    MemorySink sink(sealed());
    TransferOptions options;
    options.threads = row().threads;
    static_cast<void>(seal_message(source, *message_, sink, options));
  }

  // Decrypts the output of one more call on the CPU, with the default kernel, and compares the
  // plaintext. There is no independent computation.
  [[nodiscard]] bool verify() override {
    arena_->spoil_out();
    call();
    const Message opened =
        Message(open_c2sp_message(sealed().first(c2sp_header_bytes), key(), {}), {});
    MemorySource source(sealed());
    std::vector<std::uint8_t> plain(static_cast<std::size_t>(row().bytes));
    MemorySink sink(plain);
    static_cast<void>(open_message(source, opened, &sink));
    return std::memcmp(plain.data(), arena_->in(), plain.size()) == 0;
  }

 private:
  [[nodiscard]] MutableBytes sealed() const {
    return {arena_->out(), static_cast<std::size_t>(sealed_bytes(row().bytes))};
  }

  std::shared_ptr<Arena> arena_;
  const GpuTuning tuning_;
  std::optional<Message> message_;
};

class Tuning {
 public:
  Tuning(const TuneOptions& options, const std::function<void(const std::string&)>& progress)
      : options_(options), progress_(progress), random_(random_seed()) {}

  Tuned run() {
    const NoteSignals notes;
    try {
      measure_all();
    } catch (const Interrupted& interrupted) {
      tuned_.signal = interrupted.signal;
      return std::move(tuned_);
    }
    for (const auto& [row, passes_of_row] : measured_) add_rate(row, passes_of_row);
    std::erase_if(tuned_.unmeasured, [&](const Unmeasured& one) {
      return measured_.count({one.name, one.bytes}) != 0;
    });
    return std::move(tuned_);
  }

 private:
  using Name = TunedKernel;
  static Name name_of(const Row& row) { return {row.device, row.kernel, row.gpu_tuning}; }

  // A row of one pass. The passes are apart in time, so that only what holds in each of them
  // counts: the interval of a row contains those of its passes.
  struct Pass {
    double median_ns = 0;
    Interval ns;
  };

  void measure_all() {
    for (const std::string& device : options_.devices) add_kernels(device);
    for (const std::string& device : options_.devices) measure_start(device);
    start_ = Clock::now();
    for (pass_ = 0; pass_ < passes; ++pass_) {
      for (const std::uint64_t bytes : options_.sizes) measure_size(bytes);
    }
  }

  void leave_out(const Name& name, std::uint64_t bytes, const std::string& reason) {
    tuned_.unmeasured.push_back({name, bytes, reason});
  }

  // Until the end of this pass.
  [[nodiscard]] double left() const {
    return options_.seconds * (pass_ + 1) / passes - seconds_since(start_);
  }

  void add_rate(const std::pair<Name, std::uint64_t>& row, const std::vector<Pass>& in_passes) {
    const auto& [name, bytes] = row;
    const auto size = static_cast<double>(bytes);
    const auto rate_of = [size](double ns) { return size * 1e9 / ns; };
    std::vector<double> medians;
    Interval ns = in_passes.front().ns;
    for (const Pass& pass : in_passes) {
      medians.push_back(pass.median_ns);
      ns = {std::min(ns.low, pass.ns.low), std::max(ns.high, pass.ns.high)};
    }
    tuned_.rates.push_back(
        {name, bytes, {rate_of(median_of(std::move(medians))), rate_of(ns.high), rate_of(ns.low)}});
  }

  void add_kernels(const std::string& device) {
    for (const KernelInfo& kernel : device == "cpu" ? kernels() : gpu_kernels()) {
      if (kernel.available) names_.push_back({device, std::string(kernel.name)});
    }
    if (device == "cpu") return;
    // The fast kernels: the ones that `auto` takes, with and without --allow-leaky.
    for (const bool leaky : {false, true}) {
      const std::string kernel(select_kernel("auto", device, leaky).name);
      const bool tensors = uses_tensors(device, kernel);
      for (const GpuTuning& tuning : tunings) {
        // The state of `bitslice` fills the registers of a group, and OpenCL has no say in them.
        if ((tuning.tables != 0 || tuning.groups_per_processor != 0) && kernel != "ttable")
          continue;
        if (tuning.groups_per_processor != 0 && device.rfind("opencl", 0) == 0) continue;
        if (tuning.tensor_hash && *tuning.tensor_hash == tensors) continue;
        tunings_[text_of(tuning)] = tuning;
        names_.push_back({device, kernel, text_of(tuning)});
      }
    }
  }

  // Whether GHASH is on tensor cores by paraes's own choice.
  [[nodiscard]] static bool uses_tensors(const std::string& device, const std::string& kernel) {
    for (const DeviceInfo& info : devices()) {
      if (info.id != device || !info.available) continue;
      return gpu::variant_for(gpu::find_gpu_kernel(kernel), info).tensor_hash;
    }
    return false;
  }

  [[nodiscard]] static Row row_of(const Name& name, std::uint64_t bytes) {
    return {.device = name.device,
            .kernel = name.kernel,
            .threads = name.device == "cpu" ? available_cores() : 0,
            .bytes = bytes,
            .gpu_tuning = name.gpu_tuning};
  }

  // Times whole executions, because every command waits for the start of the device's driver.
  void measure_start(const std::string& device) {
    progress_("starting " + device);
    Workspace workspace(workspace_root(""), 16);
    workspace.acquire();
    const std::vector<std::string> command = {options_.program,
                                              "encrypt",
                                              "--quiet",
                                              "--force",
                                              "--device",
                                              device,
                                              "--key-file",
                                              workspace.key_file(32),
                                              "--output",
                                              workspace.path("sealed"),
                                              workspace.plaintext()};
    std::vector<double> times;
    // The first execution, which compiles GPU programs and loads drivers from disk, is not counted.
    const Clock::time_point begin = Clock::now();
    const auto enough = [&] {
      return times.size() >= samples && seconds_since(begin) >= part_per_start * options_.seconds;
    };
    for (unsigned i = 0; !enough(); ++i) {
      throw_if_interrupted();
      const Clock::time_point start = Clock::now();
      const ChildResult child = run_child(command);
      if (child.status != 0) {
        leave_out({device, ""}, 0, child.output);
        std::erase_if(names_, [&](const Name& name) { return name.device == device; });
        return;
      }
      if (i != 0) times.push_back(seconds_since(start));
    }
    const Interval interval = median_interval(times);
    tuned_.starts.push_back({device, {median_of(times), interval.low, interval.high}});
  }

  // The kernels that can be measured at this size in the time that is left. Tunings are left out
  // first, then the slowest kernels.
  [[nodiscard]] std::vector<Name> affordable(std::uint64_t bytes) {
    const auto cost = [&](const Name& name) {
      auto rate = last_rates_.find(name);
      // At first, a tuning counts as fast as the kernel without it.
      if (rate == last_rates_.end()) rate = last_rates_.find({name.device, name.kernel});
      if (rate == last_rates_.end()) return 0.0;
      return calls_per_row * static_cast<double>(bytes) / rate->second;
    };
    std::vector<Name> list = names_;
    std::erase_if(list, [&](const Name& name) {
      // The first pass has no tunings: compiling them would take time from rows that need none.
      return !name.gpu_tuning.empty() && (pass_ == 0 || bytes < options_.least_tuned_bytes);
    });
    double sum = 0;
    for (const Name& name : list) sum += cost(name);
    while (!list.empty() && sum > left()) {
      const auto slowest = std::ranges::max_element(list, [&](const Name& a, const Name& b) {
        return std::pair(!a.gpu_tuning.empty(), cost(a)) <
               std::pair(!b.gpu_tuning.empty(), cost(b));
      });
      sum -= cost(*slowest);
      if (pass_ == 0 && slowest->gpu_tuning.empty()) {
        leave_out(*slowest, bytes, "not enough time (use --seconds)");
      }
      list.erase(slowest);
    }
    return list;
  }

  void measure_size(std::uint64_t bytes) {
    const auto arena = std::make_shared<Arena>(sealed_bytes(bytes), available_cores());
    Group group;
    for (const Name& name : affordable(bytes)) {
      const GpuTuning tuning = name.gpu_tuning.empty() ? GpuTuning{} : tunings_[name.gpu_tuning];
      group.push_back(std::make_unique<SealCase>(row_of(name, bytes), arena, tuning));
    }
    Settings settings;
    settings.samples = samples;
    settings.min_seconds = part_per_row * options_.seconds / passes;
    Outcome outcome =
        measure(group, settings, random_, energy_, [&](double /*part*/, const Row& row) {
          throw_if_interrupted();
          progress_(row.device + ", " + row.kernel);
        });
    for (const Result& result : outcome.results) {
      const Name name = name_of(result.row);
      if (!result.verified) {
        if (name.gpu_tuning.empty()) {
          throw Error("kernel " + name.kernel + " on " + name.device +
                      " fails: " + (result.error.empty() ? "its result is wrong" : result.error));
        }
        std::erase(names_, name);
        std::erase_if(measured_, [&](const auto& one) { return one.first.first == name; });
        leave_out(name, bytes, "its result is wrong: please report it");
        continue;
      }
      const double median = result.statistics.median;
      measured_[{name, bytes}].push_back({median, median_interval(result.samples_ns)});
      last_rates_[name] = static_cast<double>(bytes) * 1e9 / median;
    }
    for (const Skipped& skipped : outcome.skipped) {
      const Name name = name_of(skipped.row);
      std::erase(names_, name);
      // A tuning that a GPU cannot have is no choice.
      if (name.gpu_tuning.empty()) leave_out(name, bytes, skipped.reason);
    }
  }

  const TuneOptions& options_;
  const std::function<void(const std::string&)>& progress_;
  Clock::time_point start_;  // of the first pass
  Random random_;
  EnergyMeter energy_;
  std::vector<Name> names_;
  std::map<std::string, GpuTuning> tunings_;  // by their text
  unsigned pass_ = 0;
  std::map<Name, double> last_rates_;
  std::map<std::pair<Name, std::uint64_t>, std::vector<Pass>> measured_;
  Tuned tuned_;
};

}  // namespace

Tuned tune(const TuneOptions& options, const std::function<void(const std::string&)>& progress) {
  return Tuning(options, progress).run();
}

}  // namespace paraes::bench
