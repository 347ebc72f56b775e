#include "cli/files/place.hpp"

#include <fcntl.h>
#include <fmt/format.h>

#include <cerrno>
#include <utility>

#include "cli/words/errors.hpp"
#include "paraes/error.hpp"

namespace paraes::cli {
namespace {

// How many descriptors a run holds for its arguments.
constexpr std::size_t most_descriptors = 16;

}  // namespace

std::shared_ptr<const Folder> FolderCache::find(const TreeRoot& root, const std::string& path) {
  const std::lock_guard lock(mutex_);
  for (const Entry& entry : entries_) {
    if (entry.root == &root && entry.path == path) return entry.folder;
  }
  return nullptr;
}

void FolderCache::add(const TreeRoot& root, const std::string& path,
                      std::shared_ptr<const Folder> folder) {
  const std::lock_guard lock(mutex_);
  entries_[next_] = {&root, path, std::move(folder)};
  next_ = (next_ + 1) % entries_.size();
}

TreeRoot::TreeRoot(const std::string& path, bool keep, FolderCache& cache)
    : name_(path), cache_(cache) {
  Folder folder(path);
  id_ = folder.id();
  if (keep) folder_.emplace(std::move(folder));
}

Folder TreeRoot::reopen() const {
  Folder folder(name_);
  if (folder.id() == id_) return folder;
  throw IoError(fmt::format("{}: another folder has taken its place", name_), ESTALE);
}

// Calls open(folder) with this folder.
auto TreeRoot::open_below(const std::string& path, const auto& open) const try {
  return folder_ ? open(*folder_) : open(reopen());
} catch (const IoError& error) {
  if (error.code() != ELOOP) throw;
  throw IoError(fmt::format("{}/{}: the path now contains a symbolic link, which is not followed",
                            name_, path),
                error.code());
}

std::shared_ptr<const Folder> TreeRoot::open(const std::string& path) const {
  if (auto found = cache_.find(*this, path)) return found;
  auto opened = std::make_shared<const Folder>(open_now(path));
  cache_.add(*this, path, opened);
  return opened;
}

Folder TreeRoot::open_now(const std::string& path) const {
  return open_below(path, [&](const Folder& folder) { return folder.open_folder(path); });
}

Descriptor TreeRoot::open_file(const std::string& path, int flags) const {
  return open_below(path, [&](const Folder& folder) { return folder.open_file(path, flags); });
}

std::shared_ptr<const TreeRoot> TreeRoots::open(const std::string& path) {
  const std::lock_guard lock(mutex_);
  auto found = roots_.find(path);
  if (found == roots_.end()) {
    auto root = std::make_shared<const TreeRoot>(path, roots_.size() < most_descriptors, cache_);
    found = roots_.emplace(path, std::move(root)).first;
  }
  return found->second;
}

std::string parent_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string::npos ? std::string() : path.substr(0, slash);
}

std::shared_ptr<const Folder> Place::open_folder() const try {
  return root->open(folder());
} catch (const IoError& error) {
  throw IoError(fmt::format("{}: {}", shown, error.what()), error.code());
}

std::optional<struct stat> status_in(const Folder& folder, const std::string& name, bool follow) {
  struct stat status = {};
  const int flags = follow ? 0 : AT_SYMLINK_NOFOLLOW;
  const int found = fstatat(folder.descriptor(), name.c_str(), &status, flags);
  return found == 0 ? std::optional(status) : std::nullopt;
}

Input open_input(const Place& place, InputOptions options, Waits waits) {
  if (!place.root) return open_standard_input("standard input", options);
  if (place.follow) {
    options.advice_for_folder = "use -r to process the files in it";
    const int flags = O_RDONLY | O_CLOEXEC | O_NOCTTY | (waits == Waits::no ? O_NONBLOCK : 0);
    return open_named_input(
        place.shown, place.shown, flags,
        [&](int all_flags) {
          const auto folder = place.open_folder();
          return openat(folder->descriptor(), place.name().c_str(), all_flags);
        },
        options);
  }
  // O_NONBLOCK: if the file has become a pipe, do not wait for a writer.
  constexpr int flags = O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK;
  Input input = open_file_input(place.root->open_file(place.path, flags), place.shown, options);
  if (!input.is_regular()) {
    throw IoError(fmt::format("{}: it is no longer a regular file", place.shown), EIO);
  }
  return input;
}

Place place_of_argument(TreeRoots& roots, const std::string& path, const char* action) {
  const auto fail = [&](int code) { throw io_error(path.empty() ? "''" : path, action, code); };
  if (path.empty()) fail(ENOENT);
  if (path.back() == '/') {
    struct stat status = {};
    if (stat(path.c_str(), &status) != 0) fail(errno);
    throw refusal("{}: it is a folder; use -r to process the files in it", path);
  }
  try {
    return {.root = roots.open(folder_of(path)),
            .path = file_name_of(path),
            .shown = path,
            .follow = true};
  } catch (const IoError& error) {
    fail(error.code());
    throw;
  }
}

}  // namespace paraes::cli
