#include "src/io/temporaries.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <filesystem>
#include <optional>
#include <system_error>
#include <vector>

#include "paraes/io.hpp"
#include "src/core/system/folder.hpp"
#include "src/core/system/random.hpp"
#include "src/core/system/removal.hpp"
#include "src/io/calls.hpp"

namespace paraes {
namespace {

constexpr std::string_view temporary_suffix = ".paraes-tmp";

// The host name as it appears in the names of temporary files. Dots are replaced, because they are
// the separator.
const std::string& host_name() {
  static const std::string name = [] {
    std::array<char, 65> buffer{};
    // Linux limits host names to 64 bytes.
    if (gethostname(buffer.data(), buffer.size() - 1) != 0) buffer[0] = 0;
    std::string text = buffer.data();
    for (char& c : text) {
      const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
      if (!plain && c != '_') c = '-';
    }
    return text.empty() ? "unnamed" : text;
  }();
  return name;
}

// Shortens the name of a target, without splitting a UTF-8 character, so that the name of its
// temporary file has at most NAME_MAX (255) bytes.
std::string shortened(const std::string& name) {
  constexpr std::size_t most = 150;
  if (name.size() <= most) return name;
  std::size_t end = most;
  while (end > most - 4 && (static_cast<unsigned char>(name[end]) & 0xc0U) == 0x80U) --end;
  return name.substr(0, end);
}

std::string hex(std::uint32_t bits) {
  constexpr std::string_view digits = "0123456789abcdef";
  std::string text;
  for (int i = 0; i < 8; ++i, bits >>= 4) text += digits[bits & 15U];
  return text;
}

// Removes the last dot of `text` and what follows it, and returns what follows.
std::string_view take_last_part(std::string_view& text) {
  const std::size_t dot = text.rfind('.');
  if (dot == std::string_view::npos) return {};
  const std::string_view part = text.substr(dot + 1);
  text = text.substr(0, dot);
  return part;
}

// Some file systems store names in capitals, or without any. Host names have no case (RFC 4343).
std::string lower(std::string_view text) {
  std::string result(text);
  for (char& c : result) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return result;
}

struct TemporaryParts {
  std::string_view target;  // shortened
  std::string_view host;
};

// The parts of a temporary file's name; nothing for any other name.
std::optional<TemporaryParts> parse_temporary(std::string_view name) noexcept {
  if (name.size() <= temporary_suffix.size() || name.front() != '.') return std::nullopt;
  const std::size_t end = name.size() - temporary_suffix.size();
  if (lower(name.substr(end)) != temporary_suffix) return std::nullopt;
  name = name.substr(1, end - 1);
  const std::string_view random = take_last_part(name);
  const std::string_view process = take_last_part(name);
  const std::string_view host = take_last_part(name);
  const auto consists_of = [](std::string_view text, std::string_view characters) {
    return !text.empty() && text.find_first_not_of(characters) == std::string_view::npos;
  };
  const bool fits = random.size() == 8 && consists_of(random, "0123456789abcdefABCDEF") &&
                    consists_of(process, "0123456789") && !host.empty() && !name.empty();
  return fits ? std::optional(TemporaryParts{name, host}) : std::nullopt;
}

// Removes a temporary file of this host unless a process is writing it: writers hold a lock, which
// the system releases when the process ends.
void remove_stale(const Folder& folder, const std::string& name) {
  constexpr int flags = O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC;
  const int at = folder.descriptor();
  // NFS locks only files that are open for writing.
  Descriptor old(openat(at, name.c_str(), O_RDWR | flags));
  if (old.get() < 0) old = Descriptor(openat(at, name.c_str(), O_RDONLY | flags));
  if (old.get() < 0 || flock(old.get(), LOCK_EX | LOCK_NB) != 0) return;
  if (is_named(old.get(), at, name.c_str()) != Named::yes) return;
  struct stat status = {};
  if (fstat(old.get(), &status) != 0) return;
  if (S_ISDIR(status.st_mode)) {  // of a probe of names (cli/files/name_probe.hpp)
    std::error_code ignored;
    std::filesystem::remove_all(folder.name_of(name), ignored);
    return;
  }
  if (unlinkat(at, name.c_str(), 0) == 0) return;
  old.close();  // where an open file cannot be removed
  static_cast<void>(system::remove_file(at, name.c_str(), 0, [&] {
    struct stat now = {};
    return fstatat(at, name.c_str(), &now, AT_SYMLINK_NOFOLLOW) == 0 &&
           FileId(now) == FileId(status);
  }));
}

}  // namespace

std::string new_temporary_name(const std::string& target, const std::string& shown) {
  std::uint32_t random = 0;
  if (const int error = system::draw_random(&random, sizeof random); error != 0) {
    calls::fail("draw a name for", shown, error);
  }
  std::string name(1, '.');
  name.append(shortened(target)).append(1, '.').append(host_name()).append(1, '.');
  name.append(std::to_string(getpid())).append(1, '.').append(hex(random));
  return name.append(temporary_suffix);
}

Named is_named(int descriptor, int folder, const char* name) noexcept {
  struct stat open_file = {};
  struct stat named = {};
  if (fstat(descriptor, &open_file) != 0) return Named::unknown;
  if (fstatat(folder, name, &named, AT_SYMLINK_NOFOLLOW) != 0) {
    return errno == ENOENT ? Named::no : Named::unknown;
  }
  return FileId(open_file) == FileId(named) ? Named::yes : Named::no;
}

Named still_has_name(int descriptor, int folder, const char* name) noexcept {
  const Named named = is_named(descriptor, folder, name);
  struct stat status = {};
  // Whoever takes a temporary name away removes the file, which then has no name at all.
  const bool is_there = named == Named::no && fstat(descriptor, &status) == 0 &&
                        status.st_nlink != 0 &&
                        fstatat(folder, name, &status, AT_SYMLINK_NOFOLLOW) == 0;
  return is_there ? Named::yes : named;
}

bool is_temporary_name(std::string_view name) noexcept { return parse_temporary(name).has_value(); }

void Leftovers::remove(const Folder& folder, const std::string& name) {
  const FileId& id = folder.id();
  std::vector<std::string> ours;
  {
    const std::lock_guard lock(mutex_);
    if (folders_.insert(id).second) {
      // In a folder that may not be read, nothing is removed.
      static_cast<void>(system::visit_names(folder.descriptor(), ".", [&](const char* entry) {
        const auto parts = parse_temporary(entry);
        if (parts && lower(parts->host) == lower(host_name())) {
          found_.emplace(std::pair(id, lower(parts->target)), entry);
        }
      }));
    }
    if (found_.empty()) return;
    const auto [first, last] = found_.equal_range({id, lower(shortened(name))});
    for (auto it = first; it != last; ++it) ours.push_back(it->second);
    found_.erase(first, last);
  }
  for (const std::string& temporary : ours) remove_stale(folder, temporary);
}

}  // namespace paraes
