#include <fmt/core.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "bench/lists.hpp"
#include "bench/report/report.hpp"
#include "paraes/kernels.hpp"
#include "paraes/version.hpp"

namespace paraes::bench {
namespace {

// "AES-256-GCM openssl-evp": the name that OpenSSL gives it, and who computes it.
std::string label_of(const Row& row) {
  if (!row.mode) return row.who();
  std::string name = fmt::format("AES-{}-{}", row.key_bits.value_or(0), to_string(*row.mode));
  for (char& c : name) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  const bool decrypts = row.direction == Direction::decrypt;
  return fmt::format("{} {}{}", name, row.who(), decrypts ? ", decrypt" : "");
}

// Jobs one after another, paraes before its rivals, copies last. Equal ones keep their order.
auto place_of(const Row& row) {
  return std::make_tuple(row.mode ? static_cast<int>(*row.mode) : 99, row.key_bits.value_or(0),
                         row.direction ? static_cast<int>(*row.direction) : 99, !row.rival.empty());
}

struct Line {
  std::string label;
  std::map<std::uint64_t, const Result*> by_size;
};

std::vector<Line> lines_of(const Outcome& outcome) {
  std::vector<const Result*> results;
  for (const Result& result : outcome.results) results.push_back(&result);
  std::ranges::stable_sort(results, {}, [](const Result* r) { return place_of(r->row); });
  std::vector<Line> lines;
  for (const Result* result : results) {
    const std::string label = label_of(result->row);
    auto line = std::ranges::find(lines, label, &Line::label);
    if (line == lines.end()) line = lines.insert(line, Line{label, {}});
    line->by_size[result->row.bytes] = result;
  }
  return lines;
}

// 13 columns, as `openssl speed` has it: in thousands with a k, small numbers as they are.
std::string cell(const Result* result) {
  if (result == nullptr) return fmt::format(" {:>11} ", "-");
  if (is_wrong(*result)) return fmt::format(" {:>11} ", "WRONG");
  if (result->statistics.median <= 0) return fmt::format(" {:>11} ", "-");
  const double bytes_per_second =
      static_cast<double>(result->row.bytes) * 1e9 / result->statistics.median;
  return bytes_per_second > 10000 ? fmt::format(" {:11.2f}k", bytes_per_second / 1e3)
                                  : fmt::format(" {:11.2f} ", bytes_per_second);
}

std::string heading(const Outcome& outcome) {
  std::vector<std::string> kernels;
  std::vector<std::string> rivals;
  for (const Result& result : outcome.results) {
    const Row& row = result.row;
    if (row.rival.empty()) {
      add_once(kernels, row.kernel);
    } else {
      const std::string version = version_of_rival(row.rival);
      add_once(rivals, version.empty() ? row.rival : row.rival + " " + version);
    }
  }
  std::string text = fmt::format("version: paraes {}", version());
  for (const std::string& rival : rivals) text += "; " + rival;
  text += fmt::format("\nCPU: {}; kernel:", cpu_model());
  for (const std::string& kernel : kernels) text += " " + kernel;
  return text + "\n";
}

// How these numbers came about, which OpenSSL's own did in another way.
std::string method(const Outcome& outcome) {
  std::size_t samples = outcome.results.front().samples_ns.size();
  bool in_place = true;
  bool gcm = false;
  for (const Result& result : outcome.results) {
    samples = std::min(samples, result.samples_ns.size());
    // Copies never are, and limits encrypt no message.
    const bool is_message = result.row.mode && result.row.rival.rfind("ports-", 0) != 0;
    in_place = in_place && (!is_message || result.row.in_place);
    gcm = gcm || (is_message && result.row.mode == Mode::gcm);
  }
  const std::string text = fmt::format(
      "Measured by paraes bench on one thread, {}: medians of {} or more samples, interleaved\n"
      "at random, where openssl speed counts the calls of 3 seconds.\n",
      in_place ? "in place" : "not in place", samples);
  return text + (gcm ? "A GCM call is a whole message with its nonce and tag.\n" : "");
}

std::string remarks(const Outcome& outcome) {
  std::string text;
  const auto noisy = std::ranges::count_if(outcome.results, is_noisy);
  if (noisy > 0) {
    text += fmt::format(
        "The samples of {} of the numbers vary by more than {:.0f} %: measure again on an idle "
        "machine.\n",
        noisy, max_spread);
  }
  for (const Result& result : outcome.results) {
    if (!is_wrong(result)) continue;
    text += fmt::format("WRONG: {}, {}: {}\n", label_of(result.row), size_text(result.row.bytes),
                        result.error.empty() ? "the result is not the expected one" : result.error);
  }
  return text;
}

}  // namespace

std::string openssl_speed_table(const Outcome& outcome) {
  if (outcome.results.empty()) return skipped_text(outcome.skipped);
  const std::vector<Line> lines = lines_of(outcome);
  std::vector<std::uint64_t> sizes;
  std::size_t width = 13;
  for (const Line& line : lines) {
    width = std::max(width, line.label.size());
    for (const auto& [size, result] : line.by_size) add_once(sizes, size);
  }
  std::ranges::sort(sizes);

  std::string text = heading(outcome);
  text += "The 'numbers' are in 1000s of bytes per second processed.\n";
  text += fmt::format("{:<{}}", "type", width - 1);
  for (const std::uint64_t size : sizes) text += fmt::format("{:7} bytes", size);
  text += "\n";
  for (const Line& line : lines) {
    std::string row = fmt::format("{:<{}}", line.label, width);
    for (const std::uint64_t size : sizes) {
      const auto found = line.by_size.find(size);
      row += cell(found == line.by_size.end() ? nullptr : found->second);
    }
    row.erase(row.find_last_not_of(' ') + 1);
    text += row + "\n";
  }
  return text + method(outcome) + remarks(outcome) + skipped_text(outcome.skipped);
}

}  // namespace paraes::bench
