#include "cli/files/file_list.hpp"

#include <algorithm>
#include <cstring>
#include <limits>
#include <new>
#include <utility>

namespace paraes::cli {

static_assert(sizeof(FoundFile) == 24);

const char* NameStore::add(std::string_view name) {
  constexpr std::size_t block_bytes = std::size_t{64} << 10;
  const std::size_t bytes = name.size() + 1;
  if (bytes > left_) {
    const std::size_t size = std::max(bytes, block_bytes);
    blocks_.emplace_back(new char[size]);
    next_ = blocks_.back().get();
    left_ = size;
  }
  char* const copy = next_;
  std::memcpy(copy, name.data(), name.size());
  copy[name.size()] = '\0';
  next_ += bytes;
  left_ -= bytes;
  return copy;
}

std::uint32_t FileList::add_top(Top top) {
  tops_.push_back(std::move(top));
  folders_.push_back({static_cast<std::uint32_t>(tops_.size() - 1), ""});
  return static_cast<std::uint32_t>(folders_.size() - 1);
}

std::uint32_t FileList::add_folder(std::uint32_t above, std::string path) {
  folders_.push_back({folders_[above].top, std::move(path)});
  return static_cast<std::uint32_t>(folders_.size() - 1);
}

std::uint32_t FileList::add(const FoundFile& file) {
  if (files_.size() >= std::numeric_limits<std::uint32_t>::max()) throw std::bad_alloc();
  files_.push_back(file);
  return static_cast<std::uint32_t>(files_.size() - 1);
}

std::string FileList::path(const FoundFile& file) const {
  const std::string& folder = path(file.folder);
  return folder.empty() ? std::string(file.name) : folder + "/" + file.name;
}

std::string FileList::shown(const FoundFile& file) const {
  return top(file.folder).shown + path(file);
}

std::string FileList::mirrored(const FoundFile& file) const {
  return top(file.folder).mirrored + path(file);
}

Place FileList::place(const FoundFile& file) const {
  const Top& top = this->top(file.folder);
  std::string path = this->path(file);
  std::string shown = top.shown + path;
  return {
      .root = top.root, .path = std::move(path), .shown = std::move(shown), .follow = top.follow};
}

}  // namespace paraes::cli
