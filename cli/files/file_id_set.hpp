// A set of files, known by device and inode: about 16 bytes each.
#pragma once

#include <map>

#include "cli/files/compact_set.hpp"
#include "paraes/io.hpp"

namespace paraes::cli {

class FileIdSet {
 public:
  // Gets the memory that inserting this file needs.
  void reserve(const FileId& id) { devices_[id.device].reserve_one(); }

  // Returns false if the file is in the set.
  bool insert(const FileId& id) { return devices_[id.device].insert(number(id)); }

  [[nodiscard]] bool contains(const FileId& id) const {
    const auto device = devices_.find(id.device);
    return device != devices_.end() && device->second.contains(number(id));
  }

 private:
  // Zero marks free places. File systems do not use it.
  [[nodiscard]] static ino_t number(const FileId& id) noexcept {
    return id.inode == 0 ? ~ino_t{0} : id.inode;
  }

  std::map<dev_t, CompactSet<ino_t, 0, SpreadBits>> devices_;
};

}  // namespace paraes::cli
