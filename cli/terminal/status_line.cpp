#include "cli/terminal/status_line.hpp"

#include <poll.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <mutex>

namespace paraes::cli {
namespace {

constexpr std::string_view erase = "\r\x1b[K";
constexpr std::size_t usual_columns = 80;

// Orders the output of threads. Signal handlers cannot wait for it: they only read and write
// drawn_on, and everything that must stay together is written by one call.
std::mutex output_mutex;
// The descriptor that has a status line, or -1. It may name one that is not there any more: then
// an empty line is erased.
std::atomic<int> drawn_on = -1;
static_assert(std::atomic<int>::is_always_lock_free);
// The prompt that waits on the terminal of standard error, or null.
std::atomic<const char*> prompt = nullptr;
static_assert(std::atomic<const char*>::is_always_lock_free);

void write_all(int descriptor, std::string_view text) noexcept {
  while (!text.empty()) {
    const ssize_t n = write(descriptor, text.data(), text.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return;
    text.remove_prefix(static_cast<std::size_t>(n));
  }
}

// Whether a write neither waits, as for a terminal that was stopped, nor raises SIGPIPE.
bool takes_output(int descriptor) noexcept {
  pollfd state = {descriptor, POLLOUT, 0};
  return poll(&state, 1, 0) == 1 && state.revents == POLLOUT;
}

// A shell that runs this process in the background has the terminal for itself.
bool in_background(int descriptor) {
  const pid_t group = tcgetpgrp(descriptor);
  return group > 0 && group != getpgrp();
}

std::string_view cut(std::string_view text, std::size_t columns) {
  std::size_t end = 0;
  for (; end < text.size(); ++end) {
    const bool starts = (static_cast<unsigned char>(text[end]) & 0xc0U) != 0x80U;
    if (starts && columns-- == 0) break;
  }
  return text.substr(0, end);
}

bool same_file(int a, int b) {
  struct stat first = {};
  struct stat second = {};
  return fstat(a, &first) == 0 && fstat(b, &second) == 0 && first.st_dev == second.st_dev &&
         first.st_ino == second.st_ino;
}

// Call it with output_mutex held.
void remove_line() {
  const int descriptor = drawn_on.exchange(-1);
  if (descriptor >= 0 && takes_output(descriptor)) write_all(descriptor, erase);
}

}  // namespace

std::size_t columns_of(std::string_view text) {
  return static_cast<std::size_t>(std::ranges::count_if(
      text, [](char c) { return (static_cast<unsigned char>(c) & 0xc0U) != 0x80U; }));
}

std::size_t StatusLine::columns() const {
  winsize size = {};
  const bool known = ioctl(descriptor_, TIOCGWINSZ, &size) == 0 && size.ws_col != 0;
  return (known ? size.ws_col : usual_columns) - 1;
}

void StatusLine::draw(std::string_view text) {
  const std::lock_guard lock(output_mutex);
  if (in_background(descriptor_) || !takes_output(descriptor_)) return;
  std::string line = "\r";
  line += cut(text, columns());
  line += "\x1b[K";
  // Before and after: a handler may run on either side of the write.
  drawn_on = descriptor_;
  write_all(descriptor_, line);
  drawn_on = descriptor_;
}

bool StatusLine::is_due() {
  const auto now = std::chrono::steady_clock::now();
  if (now < next_) return false;
  next_ = now + std::chrono::milliseconds(100);
  return true;
}

void StatusLine::remove() {
  const std::lock_guard lock(output_mutex);
  remove_line();
}

void StatusLine::finish(std::string_view text) {
  const std::lock_guard lock(output_mutex);
  if (!takes_output(descriptor_)) return;
  std::string line(drawn_on.exchange(-1) >= 0 ? erase : "");
  line += cut(text, columns());
  line += '\n';
  write_all(descriptor_, line);
}

PromptShown::PromptShown(const char* text) {
  if (isatty(STDERR_FILENO) != 0) prompt = text;
}

PromptShown::~PromptShown() { prompt = nullptr; }

bool write_lines(std::FILE* stream, std::string_view lines) {
  const std::lock_guard lock(output_mutex);
  const int own = fileno(stream);
  const int drawn = drawn_on;
  const char* const asked = own == STDERR_FILENO ? prompt.load() : nullptr;
  std::string text;
  if ((drawn >= 0 && drawn == own) || asked != nullptr) {
    drawn_on = -1;
    text = erase;
  } else if (drawn >= 0 && (isatty(own) != 0 || same_file(drawn, own))) {
    remove_line();
  }
  text += lines;
  if (asked != nullptr) text += asked;
  errno = 0;
  return std::fwrite(text.data(), 1, text.size(), stream) == text.size() &&
         std::fflush(stream) == 0;
}

void write_in_handler(std::string_view line) noexcept {
  if (!takes_output(STDERR_FILENO)) return;
  const char* const asked = line.empty() ? nullptr : prompt.load();
  const bool drawn = drawn_on.exchange(-1) >= 0;
  std::array<char, 300> text{};
  std::size_t used = 0;
  for (std::string_view part : {drawn || asked != nullptr ? erase : std::string_view(), line,
                                asked != nullptr ? std::string_view(asked) : std::string_view()}) {
    part = part.substr(0, text.size() - used);
    std::ranges::copy(part, text.begin() + used);
    used += part.size();
  }
  write_all(STDERR_FILENO, {text.data(), used});
}

}  // namespace paraes::cli
