#include "cli/progress.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <string>

#include "cli/sizes.hpp"

namespace paraes::cli {
namespace {

constexpr double first_draw_seconds = 0.5;
constexpr double redraw_seconds = 0.1;

// Read by the SIGUSR1 handler, which can run at any moment: hence lock-free atomics.
constexpr std::uint64_t unknown_total = ~std::uint64_t{0};
std::atomic<std::uint64_t> bytes_so_far = 0;
std::atomic<std::uint64_t> bytes_in_total = unknown_total;
std::atomic<std::uint64_t> started_ns = 0;
static_assert(std::atomic<std::uint64_t>::is_always_lock_free);

std::uint64_t monotonic_ns() {
  timespec now = {};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000U +
         static_cast<std::uint64_t>(now.tv_nsec);
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
    std::size_t at = digits.size() - 1;
    do {
      digits[--at] = static_cast<char>('0' + number % 10);
      number /= 10;
    } while (number != 0);
    return *this << digits.data() + at;
  }

  void print() const { static_cast<void>(!write(STDERR_FILENO, text_.data(), used_)); }

 private:
  std::array<char, 200> text_{};
  std::size_t used_ = 0;
};

extern "C" void print_progress(int) {
  const int saved = errno;
  const std::uint64_t started = started_ns.load();
  Line line;
  if (started == 0) {
    line << "paraes: nothing read yet\n";
    line.print();
    errno = saved;
    return;
  }
  const std::uint64_t bytes = bytes_so_far.load();
  const std::uint64_t total = bytes_in_total.load();
  const std::uint64_t elapsed_ms =
      std::max<std::uint64_t>((monotonic_ns() - started) / 1'000'000U, 1);
  const std::uint64_t rate = bytes / elapsed_ms * 1000 + bytes % elapsed_ms * 1000 / elapsed_ms;
  line << "paraes: " << bytes;
  if (total != unknown_total) line << " of " << total;
  line << " bytes in " << elapsed_ms / 1000 << " s, " << rate / 1'000'000U << " MB/s";
  if (total != unknown_total && total >= bytes && rate != 0) {
    line << ", " << (total - bytes) / rate << " s left";
  }
  line << "\n";
  line.print();
  errno = saved;
}

std::string clock_text(double seconds) {
  const auto whole = static_cast<std::uint64_t>(std::llround(std::min(seconds, 1e9)));
  if (whole < 3600) return fmt::format("{}:{:02}", whole / 60, whole % 60);
  return fmt::format("{}:{:02}:{:02}", whole / 3600, whole / 60 % 60, whole % 60);
}

// Standard error is not buffered. Errors are ignored: a bar is not worth failing for.
void show(const std::string& text) {
  static_cast<void>(std::fwrite(text.data(), 1, text.size(), stderr));
}

}  // namespace

Progress::Progress(Bar bar, std::optional<std::uint64_t> total)
    : bar_(bar), total_(total), next_draw_(bar == Bar::always ? 0 : first_draw_seconds) {
  bytes_so_far = 0;
  bytes_in_total = total.value_or(unknown_total);
  started_ns = monotonic_ns();
}

void Progress::listen() {
  struct sigaction action = {};
  action.sa_handler = print_progress;
  action.sa_flags = SA_RESTART;
  sigemptyset(&action.sa_mask);
  sigaction(SIGUSR1, &action, nullptr);
}

Progress::~Progress() { clear(); }

void Progress::clear() {
  if (drawn_) show("\r\033[K");
  drawn_ = false;
}

double Progress::seconds() const {
  return std::chrono::duration<double>(Clock::now() - start_).count();
}

void Progress::update(std::uint64_t bytes) {
  bytes_so_far = bytes;
  if (bar_ == Bar::none) return;
  const double elapsed = seconds();
  if (elapsed < next_draw_) return;
  next_draw_ = elapsed + redraw_seconds;
  draw(bytes, elapsed);
}

void Progress::draw(std::uint64_t bytes, double elapsed) {
  const double rate = elapsed > 0 ? static_cast<double>(bytes) / elapsed : 0;
  std::string line = "\r";
  if (total_ && *total_ != 0) {
    constexpr std::size_t width = 24;
    // A file that grows must not push the bar beyond its end.
    const double share = std::min(1.0, static_cast<double>(bytes) / static_cast<double>(*total_));
    const auto full = static_cast<std::size_t>(share * width);
    line += fmt::format("[{}{}] {:3.0f} %  {} of {}", std::string(full, '#'),
                        std::string(width - full, ' '), 100 * share, format_size(bytes),
                        format_size(*total_));
  } else {
    line += format_size(bytes);
  }
  line += "  " + format_rate(rate);
  if (total_ && rate > 0 && bytes <= *total_) {
    line += "  ETA " + clock_text(static_cast<double>(*total_ - bytes) / rate);
  }
  line += "\033[K";
  show(line);
  drawn_ = true;
}

}  // namespace paraes::cli
