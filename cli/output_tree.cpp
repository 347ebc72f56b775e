#include "cli/output_tree.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <set>
#include <system_error>

#include "cli/output.hpp"
#include "paraes/error.hpp"

namespace paraes::cli {
namespace {

std::string join(const std::string& a, const std::string& b) {
  return a.empty() || b.empty() ? a + b : a + "/" + b;
}

[[noreturn]] void fail_make(const std::string& folder, int code) {
  throw IoError(
      fmt::format("cannot make the folder {}: {}", folder, std::generic_category().message(code)),
      code);
}

}  // namespace

OutputTree::OutputTree(TreeRoots& roots, const std::string& path) : shown_(path) {
  std::string there = path;
  while (there.size() > 1 && there.back() == '/') there.pop_back();
  struct stat status = {};
  while (stat(there.c_str(), &status) != 0) {
    if (errno != ENOENT) fail_make(path, errno);
    if (lstat(there.c_str(), &status) == 0) {
      throw InvalidArgument(fmt::format("{} is a symbolic link that leads nowhere", there));
    }
    const std::string name = file_name_of(there);
    if (name == "..") {
      throw InvalidArgument(fmt::format("-o {}: there is no folder in front of ..", path));
    }
    if (name != "." && !name.empty()) below_ = join(name, below_);
    there = folder_of(there);
    while (there.size() > 1 && there.back() == '/') there.pop_back();
  }
  if (!S_ISDIR(status.st_mode)) {
    if (!below_.empty()) fail_make(path, ENOTDIR);
    throw InvalidArgument(
        fmt::format("{} is no folder: with several inputs or -r, -o names a folder", path));
  }
  root_ = roots.open(there);
  if (shown_.back() != '/') shown_ += '/';
}

Place OutputTree::place(const std::string& path) const {
  return {.root = root_, .path = join(below_, path), .shown = shown_ + path};
}

std::optional<struct stat> OutputTree::look(const Place& place) {
  const std::string folder = place.folder();
  if (looked_at_ != folder) {
    looked_.reset();
    looked_at_ = folder;
    try {
      looked_ = root_->open(folder);
    } catch (const IoError&) {
      looked_.reset();  // what is wrong with it shows when it is made
    }
  }
  if (!looked_) return std::nullopt;
  struct stat status = {};
  const int found =
      fstatat(looked_->descriptor(), place.name().c_str(), &status, AT_SYMLINK_NOFOLLOW);
  return found == 0 ? std::optional(status) : std::nullopt;
}

void OutputTree::add_folder(const std::string& path, mode_t mode) {
  // Where two folders mirror into one, grant only the permissions that both grant.
  std::optional<mode_t>& wanted = wanted_[join(below_, path)];
  wanted = wanted.value_or(0777) & mode;
}

void OutputTree::make_folder(const std::string& path) {
  const auto parent = root_->open(parent_of(path));
  const std::string name = file_name_of(path);
  if (mkdirat(parent->descriptor(), name.c_str(), S_IRWXU) == 0) {
    made_.push_back(path);
  } else if (errno != EEXIST) {
    fail_make(parent->name_of(name), errno);
  } else {
    static_cast<void>(root_->open(path));  // a folder, and reached without a link?
  }
}

void OutputTree::make_top() {
  for (std::size_t end = 0; end < below_.size();) {
    end = std::min(below_.find('/', end + 1), below_.size());
    const std::string path = below_.substr(0, end);
    wanted_.try_emplace(path);
    make_folder(path);
  }
}

std::vector<std::pair<std::string, std::string>> OutputTree::make() {
  std::vector<std::pair<std::string, std::string>> troubles;
  // In order of their names, which puts each behind the one that it is in.
  for (const auto& [path, mode] : wanted_) {
    if (path.size() <= below_.size()) continue;  // made already, or there
    try {
      make_folder(path);
    } catch (const IoError& error) {
      troubles.emplace_back(root_->open("")->name_of(path), error.what());
    }
  }
  return troubles;
}

std::vector<std::string> OutputTree::set_modes(mode_t most) {
  std::vector<std::string> troubles;
  for (auto path = made_.rbegin(); path != made_.rend(); ++path) {
    try {
      set_mode(*path, most);
    } catch (const IoError& error) {
      troubles.emplace_back(error.what());
    }
  }
  return troubles;
}

void OutputTree::set_mode(const std::string& path, mode_t most) {
  const Descriptor folder = root_->open_file(path, O_RDONLY | O_DIRECTORY);
  struct stat status = {};
  int error = fstat(folder.get(), &status) == 0 ? 0 : errno;
  // A folder that mirrors none is as the shell would make it. The bit by which files get the group
  // of the folder stays as it came from the folder above.
  const mode_t wanted = wanted_[path].value_or(default_mode(0777)) & most;
  if (error == 0 && fchmod(folder.get(), wanted | (status.st_mode & 07000)) != 0) error = errno;
  if (error == 0 || error == EPERM) return;
  throw IoError(fmt::format("cannot set the mode of the folder {}: {}",
                            root_->open("")->name_of(path), std::generic_category().message(error)),
                error);
}

std::vector<std::string> OutputTree::changed_folders() const {
  std::set<std::string> folders;
  for (const std::string& path : made_) {
    folders.insert(path);
    folders.insert(parent_of(path));
  }
  return {folders.begin(), folders.end()};
}

}  // namespace paraes::cli
