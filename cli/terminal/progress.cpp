#include "cli/terminal/progress.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cmath>
#include <csignal>
#include <cstring>
#include <ctime>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "cli/words/sizes.hpp"

namespace paraes::cli {
namespace {

constexpr double first_draw_seconds = 0.5;
constexpr std::chrono::milliseconds redraw_interval(100);

// Read by the SIGUSR1 handler, which can run at any moment: hence lock-free atomics.
enum class Activity : int { none, transfer, waiting_for_key, deriving_key, ended };
constexpr std::uint64_t unknown_total = ~std::uint64_t{0};
std::atomic<std::uint64_t> bytes_so_far = 0;
std::atomic<std::uint64_t> bytes_in_total = unknown_total;
std::atomic<Activity> activity = Activity::none;
static_assert(std::atomic<std::uint64_t>::is_always_lock_free);
static_assert(std::atomic<Activity>::is_always_lock_free);

std::int64_t monotonic_ns() {
  timespec now = {};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<std::int64_t>(now.tv_sec) * 1'000'000'000 + now.tv_nsec;
}

// Measures the time of the transfer. One number, so that a handler never sees half a change.
class TransferClock {
 public:
  void start() { state_ = monotonic_ns(); }
  void pause() {
    if (state_ > 0) state_ = -elapsed_ns() - 1;
  }
  void resume() {
    if (state_ < 0) state_ = monotonic_ns() - elapsed_ns();
  }
  [[nodiscard]] std::int64_t elapsed_ns() const {
    const std::int64_t state = state_;
    return state > 0 ? monotonic_ns() - state : -state - 1;
  }
  [[nodiscard]] double seconds() const { return static_cast<double>(elapsed_ns()) * 1e-9; }

 private:
  // When it would have started without pauses; while it is paused, -1 less the nanoseconds so far.
  std::atomic<std::int64_t> state_ = -1;
};
TransferClock transfer_clock;

// Guards all that follows and the members of the one Progress.
std::mutex mutex;
Progress* current = nullptr;
std::int64_t run_start_ns = 0;
unsigned working = 0;  // threads that work on a file
unsigned waiting = 0;  // those of them that wait for the key
unsigned reading = 0;
unsigned deriving = 0;

// Call it with `mutex` held, after each change of the counts.
void count_changed() {
  if (activity == Activity::none || activity == Activity::ended) return;
  if (working == 0 || waiting < working) {
    activity = Activity::transfer;
    transfer_clock.resume();
  } else {
    activity = deriving != 0 ? Activity::deriving_key : Activity::waiting_for_key;
    transfer_clock.pause();
  }
}

void change(unsigned& count, int by) {
  const std::lock_guard lock(mutex);
  count += static_cast<unsigned>(by);
  count_changed();
}

// Text for a signal handler: no allocation, no locale, no stdio.
class Line {
 public:
  Line& operator<<(const char* text) {
    const std::size_t n = std::min(std::strlen(text), text_.size() - used_);
    std::memcpy(text_.data() + used_, text, n);
    used_ += n;
    return *this;
  }

  Line& operator<<(std::uint64_t number) {
    std::array<char, 21> digits{};
    std::to_chars(digits.begin(), digits.end(), number);
    return *this << digits.data();
  }

  [[nodiscard]] std::string_view text() const { return {text_.data(), used_}; }

