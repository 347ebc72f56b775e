#include "cli/files/name_probe.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <filesystem>
#include <iterator>
#include <memory>
#include <system_error>
#include <utility>

#include "cli/terminal/signals.hpp"
#include "paraes/error.hpp"
#include "src/core/system/removal.hpp"

namespace paraes::cli {
namespace {

namespace fs = std::filesystem;

unsigned byte_at(std::string_view text, std::size_t at) {
  return at < text.size() ? static_cast<unsigned char>(text[at]) : 0;
}

// Whether an accent or the like (U+0300 to U+036F) begins at this byte, or behind a joiner (U+034F)
// that does not count. The iota below a letter (U+0345) folds into a letter of its own.
bool is_combining(std::string_view text, std::size_t at) {
  while (byte_at(text, at) == 0xcdU && byte_at(text, at + 1) == 0x8fU) at += 2;
  const unsigned lead = byte_at(text, at);
  const unsigned next = byte_at(text, at + 1);
  return lead == 0xccU || (lead == 0xcdU && next < 0xb0U && next != 0x85U);
}

// Letters that fold into letters without accents, of which some are several.
struct Folded {
  std::string_view letter;
  std::string_view as;
};
constexpr std::array<Folded, 13> folded_letters = {{
    {"\xc3\x9f", "ss"},      // ß
    {"\xe1\xba\x9e", "ss"},  // capital ß
    {"\xc5\x89", "n"},       // n after an apostrophe
    {"\xc5\xbf", "s"},       // long s
    {"\xe1\xba\x9a", "a"},   // a with half a ring
    {"\xe2\x84\xaa", "k"},   // kelvin
    {"\xef\xac\x80", "ff"},  // ligatures
    {"\xef\xac\x81", "fi"},
    {"\xef\xac\x82", "fl"},
    {"\xef\xac\x83", "ffi"},
    {"\xef\xac\x84", "ffl"},
    {"\xef\xac\x85", "st"},
    {"\xef\xac\x86", "st"},
}};

const Folded* folded_letter(std::string_view text) {
  const auto* const found = std::ranges::find_if(
      folded_letters, [&](const Folded& folded) { return text.starts_with(folded.letter); });
  return found == folded_letters.end() ? nullptr : found;
}

// Calls emit(text) for the parts of the outline. Dots and spaces count only if something follows
// them.
void make_outline(std::string_view path, const auto& emit) {
  std::size_t pending = 0;  // dots and spaces
  const auto emit_after_pending = [&](std::string_view part) {
    for (; pending != 0 && !part.empty(); --pending) emit(".");
    emit(part);
  };
  for (std::size_t at = 0; at < path.size(); ++at) {
    const char c = path[at];
    if (byte_at(path, at) >= 0x80U) {
      const Folded* const folded = folded_letter(path.substr(at));
      if (folded == nullptr) continue;
      at += folded->letter.size() - 1;
      // An accent belongs to the last letter.
      emit_after_pending(folded->as.substr(0, folded->as.size() - is_combining(path, at + 1)));
    } else if (is_combining(path, at + 1) || c == ';' || c == '`') {
      continue;  // the Greek question mark and accent fold into these two
    } else if (c == '.' || c == ' ') {
      ++pending;
    } else {
      if (c == '/') pending = 0;
      const char lower = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
      emit_after_pending({&lower, 1});
    }
  }
}

constexpr std::string_view probe_name = "paraes-names-";

// How one file is spelled, and how else: in the other case, and with an accent as a character.
struct Spellings {
  std::string_view one;
  std::vector<std::string_view> others;
};
const std::array<Spellings, 2> spellings = {{
    {"a\xc3\xa9", {"A\xc3\xa9", "a\xc3\x89", "ae\xcc\x81"}},
    {"a", {"A"}},  // where other characters are refused
}};

// A folder in which the names are tried. It is locked, so that other runs do not take it for one
// that is left over.
class Scratch {
 public:
  Scratch(const Folder& folder, std::string name) : folder_(folder), name_(std::move(name)) {
    if (mkdirat(folder.descriptor(), name_.c_str(), S_IRWXU) != 0) {
      throw io_error(folder.name_of(name_), "make", errno);
    }
    opened_ = Descriptor(openat(folder.descriptor(), name_.c_str(),
                                O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (opened_.get() >= 0) {
      static_cast<void>(flock(opened_.get(), LOCK_EX | LOCK_NB));
      return;
    }
    const int error = errno;
    unlinkat(folder.descriptor(), name_.c_str(), AT_REMOVEDIR);
    throw io_error(folder.name_of(name_), "open", error);
  }
  ~Scratch() {
    for (auto made = made_.rbegin(); made != made_.rend(); ++made) {
      remove(opened_.get(), made->path, made->is_folder);
    }
    opened_.close();  // its lock protects nothing any more, and an open folder may have to stay
    remove(folder_.descriptor(), name_, true);
  }

  // Whether the path leads to another file than those before.
  bool add(const std::string& path) {
    for (std::size_t end = path.find('/'); end != std::string::npos;
         end = path.find('/', end + 1)) {
      make(path.substr(0, end), true);
    }
    return make(path, false) || errno != EEXIST;
  }

 private:
  static void remove(int folder, const std::string& name, bool is_folder) {
    static_cast<void>(system::remove_file(folder, name.c_str(), is_folder ? AT_REMOVEDIR : 0,
                                          [] { return true; }));  // the folder is our own
  }

  struct Made {
    std::string path;
    bool is_folder;
  };

  bool make(std::string path, bool is_folder) {
    made_.push_back({std::move(path), is_folder});  // first: it may lack memory
    const char* const name = made_.back().path.c_str();
    constexpr int flags = O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC;
    const bool done =
        is_folder ? mkdirat(opened_.get(), name, S_IRWXU) == 0
                  : Descriptor(openat(opened_.get(), name, flags, S_IRUSR | S_IWUSR)).get() >= 0;
    if (done) return true;
    const int error = errno;
    made_.pop_back();
    errno = error;
    return false;
  }

  const Folder& folder_;
  std::string name_;
  Descriptor opened_;
  std::vector<Made> made_;
};

// Resolves the symbolic links in the folders, as far as these exist.
std::string absolute(const std::string& path) {
  const fs::path given(path);
  std::error_code error;
  const fs::path above = given.has_parent_path() ? given.parent_path() : fs::path(".");
  fs::path folder = fs::weakly_canonical(fs::absolute(above, error), error);
  if (error) folder = fs::absolute(above, error).lexically_normal();
  return (folder / given.filename()).string();
}

bool is_folder(const std::string& path) {
  std::error_code error;
  return fs::is_directory(path, error);
}

// The longest part of a folder's path that exists. Ends in '/'.
std::string existing_part(std::string folder) {
  while (folder.size() > 1 && !is_folder(folder)) {
    folder.pop_back();
    folder.resize(folder.rfind('/') + 1);
  }
  return folder;
}

std::string folder_with_slash(const std::string& path) {
  return path.substr(0, path.rfind('/') + 1);
}

}  // namespace

std::string outline_of(std::string_view path) {
  std::string outline;
  make_outline(path, [&](std::string_view part) { outline += part; });
  return outline;
}

std::uint64_t hash_of_outline(std::string_view path) {
  std::uint64_t hash = 0xcbf29ce484222325U;  // FNV-1a
  make_outline(path, [&](std::string_view part) {
    for (const char c : part) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3U;
  });
  return hash;
}

// A name of the form of temporary ones, which no run takes for an input.
const std::string& NameProbe::scratch_name_if_it_folds(const std::string& folder) {
  const auto [known, is_new] = scratch_names_.try_emplace(folder);
  if (!is_new) return known->second;
  for (const Spellings& spelling : spellings) {
    try {
      const auto opened = std::make_shared<const Folder>(folder);
      const std::string target = std::string(probe_name).append(spelling.one);
      const ProbeFile file(opened, target, probing_);
      const std::string name = file.name();
      const std::size_t begin = name.find(target) + probe_name.size();
      for (const std::string_view other : spelling.others) {
        std::string changed = name;
        changed.replace(begin, spelling.one.size(), other);
        struct stat status = {};
        const int found =
            fstatat(opened->descriptor(), changed.c_str(), &status, AT_SYMLINK_NOFOLLOW);
        if (found == 0) known->second = name;
      }
      break;
    } catch (const Error&) {  // NOLINT(bugprone-empty-catch): that name cannot exist there
    }
  }
  return known->second;
}

// Tries those of the paths, by number, that are not known to be repeated. All are below the folder.
void NameProbe::try_below(const std::string& folder, const std::vector<std::string>& paths,
                          const std::vector<std::size_t>& numbers, std::vector<bool>& repeated) {
  const std::string existing = existing_part(folder);
  const std::string& name = scratch_name_if_it_folds(existing);
  if (name.empty()) return;
  try {
    const Folder opened(existing);
    const SignalsWait signals;  // their handler removes only files
    Scratch scratch(opened, name);
    for (const std::size_t number : numbers) {
      if (signals.one_waits()) return;  // it ends the process now
      if (!repeated[number] && !scratch.add(paths[number].substr(existing.size()))) {
        repeated[number] = true;
      }
    }
  } catch (const IoError&) {  // NOLINT(bugprone-empty-catch): no output gets there either
  }
}

std::vector<std::size_t> NameProbe::find_repeated(const std::vector<std::string>& given) {
  std::vector<std::string> paths;
  std::ranges::transform(given, std::back_inserter(paths), absolute);
  return find_among(paths);
}

std::vector<std::size_t> NameProbe::find_among(const std::vector<std::string>& paths) {
  std::map<std::string, std::vector<std::size_t>> by_folder;
  std::vector<std::size_t> all;
  for (const std::string& path : paths) {
    by_folder[folder_with_slash(path)].push_back(all.size());
    all.push_back(all.size());
  }
  std::vector<bool> repeated(paths.size(), false);
  // Whether names fold can be different in each folder: first within each, then among them.
  for (const auto& [folder, numbers] : by_folder) {
    if (numbers.size() > 1) try_below(folder, paths, numbers, repeated);
  }
  if (by_folder.size() > 1) {
    // Their common part is that of the first and the last in the order of their bytes.
    const std::string& first = by_folder.begin()->first;
    const std::string& last = by_folder.rbegin()->first;
    const auto end = std::mismatch(first.begin(), first.end(), last.begin(), last.end()).first;
    try_below(folder_with_slash(std::string(first.begin(), end)), paths, all, repeated);
  }
  std::vector<std::size_t> found;
  for (std::size_t i = 0; i < paths.size(); ++i) {
    if (repeated[i]) found.push_back(i);
  }
  return found;
}

bool NameProbe::are_one(const std::string& one, const std::string& other) {
  // Most names differ. Only for others, the system is asked where their folders are.
  if (outline_of(file_name_of(one)) != outline_of(file_name_of(other))) return false;
  const std::string a = absolute(one);
  const std::string b = absolute(other);
  return a != b && outline_of(a) == outline_of(b) && !find_among({a, b}).empty();
}

}  // namespace paraes::cli
