// A shared library that the user named on the command line.
#pragma once

#include <string>

namespace paraes::bench {

// Whether the references of a library find its own symbols before those of this process.
enum class Apart { if_possible, required };

// A file that stays open for the rest of the process, as DynamicLibrary does.
class LibraryFile {
 public:
  // Opens the file, which `flag` named. Throws InvalidArgument with the reason, also if somebody
  // else could change the file.
  LibraryFile(std::string flag, const std::string& path, Apart wanted);

  [[nodiscard]] static bool can_be_apart();

  // Sets `pointer` to the function `name` of this file, or to nullptr if it has none. Functions of
  // the libraries that the file needs do not count.
  template <class F>
  void find(F*& pointer, const std::string& name) const {
    pointer = reinterpret_cast<F*>(symbol(name));
  }

  // Throws InvalidArgument, which names the flag and the file.
  [[noreturn]] void refuse(const std::string& reason) const;

  // The path has no symbolic links.
  [[nodiscard]] const std::string& path() const { return real_path_; }

 private:
  [[nodiscard]] void* symbol(const std::string& name) const;

  std::string flag_;
  std::string path_;  // as given
  std::string real_path_;
  void* handle_ = nullptr;
};

}  // namespace paraes::bench
