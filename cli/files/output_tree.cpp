#include "cli/files/output_tree.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <iterator>
#include <set>

#include "cli/files/output.hpp"
#include "cli/words/errors.hpp"
#include "paraes/error.hpp"
#include "src/core/system/files.hpp"

namespace paraes::cli {
namespace {

std::string join(const std::string& a, const std::string& b) {
  return a.empty() || b.empty() ? a + b : a + "/" + b;
}

// Returns the system's errno, or 0.
int set_time(const Descriptor& folder, const timespec& modified) {
  // See FileSink::prepare.
  const std::array<timespec, 2> times = {{{.tv_sec = 0, .tv_nsec = UTIME_NOW}, modified}};
  return futimens(folder.get(), times.data()) == 0 ? 0 : errno;
}

[[noreturn]] void fail_make(const std::string& folder, int code) {
  throw io_error(folder, "make", code);
}

}  // namespace

OutputTree::OutputTree(TreeRoots& roots, const std::string& path) : shown_(path) {
  std::string existing = path;
  while (existing.size() > 1 && existing.back() == '/') existing.pop_back();
  struct stat status = {};
  while (stat(existing.c_str(), &status) != 0) {
    if (errno != ENOENT) fail_make(path, errno);
    if (lstat(existing.c_str(), &status) == 0) {
      throw refusal("{}: it is a symbolic link that leads nowhere", existing);
    }
    const std::string name = file_name_of(existing);
    if (name == "..") {
      throw refusal("{}: the folder before .. does not exist", path);
    }
    if (name != "." && !name.empty()) below_ = join(name, below_);
    existing = folder_of(existing);
    while (existing.size() > 1 && existing.back() == '/') existing.pop_back();
  }
  if (!S_ISDIR(status.st_mode)) {
    if (!below_.empty()) fail_make(path, ENOTDIR);
    throw refusal(
        "{}: it is not a folder; with several inputs, -r, or a / at its end, -o names one", path);
  }
  root_ = roots.open(existing);
  if (shown_.back() != '/') shown_ += '/';
}

Place OutputTree::place(const std::string& path) const {
  return {.root = root_, .path = join(below_, path), .shown = shown_ + path};
}

std::shared_ptr<const Folder> OutputTree::existing(const std::string& path) const try {
  return root_->open(join(below_, path));
} catch (const IoError&) {
  return nullptr;  // making the folder will report the error
}

void OutputTree::add_folder(const std::string& path, const struct stat& mirrored,
                            std::vector<FileAttribute> attributes) {
  // Where two folders mirror into one, grant only the permissions that both grant; the later change
  // is that of both. Of attributes, nobody can say which ones to keep.
  Wanted& wanted = wanted_[join(below_, path)];
  if (wanted.mode && wanted.mirrored == FileId(mirrored)) return;  // as for two names of a list
  wanted.mirrored = FileId(mirrored);
  const timespec modified = system::modified_time(mirrored);
  const auto seconds = [](const timespec& time) { return std::pair(time.tv_sec, time.tv_nsec); };
  if (!wanted.mode || seconds(wanted.modified) < seconds(modified)) wanted.modified = modified;
  const std::pair owner(mirrored.st_uid, mirrored.st_gid);
  if (!wanted.mode && geteuid() == 0) {
    wanted.owner = owner;
  } else if (wanted.owner != owner) {
    wanted.owner.reset();
  }
  wanted.clashes = wanted.mode && !(wanted.attributes.empty() && attributes.empty());
  std::move(attributes.begin(), attributes.end(), std::back_inserter(wanted.attributes));
  wanted.mode = wanted.mode.value_or(0777) & mirrored.st_mode & 0777U;
}

void OutputTree::make_folder(const std::string& path) {
  const auto parent = root_->open(parent_of(path));
  const std::string name = file_name_of(path);
  if (mkdirat(parent->descriptor(), name.c_str(), S_IRWXU) == 0) {
    made_.push_back(path);
  } else if (errno != EEXIST) {
    fail_make(parent->name_of(name), errno);
  } else {
    static_cast<void>(root_->open(path));  // throws unless it is a folder, reached without a link
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
  std::vector<std::pair<std::string, std::string>> errors;
  // The map is in the order of the paths, so parents come first.
  for (const auto& [path, wanted] : wanted_) {
    if (path.size() <= below_.size()) continue;  // exists
    try {
      make_folder(path);
    } catch (const IoError& error) {
      errors.emplace_back(root_->open("")->name_of(path), error.what());
    }
  }
  return errors;
}

void OutputTree::remove_empty() {
  for (auto path = made_.rbegin(); path != made_.rend(); ++path) {
    try {
      const auto parent = root_->open(parent_of(*path));
      // Fails where somebody has put something into the folder.
      static_cast<void>(unlinkat(parent->descriptor(), file_name_of(*path).c_str(), AT_REMOVEDIR));
    } catch (const IoError&) {  // NOLINT(bugprone-empty-catch): the folder stays, and is empty
    }
  }
  made_.clear();
}

OutputTree::Finished OutputTree::finish(mode_t most, bool attributes) {
  const std::set<std::string> made(made_.begin(), made_.end());
  Finished finished;
  // In the order of their paths, parents come first.
  for (auto entry = wanted_.rbegin(); entry != wanted_.rend(); ++entry) {
    const auto& [path, wanted] = *entry;
    try {
      if (made.contains(path)) {
        auto lost = finish_new(path, wanted, most, attributes);
        if (lost.empty()) continue;
        finished.lost.emplace_back(root_->open("")->name_of(path), std::move(lost));
      } else if (wanted.mode && path.size() > below_.size()) {
        // The folder may belong to another user: it then keeps the time of the new files in it.
        static_cast<void>(
            set_time(root_->open_file(path, O_RDONLY | O_DIRECTORY), wanted.modified));
      }
    } catch (const IoError& error) {
      if (made.contains(path)) finished.errors.emplace_back(error.what());
    }
  }
  return finished;
}

std::vector<std::string> OutputTree::finish_new(const std::string& path, const Wanted& wanted,
                                                mode_t most, bool attributes) const {
  const Descriptor folder = root_->open_file(path, O_RDONLY | O_DIRECTORY);
  struct stat status = {};
  int error = fstat(folder.get(), &status) == 0 ? 0 : errno;
  // A folder that mirrors none gets the default mode. The set-group-ID bit stays as it was
  // inherited from the parent.
  const mode_t mode = wanted.mode.value_or(default_mode(0777)) & most;
  if (error == 0 && wanted.mode) error = set_time(folder, wanted.modified);
  if (system::is_unsupported(error)) error = 0;
  const bool sets_attributes = attributes && !wanted.clashes;
  // A descriptor that is none: the folder takes none of them.
  const int target = sets_attributes ? folder.get() : -1;
  std::vector<std::string> lost =
      set_file_attributes(target, wanted.attributes, AttributeKind::of_users);
  // Where that is not permitted, the folder stays root's.
  if (wanted.owner) {
    static_cast<void>(fchown(folder.get(), wanted.owner->first, wanted.owner->second) == 0);
  }
  if (error == 0 && fchmod(folder.get(), mode | (status.st_mode & 07000)) != 0) error = errno;
  if (error == 0 || system::is_unsupported(error)) {
    auto lists = set_file_attributes(target, wanted.attributes, AttributeKind::access_lists);
    std::move(lists.begin(), lists.end(), std::back_inserter(lost));
    std::sort(lost.begin(), lost.end());
    lost.erase(std::unique(lost.begin(), lost.end()), lost.end());
    return lost;
  }
  throw io_error(root_->open("")->name_of(path), "set the mode and time of", error);
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
