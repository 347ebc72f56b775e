#include "bench/bench.hpp"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <system_error>
#include <utility>

#include "bench/axes.hpp"
#include "bench/harness/measure.hpp"
#include "bench/harness/noted_signals.hpp"
#include "bench/harness/random.hpp"
#include "bench/report/report.hpp"
#include "bench/suites/suites.hpp"
#include "paraes/error.hpp"
#include "paraes/io.hpp"
#include "src/core/system/descriptors.hpp"
#include "src/core/system/process.hpp"

namespace paraes::bench {
namespace {

// Throws InvalidArgument if the file has content other than a report: it was named by mistake.
void check_is_report(int descriptor, const std::string& path) {
  std::array<char, 64> start{};
  const ssize_t size = pread(descriptor, start.data(), start.size(), 0);
  const std::string_view text(start.data(), static_cast<std::size_t>(std::max<ssize_t>(size, 0)));
  const bool is_report = text.rfind('{', 0) == 0 && text.find("\"schema\"") != text.npos;
  if (text.empty() || is_report) return;
  throw InvalidArgument(path + ": it exists and is not a bench report: name another file");
}

// Called before anything is measured, so that a wrong path does not waste an hour of samples. An
// existing report is replaced only by a complete one.
std::unique_ptr<Sink> open_report(const std::string& path) {
  const auto number = path == "-" ? STDOUT_FILENO : system::descriptor_named(path);
  // Written where it is: replacing the file behind it would lose what others write to it.
  if (number) return std::make_unique<PipeSink>(Descriptor(dup(*number)), path);
  Descriptor existing(open(path.c_str(), O_RDWR | O_NONBLOCK | O_CLOEXEC));
  struct stat status = {};
  if (existing.get() >= 0 && fstat(existing.get(), &status) == 0) {
    if (!S_ISREG(status.st_mode)) return std::make_unique<PipeSink>(std::move(existing), path);
    check_is_report(existing.get(), path);
  } else if (errno != ENOENT) {
    throw IoError(path + ": cannot be written: " + std::generic_category().message(errno), errno);
  }
  FileSink::Options options;
  options.overwrite = true;
  options.mode = 0666U & ~system::current_umask();
  if (existing.get() < 0) return std::make_unique<FileSink>(path, std::move(options));
  options.mode = status.st_mode & 0777U;
  return std::make_unique<FileSink>(std::filesystem::canonical(path).string(), std::move(options));
}

void write_report(Sink& sink, const std::string& text) {
  sink.write({reinterpret_cast<const std::uint8_t*>(text.data()), text.size()});
  sink.commit();
}

// The plan goes with the last row: its files are removed while signals are only noted.
Outcome measure_all(BenchPlan plan, const Options& options, std::uint64_t seed) {
  Settings settings;
  settings.samples = options.samples.value_or(settings.samples);
  settings.min_seconds = options.min_seconds;
  settings.warmup = options.warmup;
  Outcome all;
  all.skipped = std::move(plan.skipped);
  Random random(seed);
  EnergyMeter energy;
  const auto groups = static_cast<double>(plan.groups.size());
  for (std::size_t g = 0; g < plan.groups.size(); ++g) {
    const auto progress = [&](double fraction, const Row& row) {
      throw_if_interrupted();
      if (!options.progress) return;
      options.progress(
          fmt::format("{:3.0f} %  {} {} {}", 100 * (static_cast<double>(g) + fraction) / groups,
                      size_text(row.bytes), row.mode ? to_string(*row.mode) : "", row.who()));
    };
    Outcome outcome = measure(plan.groups[g], settings, random, energy, progress);
    plan.groups[g].clear();  // with its buffers and files
    for (Result& result : outcome.results) all.results.push_back(std::move(result));
    for (Skipped& skipped : outcome.skipped) all.skipped.push_back(std::move(skipped));
  }
  return all;
}

void fill(std::string& text, const char* value) {
  if (text.empty()) text = value;
}

// The axes and options of --quick.
void make_quick(AxisTexts& texts, Options& options) {
  fill(texts.kernel, "all");
  fill(texts.mode, texts.own_rivals.empty() ? "ctr,gcm" : "ecb,ctr,gcm");
  fill(texts.direction, "encrypt");
  fill(texts.size, "1MiB");
  fill(texts.rivals, "openssl-evp");
  if (!options.samples) options.samples = 21;
  options.min_seconds = 0;
}

// The axes of --openssl-speed: what `openssl speed` measures by default, with paraes beside it.
void fill_openssl_speed(AxisTexts& texts) {
  fill(texts.mode, "gcm");
  fill(texts.key_bits, "128,256");
  fill(texts.direction, "encrypt");
  fill(texts.size, "16,64,256,1024,8192,16384");
  fill(texts.rivals, "openssl-evp");
}

// Throws InvalidArgument for what has no place in the table of --openssl-speed.
void check_openssl_speed(const Axes& axes, const Options& options) {
  const struct {
    bool is_refused;
    const char* why;
  } rules[] = {
      {options.quick, "and --quick choose different rows: give one of them"},
      {axes.devices != std::vector<std::string>{"cpu"}, "is for the CPU: leave out --device"},
      {axes.scopes != std::vector<std::string>{"memory"},
       "is for data in memory: leave out --scope"},
      {axes.threads != std::vector<int>{1}, "is for one thread: leave out --threads"},
      {axes.messages != std::vector<std::uint64_t>{0},
       "has one message a call: leave out --message"},
      {axes.in_place.size() != 1, "has one row for each job: give --in-place yes or no"},
  };
  for (const auto& rule : rules) {
    if (rule.is_refused) throw InvalidArgument(fmt::format("--openssl-speed {}", rule.why));
  }
}

}  // namespace

BenchPlan make_plan(const Axes& axes) {
  BenchPlan plan;
  for (const std::string& scope : axes.scopes) {
    if (scope == "memory") plan_memory(axes, plan);
    if (scope == "transfer") plan_transfer(axes, plan);
    if (scope == "file") plan_file(axes, plan);
  }
  return plan;
}

int run(AxisTexts texts, Options options, const NumberParsers& parsers, const Measure& measure) {
  if (options.quick) make_quick(texts, options);
  if (options.openssl_speed) fill_openssl_speed(texts);
  Axes axes = parse_axes(texts, parsers);
  if (options.openssl_speed) {
    check_openssl_speed(axes, options);
    // openssl speed works over the input, and a message is one data unit.
    if (texts.in_place.empty()) axes.in_place = {true};
    if (texts.unit.empty()) axes.unit = 0;
  }
  axes.overlap = options.overlap;
  axes.folder = options.folder;
  axes.program = options.program;
  return measure ? measure(axes, options) : run_plan(make_plan(axes), options);
}

int run_plan(BenchPlan plan, const Options& options) {
  if (options.list) {
    fmt::print("{}", listing(plan));
    return 0;
  }
  std::unique_ptr<Sink> json;
  if (!options.json.empty()) json = open_report(options.json);
  const std::uint64_t seed = options.seed.value_or(random_seed());
  const std::string folder = plan.folder;

  Outcome all;
  try {
    // Only file scope has files to remove; in other scopes a signal may end the process at once.
    const std::optional<NoteSignals> notes =
        folder.empty() ? std::nullopt : std::optional<NoteSignals>(std::in_place);
    all = measure_all(std::move(plan), options, seed);
  } catch (const Interrupted& interrupted) {
    return 128 + interrupted.signal;
  }
  if (options.progress) options.progress("");

  if (json) {
    write_report(*json, report(seed, context(folder, options.machine), all).dump(1) + "\n");
  }
  fmt::print(options.json == "-" ? stderr : stdout, "{}",
             options.openssl_speed ? openssl_speed_table(all) : table(all));
  if (all.results.empty()) {
    fmt::print(stderr, "paraes: bench: no row could run; the table lists the reasons\n");
    return 1;
  }
  return std::none_of(all.results.begin(), all.results.end(), is_wrong) ? 0 : 1;
}

}  // namespace paraes::bench
