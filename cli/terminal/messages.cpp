#include "cli/terminal/messages.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <new>

#include "cli/terminal/status_line.hpp"
#include "cli/words/errors.hpp"
#include "paraes/io.hpp"

namespace paraes::cli {
namespace {

struct Character {
  std::size_t bytes = 0;  // 0: the text does not begin with a character in UTF-8
  std::uint32_t code = 0;
};

// The first character of `text` (RFC 3629).
Character first_character(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<std::uint32_t>(text[i]) & 0xffU; };
  const std::uint32_t lead = byte(0);
  if (lead < 0x80) return {1, lead};
  const std::size_t n = lead >> 5 == 0x06 ? 2 : lead >> 4 == 0x0e ? 3 : lead >> 3 == 0x1e ? 4 : 0;
  if (n == 0 || text.size() < n) return {};
  std::uint32_t code = lead & (0x7fU >> n);
  for (std::size_t i = 1; i < n; ++i) {
    if (byte(i) >> 6 != 2) return {};
    code = code << 6 | (byte(i) & 0x3fU);
  }
  constexpr std::array<std::uint32_t, 5> least = {0, 0, 0x80, 0x800, 0x10000};
  const bool is_surrogate = code >= 0xd800 && code < 0xe000;
  if (code < least.at(n) || is_surrogate || code > 0x10ffff) return {};
  return {n, code};
}

// Whether a terminal obeys the character, breaks the line at it, or shows what follows in another
// order, or shows nothing for it: controls (C0, DEL, C1), line separators, the controls of
// bidirectional text, and the byte order mark.
bool is_control(std::uint32_t code) {
  return code < 0x20 || (code >= 0x7f && code < 0xa0) || code == 0x061c || code == 0x200e ||
         code == 0x200f || (code >= 0x2028 && code <= 0x202e) ||
         (code >= 0x2066 && code <= 0x2069) || code == 0xfeff;
}

}  // namespace

std::string printable(std::string_view text) {
  std::string shown;
  while (!text.empty()) {
    const Character first = first_character(text);
    const std::size_t n = std::max<std::size_t>(first.bytes, 1);
    if (first.bytes == 0 || first.code < 0x20) {
      shown += fmt::format("\\x{:02x}", static_cast<unsigned char>(text[0]));
    } else if (is_control(first.code)) {
      shown += fmt::format("\\u{:04x}", first.code);
    } else {
      shown += text.substr(0, n);
    }
    text.remove_prefix(n);
  }
  return shown;
}

void say(std::string_view text) {
  const std::string line = "paraes: " + printable(text) + "\n";
  // Errors are ignored: if standard error is closed, there is nowhere to report them.
  static_cast<void>(write_lines(stderr, line));
}

int say_error(const std::exception& error) {
  const int status = exit_status(error);
  if (status == exit_closed_pipe) return status;
  try {
    say(error_text(error));
    return status;
  } catch (const std::bad_alloc&) {  // none for the text either
    write_in_handler("paraes: out of memory\n");
    return exit_failed;
  }
}

void print_line(std::FILE* stream, std::string_view text) {
  std::string shown;
  for (;;) {
    const std::size_t end = text.find('\n');
    shown += printable(text.substr(0, end)) + "\n";
    if (end == std::string_view::npos) break;
    text.remove_prefix(end + 1);
  }
  if (write_lines(stream, shown)) return;
  throw io_error(stream == stdout ? "standard output" : "standard error", "write", errno);
}

}  // namespace paraes::cli
