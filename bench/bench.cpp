#include "bench.hpp"

#include <fmt/core.h>
#include <unistd.h>

#include <cerrno>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "file/child.hpp"
#include "paraes/error.hpp"
#include "report/context.hpp"
#include "report/json.hpp"
#include "report/table.hpp"

namespace paraes::bench {
namespace {

struct CloseFile {
  void operator()(std::FILE* file) const noexcept {
    if (file != stdout) (void)std::fclose(file);
  }
};
using File = std::unique_ptr<std::FILE, CloseFile>;

// Opened before anything is measured: an hour of samples should not end in a wrong path.
File open_report(const std::string& path) {
  if (path == "-") return File(stdout);
  File file(std::fopen(path.c_str(), "we"));
  if (!file) throw IoError(path + ": cannot be written", errno);
  return file;
}

void write_report(std::FILE* file, const std::string& path, const std::string& text) {
  if (std::fwrite(text.data(), 1, text.size(), file) != text.size() || std::fflush(file) != 0) {
    throw IoError(path + ": cannot be written", errno);
  }
}

class ProgressLine {
 public:
  ProgressLine(std::FILE* err, std::size_t groups)
      : err_(isatty(fileno(err)) == 1 ? err : nullptr), groups_(groups) {}

  void show(std::size_t group, double part, const Row& row) {
    if (err_ == nullptr) return;
    fmt::print(err_, "\r{:3.0f} %  {} {} {}\x1b[K",
               100 * (static_cast<double>(group) + part) / static_cast<double>(groups_),
               size_text(row.bytes), row.mode ? to_string(*row.mode) : "", row.who());
    (void)std::fflush(err_);
  }

  void clear() {
    if (err_ != nullptr) fmt::print(err_, "\r\x1b[K");
  }

 private:
  std::FILE* err_;
  std::size_t groups_;
};

Outcome measure_all(const Plan& plan, const Options& options, std::FILE* err) {
  Outcome all;
  all.skipped = plan.skipped;
  Random random(options.seed);
  EnergyMeter energy;
  ProgressLine line(err, plan.groups.size());
  for (std::size_t g = 0; g < plan.groups.size(); ++g) {
    Outcome outcome =
        measure(plan.groups[g], options.settings, random, energy, [&](double part, const Row& row) {
          throw_if_interrupted();
          line.show(g, part, row);
        });
    for (Result& result : outcome.results) all.results.push_back(std::move(result));
    for (Skipped& skipped : outcome.skipped) all.skipped.push_back(std::move(skipped));
  }
  line.clear();
  return all;
}

}  // namespace

void make_quick(AxisTexts& texts, Options& options) {
  const auto fill = [](std::string& text, const char* value) {
    if (text.empty()) text = value;
  };
  fill(texts.kernel, "all");
  fill(texts.mode, "ctr,gcm");
  fill(texts.direction, "encrypt");
  fill(texts.size, "1MiB");
  fill(texts.rivals, "openssl");
  options.settings.samples = 21;
  options.settings.min_seconds = 0;
}

int run(const Plan& plan, const Options& options, std::FILE* out, std::FILE* err) {
  if (options.list) {
    fmt::print(out, "{}", listing(plan));
    return 0;
  }
  File json;
  if (!options.json.empty()) json = open_report(options.json);
  std::FILE* const table_file = options.json == "-" ? err : out;

  Outcome all;
  try {
    // Only files have to be put away; otherwise a signal may end the process where it stands.
    const std::optional<NoteSignals> notes =
        plan.folder.empty() ? std::nullopt : std::optional<NoteSignals>(std::in_place);
    all = measure_all(plan, options, err);
  } catch (const Interrupted& interrupted) {
    return 128 + interrupted.signal;
  }

  if (json) {
    write_report(json.get(), options.json,
                 report(options.seed, context(plan.folder), all).dump(1) + "\n");
  }
  fmt::print(table_file, "{}", table(all));
  if (all.results.empty()) {
    fmt::print(err, "paraes: bench: no row could run\n");
    return 1;
  }
  for (const Result& result : all.results) {
    if (!result.verified) return 1;
  }
  return 0;
}

}  // namespace paraes::bench
