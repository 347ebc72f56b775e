// A folder for the files of one test.
#pragma once

#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <ios>
#include <stdexcept>
#include <string>
#include <system_error>

#include "tests/support/buffers.hpp"

namespace paraes::support {

// Removed with all its files when the object is destroyed.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "paraes-test-XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr) throw std::runtime_error("cannot create " + name);
    path_ = name;
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  [[nodiscard]] std::string path() const { return path_.string(); }
  [[nodiscard]] std::string path(const std::string& name) const { return (path_ / name).string(); }
  [[nodiscard]] bool has(const std::string& name) const {
    return std::filesystem::exists(path_ / name);
  }

  // Returns the path of the new file.
  template <class Contents>
  std::string write(const std::string& name, const Contents& contents) const {
    std::ofstream file(path(name), std::ios::binary);
    file.write(reinterpret_cast<const char*>(contents.data()),
               static_cast<std::streamsize>(contents.size()));
    file.close();
    if (!file) throw std::runtime_error("cannot write " + path(name));
    return path(name);
  }

  // A program: `commands` for sh, which finds the folder in $folder. Returns its path.
  std::string write_script(const std::string& name, const std::string& commands) const {
    write(name, "#!/bin/sh\nfolder='" + path() + "'\n" + commands + "\n");
    if (chmod(path(name).c_str(), S_IRWXU) != 0) {
      throw std::runtime_error("cannot make an executable of " + path(name));
    }
    return path(name);
  }

  // Throws if there is no such file.
  [[nodiscard]] Buffer read(const std::string& name) const {
    Buffer contents(std::filesystem::file_size(path_ / name));
    std::ifstream file(path(name), std::ios::binary);
    file.read(reinterpret_cast<char*>(contents.data()),
              static_cast<std::streamsize>(contents.size()));
    if (!file) throw std::runtime_error("cannot read " + path(name));
    return contents;
  }
  [[nodiscard]] std::string text(const std::string& name) const {
    const Buffer contents = read(name);
    return {contents.begin(), contents.end()};
  }

 private:
  std::filesystem::path path_;
};

}  // namespace paraes::support
