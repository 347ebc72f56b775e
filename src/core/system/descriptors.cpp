#include "src/core/system/descriptors.hpp"

#include <unistd.h>

#include <charconv>
#include <filesystem>
#include <system_error>

#include "src/core/system/process.hpp"

namespace paraes::system {
namespace {

namespace fs = std::filesystem;

// Systems know the numbers without leading zeros alone.
std::optional<int> number_in(std::string_view text) {
  if (text.empty() || text.front() == '-' || (text.size() > 1 && text.front() == '0')) {
    return std::nullopt;
  }
  int number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

}  // namespace

std::optional<int> descriptor_in(std::string_view path) {
  if (path == "/dev/stdin") return STDIN_FILENO;
  if (path == "/dev/stdout") return STDOUT_FILENO;
  if (path == "/dev/stderr") return STDERR_FILENO;
  const std::size_t slash = path.rfind('/');
  if (slash == 0 || slash == std::string_view::npos) return std::nullopt;
  const auto number = number_in(path.substr(slash + 1));
  return number && has_own_descriptors(path.substr(0, slash)) ? number : std::nullopt;
}

std::optional<int> descriptor_named(const std::string& path) {
  // Systems follow as many links in one name.
  constexpr int most_links = 40;
  fs::path name = path;
  for (int i = 0; i < most_links; ++i) {
    if (const auto number = descriptor_in(name.native())) return number;
    std::error_code error;
    const fs::path target = fs::read_symlink(name, error);
    if (error) return std::nullopt;  // no link, or not there
    const fs::path folder =
        fs::canonical(name.has_parent_path() ? name.parent_path() : fs::path("."), error);
    if (error) return std::nullopt;
    if (has_own_descriptors(folder.native())) return number_in(name.filename().native());
    name = folder / target;  // an absolute target replaces the folder
  }
  return std::nullopt;
}

}  // namespace paraes::system
