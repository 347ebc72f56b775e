// A line on a terminal that is drawn again and again, such as a progress bar, and the way for all
// other text past it.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdio>
#include <string_view>

namespace paraes::cli {

// Thread-safe. Only one object may exist at a time. Errors are ignored: a status line is not worth
// failing for.
class StatusLine {
 public:
  // `descriptor`: standard error; usually a terminal.
  explicit StatusLine(int descriptor) : descriptor_(descriptor) {}
  StatusLine(const StatusLine&) = delete;
  StatusLine& operator=(const StatusLine&) = delete;
  ~StatusLine() { remove(); }

  // The number of columns that a text may have now; the terminal can be resized at any time. The
  // last column stays free, because terminals differ in where the cursor is after it.
  [[nodiscard]] std::size_t columns() const;

  // Shows `text` (UTF-8, without control characters) in place of the last one, cut to columns().
  // Does nothing while the process is in the background or the terminal takes no output.
  void draw(std::string_view text);

  // Whether a tenth of a second has passed since this was last true: often enough to draw.
  [[nodiscard]] bool is_due();

  // Leaves nothing of the line.
  void remove();

  // Removes the line and leaves `text`, cut to columns(), on a line that stays.
  void finish(std::string_view text);

 private:
  int descriptor_;
  std::chrono::steady_clock::time_point next_ = {};
};

// The number of columns of a text in UTF-8 whose characters are one column wide.
[[nodiscard]] std::size_t columns_of(std::string_view text);

// Writes `lines`, whole lines, and flushes. Removes the status line first if it could be on the
// same terminal. Returns false, with errno, if writing fails.
[[nodiscard]] bool write_lines(std::FILE* stream, std::string_view lines);

// Says that a prompt waits for an answer on the terminal: messages to it erase the prompt's line,
// and show the prompt again below. Only one object may exist at a time.
class PromptShown {
 public:
  // `text` must outlive the object.
  explicit PromptShown(const char* text);
  PromptShown(const PromptShown&) = delete;
  PromptShown& operator=(const PromptShown&) = delete;
  ~PromptShown();
};

// For signal handlers: removes the status line and writes `line`, with its newline, to standard
// error, where that is possible without waiting. An empty line only removes. Changes errno.
void write_in_handler(std::string_view line) noexcept;

}  // namespace paraes::cli