 private:
  std::array<char, 200> text_{};
  std::size_t used_ = 0;
};

const char* activity_text(Activity now) {
  switch (now) {
    case Activity::waiting_for_key:
      return ", waiting for the key";
    case Activity::deriving_key:
      return ", deriving the key";
    case Activity::ended:
      return ", transfer ended";
    default:
      return "";
  }
}

extern "C" void print_progress(int) {
  const int saved = errno;
  const Activity now = activity.load();
  const std::uint64_t bytes = bytes_so_far.load();
  Line line;
  line << "paraes: ";
  if (bytes == 0 && now != Activity::ended) {
    line << "nothing processed yet" << activity_text(now);
  } else {
    const std::uint64_t total = bytes_in_total.load();
    const auto elapsed_ms = static_cast<std::uint64_t>(
        std::max<std::int64_t>(transfer_clock.elapsed_ns() / 1'000'000, 1));
    const std::uint64_t rate = bytes / elapsed_ms * 1000 + bytes % elapsed_ms * 1000 / elapsed_ms;
    line << amount_text(bytes).data();
    if (total != unknown_total) line << " of " << amount_text(total).data();
    line << " in " << elapsed_ms / 1000 << "." << elapsed_ms / 100 % 10 << " s, "
         << amount_text(rate).data() << "/s" << activity_text(now);
    if (now == Activity::transfer && total != unknown_total && total >= bytes && rate != 0) {
      line << ", " << (total - bytes) / rate << " s left";
    }
  }
  line << "\n";
  write_in_handler(line.text());
  errno = saved;
}

std::string clock_text(double seconds) {
  const auto whole = static_cast<std::uint64_t>(std::llround(std::min(seconds, 1e9)));
  if (whole < 3600) return fmt::format("{}:{:02}", whole / 60, whole % 60);
  return fmt::format("{}:{:02}:{:02}", whole / 3600, whole / 60 % 60, whole % 60);
}

std::string duration_text(double seconds) {
  return seconds < 59.95 ? fmt::format("{:.1f} s", seconds) : clock_text(seconds);
}

// A file that grows must not push the bar beyond its end.
double share_of(std::uint64_t bytes, std::uint64_t total) {
  return bytes >= total ? 1.0 : static_cast<double>(bytes) / static_cast<double>(total);
}

std::string bar_text(double share) {
  constexpr std::size_t width = 24;
  const auto full = static_cast<std::size_t>(share * width);
  return fmt::format("[{}{}]", std::string(full, '#'), std::string(width - full, ' '));
}

// Rounded down: 100 % is all.
std::string percent_text(double share) { return fmt::format("{:.0f} %", std::floor(100 * share)); }

// A part of a line, with the text that separates it from the part before.
struct Part {
  int importance;  // the least important are left out first
  std::string text;
  const char* separator = "  ";
};

// Returns a line of as many parts as fit.
std::string fitting(std::vector<Part> parts, std::size_t columns) {
  for (;;) {
    std::string line;
    for (const Part& part : parts) line += (line.empty() ? "" : part.separator) + part.text;
    if (columns_of(line) <= columns || parts.size() <= 1) {
      return line.erase(0, line.find_first_not_of(' '));
    }
    parts.erase(std::ranges::min_element(parts, {}, &Part::importance));
  }
}

// The bar, and the percentage with its importance; none without a total.
std::vector<Part> share_parts(std::uint64_t bytes, const std::optional<std::uint64_t>& total,
                              int importance) {
  if (!total) return {};
  const double share = share_of(bytes, *total);
  return {{0, bar_text(share)}, {importance, fmt::format("{:>5}", percent_text(share)), " "}};
}

std::optional<std::uint64_t> known_total() {
  const std::uint64_t total = bytes_in_total;
  return total == unknown_total || total == 0 ? std::nullopt : std::optional(total);
}

double rate_of(std::uint64_t bytes, double seconds) {
  return seconds > 0 ? static_cast<double>(bytes) / seconds : 0;
}

}  // namespace

Progress::Progress(Bar bar, std::optional<std::uint64_t> total)
    : bar_(bar), total_(total && *total != 0 ? total : std::nullopt), line_(STDERR_FILENO) {
  const std::lock_guard lock(mutex);
  bytes_so_far = 0;
  bytes_in_total = total_.value_or(unknown_total);
  run_start_ns = monotonic_ns();
  transfer_clock.start();
  activity = Activity::transfer;
  current = this;
  if (bar_ == Bar::none) return;
  try {
    ticker_ = std::thread([this] { run_ticker(); });
  } catch (const std::system_error&) {  // NOLINT(bugprone-empty-catch): a run without a bar
  }
}

Progress::~Progress() {
  stop_ticker();
  const std::lock_guard lock(mutex);
  current = nullptr;
}

void Progress::listen() {
  struct sigaction action = {};
  action.sa_handler = print_progress;
  action.sa_flags = SA_RESTART;
  sigemptyset(&action.sa_mask);
  sigaction(SIGUSR1, &action, nullptr);
}

void Progress::update(std::uint64_t bytes) noexcept { bytes_so_far = bytes; }

void Progress::change_total(std::int64_t more) noexcept {
  std::uint64_t total = bytes_in_total;
  if (total == unknown_total) return;
  // Modulo 2^64, which is right for what is negative, too.
  bytes_in_total = total + static_cast<std::uint64_t>(more);
}

void Progress::finish(bool complete) {
  stop_ticker();
  if (!shown_ && bar_ != Bar::always) return;
  line_.finish(end_text(transfer_clock.seconds(), complete));
}

void Progress::run_ticker() {
  std::unique_lock lock(mutex);
  while (!stop_) {
    tick();
    stopped_.wait_for(lock, redraw_interval, [this] { return stop_; });
  }
}

void Progress::stop_ticker() {
  {
    const std::lock_guard lock(mutex);
    transfer_clock.pause();
    activity = Activity::ended;
    stop_ = true;
  }
  stopped_.notify_one();
  if (ticker_.joinable()) ticker_.join();
}

// Call it with `mutex` held.
void Progress::tick() {
  if (reading != 0) return;
  const auto since_start = static_cast<double>(monotonic_ns() - run_start_ns) * 1e-9;
  const double least = bar_ == Bar::always ? 0 : first_draw_seconds;
  const double seconds = transfer_clock.seconds();
  const Activity now = activity;
  if (now == Activity::deriving_key && since_start >= least) {
    line_.draw(key_text());
  } else if (now == Activity::transfer && (shown_ || seconds >= least)) {
    shown_ = true;
    line_.draw(transfer_text(seconds));
  } else {
    line_.remove();
  }
}

std::string Progress::transfer_text(double seconds) const {
  const std::uint64_t bytes = bytes_so_far;
  const auto total = known_total();
  const double rate = rate_of(bytes, seconds);
  std::vector<Part> parts = share_parts(bytes, total, 5);
  parts.push_back({2, format_amount(bytes)});
  if (total) parts.push_back({1, "of " + format_amount(*total), " "});
  if (bytes != 0) parts.push_back({3, format_rate(rate)});
  if (total && rate > 0 && bytes <= *total) {
    parts.push_back({4, "ETA " + clock_text(static_cast<double>(*total - bytes) / rate)});
  }
  return fitting(std::move(parts), line_.columns());
}

std::string Progress::key_text() const {
  std::vector<Part> parts;
  if (bytes_so_far != 0) parts = share_parts(bytes_so_far, known_total(), 1);
  parts.push_back({2, "deriving the key"});
  return fitting(std::move(parts), line_.columns());
}

std::string Progress::end_text(double seconds, bool complete) const {
  const std::uint64_t bytes = bytes_so_far;
  std::vector<Part> parts = share_parts(complete ? total_.value_or(0) : bytes, total_, 4);
  parts.push_back({1, format_amount(bytes)});
  parts.push_back({3, format_rate(rate_of(bytes, seconds))});
  parts.push_back({2, "in " + duration_text(seconds)});
  return fitting(std::move(parts), line_.columns());
}

Progress::Work::Work() { change(working, 1); }
Progress::Work::~Work() { change(working, -1); }
Progress::KeyWait::KeyWait() { change(waiting, 1); }
Progress::KeyWait::~KeyWait() { change(waiting, -1); }

Progress::KeyActivity::KeyActivity(KeyStep step) : step_(step) {
  change(step_ == KeyStep::reading ? reading : deriving, 1);
  if (step_ != KeyStep::reading) return;
  const std::lock_guard lock(mutex);
  if (current != nullptr) current->line_.remove();
}

Progress::KeyActivity::~KeyActivity() {
  change(step_ == KeyStep::reading ? reading : deriving, -1);
}

}  // namespace paraes::cli
