#include "bench/report/report.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <numeric>
#include <tuple>
#include <utility>
#include <vector>

#include "bench/file/tools.hpp"
#include "bench/lists.hpp"
#include "bench/memory/openmp.hpp"
#include "bench/rivals/device.hpp"

namespace paraes::bench {
namespace {

constexpr std::size_t max_width = 100;

struct Column {
  std::string title;
  std::function<std::string(const Row&)> text;
  bool left = false;
  std::string caption;  // "{}-bit keys": the text above the table for a value that all rows share
  // CPU rows have no value in this column, which does not count as a different value.
  bool of_gpus = false;
};

// The columns of the axes, in the order of the table.
std::vector<Column> axis_columns() {
  return {
      {"scope", [](const Row& r) { return r.scope; }, true, "{} scope"},
      {"format", [](const Row& r) { return r.format; }, true, "{} format"},
      {"device", [](const Row& r) { return r.device; }, true, "{}"},
      {"size", [](const Row& r) { return size_text(r.bytes); }, false, "{}"},
      {"msgs", [](const Row& r) { return r.keys.empty() ? "" : fmt::format("{}", r.messages); },
       false, "{} messages"},
      {"key", [](const Row& r) { return r.keys; }, true, ""},
      {"mode", [](const Row& r) { return r.mode ? std::string(to_string(*r.mode)) : ""; }, true,
       "{}"},
      {"bits", [](const Row& r) { return r.key_bits ? fmt::format("{}", *r.key_bits) : ""; }, false,
       "{}-bit keys"},
      {"dir",
       [](const Row& r) {
         return r.direction ? std::string(to_string(*r.direction).substr(0, 3)) : "";
       },
       true, "{}ryption"},
      {"thr", [](const Row& r) { return r.threads == 0 ? "" : fmt::format("{}", r.threads); },
       false, "{}"},
      {"exec", [](const Row& r) { return r.executor; }, true, ""},
      {"ranks", [](const Row& r) { return r.ranks == 1 ? "" : fmt::format("{}", r.ranks); }, false,
       "{} ranks"},
      {"data", [](const Row& r) { return r.distribution; }, true, "{}"},
      {"place", [](const Row& r) { return std::string(r.in_place ? "in" : "out"); }, true,
       "{} of place"},
      {"keys", [](const Row& r) { return r.device == "cpu" ? "" : r.key_expansion; }, true,
       "keys expanded on the {}", true},
      {"group",
       [](const Row& r) { return r.group_threads ? fmt::format("{}", *r.group_threads) : ""; },
       false, "groups of {} threads", true},
      {"tuning", [](const Row& r) { return r.gpu_tuning; }, false, "{}", true},
      {"transfer", [](const Row& r) { return r.transfer; }, true, "{}", true},
  };
}

// Whether the table gives the speed of `row` relative to `rival`. Both have the same scope and
// size. A rival without a mode or a direction, such as a copy, is compared with all modes or
// directions. In file scope, programs are compared whatever their device and threads, except that
// paraes on the CPU is compared with a copy by as many threads; and openssl enc, which has no
// authenticated mode, is compared with GCM by its CTR. In other scopes device and threads are the
// same.
bool comparable(const Row& row, const Row& rival) {
  const bool file = row.scope == "file";
  if (rival.scope != row.scope || rival.bytes != row.bytes) return false;
  // It moves no text.
  if (rival.traffic == generates_only || row.traffic == generates_only) return false;
  if (!file && (rival.device != row.device || rival.threads != row.threads)) return false;
  if (file && rival.rival == copy_threads && row.rival.empty() && row.device == "cpu" &&
      rival.threads != row.threads) {
    return false;
  }
  if (rival.direction && rival.direction != row.direction) return false;
  if (rival.mode && (rival.keys != row.keys || rival.messages != row.messages)) return false;
  if (!rival.mode) return true;
  const bool closest = file && row.mode == Mode::gcm && rival.mode == Mode::ctr;
  return (rival.mode == row.mode || closest) && rival.key_bits == row.key_bits &&
         rival.in_place == row.in_place && (rival.format == row.format || closest);
}

double rate(const Result& result) {
  if (result.samples_ns.empty()) return 0;
  return static_cast<double>(result.row.bytes) * 1e9 / result.statistics.median;
}

double message_rate(const Result& result) {
  return rate(result) / static_cast<double>(result.row.bytes) *
         static_cast<double>(result.row.messages);
}

// A positive number with so many decimals, and more if it would have less than two significant
// digits.
std::string decimal_text(double value, int decimals) {
  if (value <= 0) return "0";
  const int magnitude = static_cast<int>(std::floor(std::log10(value)));
  return fmt::format("{:.{}f}", value, std::max(decimals, 1 - magnitude));
}

std::string rate_text(double bytes_per_second) {
  const double mb = bytes_per_second / 1e6;
  return decimal_text(mb, mb < 100 ? 1 : 0);
}

std::string ratio_text(double ratio) {
  return decimal_text(ratio, ratio < 10 ? 2 : ratio < 100 ? 1 : 0);
}

// Returns the spread in percent of the median; 0 without samples.
double spread(const Result& result) {
  const Statistics& s = result.statistics;
  return s.median <= 0 ? 0 : 100 * 1.4826 * s.mad / s.median;
}

std::string spread_text(const Result& result) {
  if (result.statistics.median <= 0) return "-";
  return fmt::format("{:.1f}{}", spread(result), is_noisy(result) ? "!" : "");
}

std::vector<const Result*> sorted(const Outcome& outcome) {
  std::vector<const Result*> rows;
  for (const Result& result : outcome.results) rows.push_back(&result);
  const auto order = [](const Result* r) {
    const Row& row = r->row;
    // Copies, which have no mode, come first: they are compared with all jobs of the size.
    return std::make_tuple(row.scope, row.bytes, row.format,
                           row.mode ? static_cast<int>(*row.mode) : -1, row.key_bits.value_or(0),
                           row.direction ? static_cast<int>(*row.direction) : -1, row.in_place,
                           row.keys.empty() ? 0 : row.messages, row.keys.size(), row.keys,
                           row.scope == "file" ? 0 : row.threads, -rate(*r));
  };
  std::ranges::stable_sort(rows, {}, order);
  return rows;
}

std::string caption_of(const Column& column, const std::string& value, const Row& row) {
  if (column.title == "thr") return value + (value == "1" ? " thread" : " threads");
  if (column.title == "place") return row.in_place ? "in place" : "";
  if (value.empty() || (column.title == "device" && value == "cpu")) return {};
  if (column.title == "key") return value == "each" ? "a key each" : "one key";
  if (column.title == "exec") return value == openmp ? "OpenMP" : "";
  std::string text = column.caption;
  text.replace(text.find("{}"), 2, value);
  return text;
}

// "versions: openssl-evp 3.5.8; age 1.1.1": a ratio says nothing without them.
std::string versions_text(const std::vector<std::string>& rivals) {
  std::string out;
  std::string line = "versions:";
  for (const std::string& name : rivals) {
    const std::string version = version_of_rival(name);
    if (version.empty()) continue;
    const std::string item = fmt::format(" {} {}", name, version);
    if (line.back() != ':') line += ';';
    if (line.back() == ';' && line.size() + item.size() > max_width - 1) {
      out += line + "\n";
      line = " ";
    }
    line += item;
  }
  return line == "versions:" ? "" : out + line + "\n";
}

// The values of the columns, and the kernel or rival.
std::vector<std::string> cells_of(const std::vector<Column>& columns, const Row& row) {
  std::vector<std::string> cells;
  cells.reserve(columns.size() + 1);
  for (const Column& column : columns) cells.push_back(column.text(row));
  const std::string generates = row.traffic == generates_only ? ", generates only" : "";
  cells.push_back(row.rival.empty() ? row.kernel : "(" + row.rival + generates + ")");
  return cells;
}

class TextGrid {
 public:
  void add_column(const std::string& title, bool left) {
    left_.push_back(left);
    rows_.front().push_back(title);
  }

