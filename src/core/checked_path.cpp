#include "src/core/checked_path.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <system_error>
#include <vector>

#include "src/core/system/process.hpp"

namespace paraes {
namespace {

namespace fs = std::filesystem;

// Linux follows as many.
constexpr int most_links = 40;

// Remembers the first reason why what lies on the way must not be trusted.
class Dangers {
 public:
  [[nodiscard]] const std::string& first() const noexcept { return first_; }

  void check_owner(const std::string& path, const struct stat& status, bool anybody_put_it_there) {
    if (status.st_uid == 0 || status.st_uid == user_) return;
    if (user_ != 0 && !anybody_put_it_there) return;
    add(path + " belongs to user " + std::to_string(status.st_uid) + ", and this process is " +
        (user_ == 0 ? "root" : "user " + std::to_string(user_)));
  }

  void check_writers(const std::string& path, const struct stat& status) {
    if ((status.st_mode & S_IWOTH) != 0) {
      add("everybody can write to " + path);
    } else if ((status.st_mode & S_IWGRP) != 0 && user_ == 0) {
      add("the group " + std::to_string(status.st_gid) + " can write to " + path);
    }
  }

 private:
  void add(const std::string& danger) {
    if (first_.empty()) first_ = danger;
  }

  const uid_t user_ = geteuid();
  std::string first_;
};

// The components of a path that are still to be followed, the next one last.
using Components = std::vector<std::string>;

void add_components(Components& rest, const fs::path& path) {
  Components parts;
  for (const fs::path& part : path.relative_path()) parts.push_back(part.string());
  rest.insert(rest.end(), parts.rbegin(), parts.rend());
}

CheckedPath missing(int code) { return {"", std::generic_category().message(code)}; }

}  // namespace

CheckedPath check_path(const std::string& path) {
  std::error_code error;
  const fs::path absolute = fs::absolute(path, error);
  if (error) return missing(error.value());
  Components rest;
  add_components(rest, absolute);
  Dangers dangers;
  fs::path at = "/";  // has no symbolic links
  int links = 0;
  struct stat status {};
  rest.emplace_back(".");  // the root itself
  while (!rest.empty()) {
    const std::string name = rest.back();
    rest.pop_back();
    if (name.empty()) continue;
    // The folders above have been checked already.
    if (name == "..") {
      at = at.parent_path();
      continue;
    }
    const fs::path next = name == "." ? at : at / name;
    if (lstat(at.c_str(), &status) != 0) return missing(errno);
    const bool is_shared = (status.st_mode & S_IWOTH) != 0;
    if (lstat(next.c_str(), &status) != 0) return missing(errno);
    dangers.check_owner(next, status, is_shared);
    if (S_ISLNK(status.st_mode)) {
      if (++links > most_links) return missing(ELOOP);
      const fs::path target = fs::read_symlink(next, error);
      if (error) return missing(error.value());
      add_components(rest, target);
      if (target.is_absolute()) at = "/";
      continue;
    }
    if ((status.st_mode & S_ISVTX) == 0) dangers.check_writers(next, status);
    at = next;
  }
  if (lstat(at.c_str(), &status) != 0) return missing(errno);
  dangers.check_writers(at, status);
  if (!S_ISDIR(status.st_mode)) {
    const fs::path folder = at.parent_path();
    if (lstat(folder.c_str(), &status) != 0) return missing(errno);
    dangers.check_writers(folder, status);
  }
  return {at, dangers.first()};
}

std::string trusted_environment(const char* name) {
  const char* const value = system::has_more_rights_than_caller() ? nullptr : std::getenv(name);
  return value == nullptr ? "" : value;
}

}  // namespace paraes
