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
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>

#include "bench/harness/noted_signals.hpp"
#include "bench/harness/status_line.hpp"
#include "bench/report/json.hpp"
#include "bench/report/report_context.hpp"
#include "bench/report/table.hpp"
#include "paraes/error.hpp"
#include "paraes/io.hpp"
#include "src/core/system/descriptors.hpp"

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

mode_t mode_of_new_files() {
  const mode_t mask = umask(0);
  umask(mask);
  return 0666U & ~mask;
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
  options.mode = mode_of_new_files();
  if (existing.get() < 0) return std::make_unique<FileSink>(path, std::move(options));
  options.mode = status.st_mode & 0777U;
  return std::make_unique<FileSink>(std::filesystem::canonical(path).string(), std::move(options));
}

void write_report(Sink& sink, const std::string& text) {
  sink.write({reinterpret_cast<const std::uint8_t*>(text.data()), text.size()});
  sink.commit();
}

// Which row is measured, where `err` is a terminal.
class ProgressLine {
 public:
  ProgressLine(std::FILE* err, std::size_t groups)
      : shows_(isatty(fileno(err)) == 1), line_(fileno(err)), groups_(groups) {}

  void show(std::size_t group, double fraction, const Row& row) {
    if (!shows_ || !line_.is_due()) return;
    line_.draw(
        fmt::format("{:3.0f} %  {} {} {}",
                    100 * (static_cast<double>(group) + fraction) / static_cast<double>(groups_),
                    size_text(row.bytes), row.mode ? to_string(*row.mode) : "", row.who()));
  }

 private:
  bool shows_;
  StatusLine line_;
  std::size_t groups_;
};

Outcome measure_all(const BenchPlan& plan, const Options& options, std::FILE* err) {
  Outcome all;
  all.skipped = plan.skipped;
  Random random(options.seed);
  EnergyMeter energy;
  ProgressLine line(err, plan.groups.size());
  for (std::size_t g = 0; g < plan.groups.size(); ++g) {
    Outcome outcome = measure(plan.groups[g], options.settings, random, energy,
                              [&](double fraction, const Row& row) {
                                throw_if_interrupted();
                                line.show(g, fraction, row);
                              });
    for (Result& result : outcome.results) all.results.push_back(std::move(result));
    for (Skipped& skipped : outcome.skipped) all.skipped.push_back(std::move(skipped));
  }
  return all;
}

}  // namespace

void make_quick(AxisTexts& texts, Options& options) {
  const auto fill = [](std::string& text, const char* value) {
    if (text.empty()) text = value;
  };
  fill(texts.kernel, "all");
  fill(texts.mode, texts.own_rivals.empty() ? "ctr,gcm" : "ecb,ctr,gcm");
  fill(texts.direction, "encrypt");
  fill(texts.size, "1MiB");
  fill(texts.rivals, "openssl-evp");
  options.settings.samples = 21;
  options.settings.min_seconds = 0;
}

int run(const BenchPlan& plan, const Options& options, std::FILE* out, std::FILE* err) {
  if (options.list) {
    fmt::print(out, "{}", listing(plan));
    return 0;
  }
  std::unique_ptr<Sink> json;
  if (!options.json.empty()) json = open_report(options.json);
  std::FILE* const table_file = options.json == "-" ? err : out;

  Outcome all;
  try {
    // Only file scope has files to remove; in other scopes a signal may end the process at once.
    const std::optional<NoteSignals> notes =
        plan.folder.empty() ? std::nullopt : std::optional<NoteSignals>(std::in_place);
    all = measure_all(plan, options, err);
  } catch (const Interrupted& interrupted) {
    return 128 + interrupted.signal;
  }

  if (json) {
    write_report(*json,
                 report(options.seed, context(plan.folder, options.machine), all).dump(1) + "\n");
  }
  fmt::print(table_file, "{}", table(all));
  if (all.results.empty()) {
    fmt::print(err, "paraes: bench: no row could run; the table lists the reasons\n");
    return 1;
  }
  for (const Result& result : all.results) {
    if (!result.verified) return 1;
  }
  return 0;
}

}  // namespace paraes::bench