  void add_row(std::vector<std::string> cells) { rows_.push_back(std::move(cells)); }

  void drop_column(std::size_t index) {
    const auto at = static_cast<std::ptrdiff_t>(index);
    left_.erase(left_.begin() + at);
    for (auto& row : rows_) row.erase(row.begin() + at);
  }

  [[nodiscard]] std::size_t width() const {
    const std::vector<std::size_t> all = widths();
    return std::accumulate(all.begin(), all.end(), 2 * (all.size() - 1));
  }

  [[nodiscard]] std::string text() const {
    const std::vector<std::size_t> widths = this->widths();
    std::string out;
    for (const auto& row : rows_) {
      for (std::size_t i = 0; i < row.size(); ++i) {
        if (i > 0) out += "  ";
        out += left_[i] ? fmt::format("{:<{}}", row[i], widths[i])
                        : fmt::format("{:>{}}", row[i], widths[i]);
      }
      out.erase(out.find_last_not_of(' ') + 1);
      out += '\n';
    }
    return out;
  }

 private:
  // Returns the widths of the columns in bytes.
  [[nodiscard]] std::vector<std::size_t> widths() const {
    std::vector<std::size_t> widths(left_.size());
    for (const auto& row : rows_) {
      for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
    }
    return widths;
  }

  std::vector<bool> left_;
  std::vector<std::vector<std::string>> rows_{1};  // the titles first
};

// Returns the text above the table, which has the axes that all rows share, and the columns of the
// other axes.
std::pair<std::string, std::vector<Column>> split_columns(const std::vector<const Result*>& rows) {
  std::vector<Column> shown;
  std::string caption;
  for (const Column& column : axis_columns()) {
    // An empty value is no variation of an axis that the row does not have.
    std::vector<std::string> values;
    for (const Result* r : rows) {
      const std::string value = column.text(r->row);
      // Copies have no mode, key or direction, GPUs no threads, the CPU none of the axes of GPUs,
      // and a single thread has no executor.
      const bool absent =
          !r->row.mode || column.of_gpus || column.title == "thr" || column.title == "exec";
      if (absent && value.empty()) continue;
      add_once(values, value);
    }
    if (values.size() > 1) {
      shown.push_back(column);
    } else if (!values.empty()) {
      const std::string text = caption_of(column, values.front(), rows.front()->row);
      if (!text.empty()) caption += (caption.empty() ? "" : ", ") + text;
    }
  }
  return {caption, shown};
}

// How many times as fast as `rival` the result is; empty if the two do not compare.
std::string ratio_to(const std::string& rival, const Result& result, const Outcome& outcome) {
  const auto other = std::ranges::find_if(outcome.results, [&](const Result& candidate) {
    return candidate.row.rival == rival && rate(candidate) > 0 && candidate.verified &&
           comparable(result.row, candidate.row);
  });
  if (other == outcome.results.end() || result.row.rival == rival || !result.verified) return "";
  if (rate(result) <= 0 || is_noisy(result) || is_noisy(*other)) return "-";
  return ratio_text(rate(result) / rate(*other));
}

bool has_many_messages(const std::vector<const Result*>& rows) {
  return std::ranges::any_of(rows, [](const Result* r) { return !r->row.keys.empty(); });
}

std::string grid_text(const Outcome& outcome, const std::vector<const Result*>& rows,
                      const std::vector<Column>& columns, const std::vector<std::string>& rivals) {
  TextGrid grid;
  for (const Column& column : columns) grid.add_column(column.title, column.left);
  grid.add_column("kernel", true);
  grid.add_column("MB/s", false);
  const bool many = has_many_messages(rows);
  if (many) grid.add_column("Mmsg/s", false);
  grid.add_column("\xc2\xb1%", false);
  for (const std::string& name : rivals) grid.add_column("/" + name, false);
  const bool all_right = std::ranges::all_of(rows, [](const Result* r) { return r->verified; });
  if (!all_right) grid.add_column("", true);

  for (const Result* r : rows) {
    std::vector<std::string> cells = cells_of(columns, r->row);
    cells.push_back(rate_text(rate(*r)));
    if (many) cells.push_back(r->row.keys.empty() ? "" : rate_text(message_rate(*r)));
    cells.push_back(spread_text(*r));
    for (const std::string& name : rivals) cells.push_back(ratio_to(name, *r, outcome));
    if (!all_right) cells.emplace_back(is_wrong(*r) ? "WRONG" : r->verified ? "" : "not verified");
    grid.add_row(std::move(cells));
  }
  // Makes room by leaving out the ratios to the last rivals, whose own rows stay.
  const std::size_t fixed = columns.size() + (many ? 4 : 3);
  for (std::size_t n = rivals.size(); n > 1 && grid.width() > max_width; --n) {
    grid.drop_column(fixed + n - 1);
  }
  return grid.text();
}

// The lines below the table: what its columns mean, and what is wrong with its rows.
std::string legend(const std::vector<const Result*>& rows, const std::vector<std::string>& rivals) {
  std::string out = fmt::format(
      "MB/s: 10^6 bytes per second, median; \xc2\xb1%: 1.4826 MAD; /NAME: relative to that rival; "
      "(NAME): a rival\n");
  out += versions_text(rivals);
  if (has_many_messages(rows)) out += "Mmsg/s: 10^6 messages per second\n";
  if (std::ranges::any_of(rows, [](const Result* r) { return is_noisy(*r); })) {
    out += fmt::format(
        "!: the samples vary by more than {:.0f} %, so that ratios would mean nothing; measure "
        "again on an idle machine\n",
        max_spread);
  }
  std::size_t samples = 0;
  std::size_t outliers = 0;
  for (const Result* r : rows) {
    samples += r->samples_ns.size();
    outliers += r->statistics.outliers.size();
  }
  if (outliers > 0)
    out += fmt::format("{} of {} samples are outliers (marked in the JSON)\n", outliers, samples);
  for (const Result* r : rows) {
    if (r->verified) continue;
    if (!is_wrong(*r)) {
      out += fmt::format("not verified: {} {} {} {}: {}\n", r->row.who(), size_text(r->row.bytes),
                         to_string(r->row.mode.value()), to_string(r->row.direction.value()),
                         r->unverifiable);
      continue;
    }
    out += fmt::format("WRONG: {} {} {}: {}\n", r->row.who(), size_text(r->row.bytes),
                       r->row.mode ? to_string(*r->row.mode) : "copy",
                       r->error.empty() ? "the result is not the expected one" : r->error);
  }
  return out;
}

}  // namespace

bool is_noisy(const Result& result) { return spread(result) > max_spread; }

std::string skipped_text(const std::vector<Skipped>& skipped) {
  std::vector<std::string> lines;
  std::map<std::string, unsigned> counts;
  for (const Skipped& item : skipped) {
    const std::string& who = item.row.who();
    lines.push_back(fmt::format(
        "{}: {}", who.empty() ? item.row.device + " " + item.row.scope : who, item.reason));
    if (++counts[lines.back()] > 1) lines.pop_back();
  }
  std::string out;
  for (const std::string& text : lines) {
    const unsigned count = counts[text];
    out += fmt::format("skipped {}{}\n", text, count == 1 ? "" : fmt::format(" ({} rows)", count));
  }
  return out;
}

std::string size_text(std::uint64_t bytes) {
  constexpr const char* units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  unsigned unit = 0;
  while (unit < 4 && bytes >= 1024 && bytes % 1024 == 0) {
    bytes /= 1024;
    ++unit;
  }
  return fmt::format("{} {}", bytes, units[unit]);
}

std::string table(const Outcome& outcome) {
  const std::vector<const Result*> rows = sorted(outcome);
  if (rows.empty()) return skipped_text(outcome.skipped);
  std::vector<std::string> rivals;
  for (const Result& result : outcome.results) {
    if (!result.row.rival.empty() && rate(result) > 0) add_once(rivals, result.row.rival);
  }
  const auto [caption, columns] = split_columns(rows);
  const std::string grid = grid_text(outcome, rows, columns, rivals);
  return (caption.empty() ? "" : caption + "\n") + grid + legend(rows, rivals) +
         skipped_text(outcome.skipped);
}

std::string listing(const BenchPlan& plan) {
  TextGrid grid;
  const std::vector<Column> columns = axis_columns();
  for (const Column& column : columns) grid.add_column(column.title, column.left);
  grid.add_column("kernel", true);
  std::size_t count = 0;
  for (const Group& group : plan.groups) {
    for (const auto& planned : group) {
      grid.add_row(cells_of(columns, planned->row()));
      ++count;
    }
  }
  std::string out = grid.text();
  out += fmt::format("{} rows\n", count);
  return out + skipped_text(plan.skipped);
}

}  // namespace paraes::bench
