#include "cli/name_probe.hpp"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <filesystem>
#include <system_error>
#include <utility>

#include "cli/signals.hpp"
#include "paraes/error.hpp"

namespace paraes::cli {
namespace {

constexpr std::string_view probe_name = "paraes-names";

// Two spellings of what the probe's name ends with, for the ways in which file systems fold.
struct Spellings {
  std::string_view one;
  std::string_view other;
};
constexpr std::array<Spellings, 3> spellings = {{
    {"a", "A"},
    {"\xc3\xa9", "\xc3\x89"},   // é and É
    {"\xc3\xa9", "e\xcc\x81"},  // é as one character and as two
}};

unsigned byte_at(std::string_view text, std::size_t at) {
  return at < text.size() ? static_cast<unsigned char>(text[at]) : 0;
}

// Whether an accent or the like (U+0300 to U+036F) begins at this byte.
bool is_combining(std::string_view text, std::size_t at) {
  const unsigned lead = byte_at(text, at);
  return lead == 0xccU || (lead == 0xcdU && byte_at(text, at + 1) < 0xb0U);
}

// Whether a character of U+4000 to U+9FFF begins at this byte: ideographs, which nothing folds.
bool is_ideograph(std::string_view text, std::size_t at) {
  const unsigned lead = byte_at(text, at);
  return lead >= 0xe4U && lead <= 0xe9U && at + 2 < text.size();
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
  const auto* const found =
      std::find_if(folded_letters.begin(), folded_letters.end(),
                   [&](const Folded& folded) { return text.starts_with(folded.letter); });
  return found == folded_letters.end() ? nullptr : found;
}

// Calls emit(text) for the parts of the outline. Dots and spaces count only if something follows
// them.
template <class Emit>
void make_outline(std::string_view path, const Emit& emit) {
  std::size_t pending = 0;  // dots and spaces
  const auto emit_after_pending = [&](std::string_view part) {
    for (; pending != 0; --pending) emit(".");
    emit(part);
  };
  for (std::size_t at = 0; at < path.size(); ++at) {
    const char c = path[at];
    if (byte_at(path, at) >= 0x80U) {
      if (is_ideograph(path, at)) {
        emit_after_pending(path.substr(at, 3));
        at += 2;
      } else if (const Folded* const folded = folded_letter(path.substr(at))) {
        emit_after_pending(folded->as);
        at += folded->letter.size() - 1;
      }
    } else if (is_combining(path, at + 1)) {
      continue;
    } else if (c == '.' || c == ' ') {
      ++pending;
    } else {
      if (c == '/') pending = 0;
      const char lower = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
      emit_after_pending({&lower, 1});
    }
  }
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

// A folder in which the names are tried. Signals wait while it exists: their handler removes files
// only.
class NameProbe::Scratch {
 public:
  Scratch(const Folder& folder, const std::string& name) : path_(folder.name_of(name)) {
    sigset_t ending;
    sigemptyset(&ending);
    for (const int signal : {SIGINT, SIGTERM, SIGHUP}) sigaddset(&ending, signal);
    pthread_sigmask(SIG_BLOCK, &ending, &before_);
    if (mkdirat(folder.descriptor(), name.c_str(), S_IRWXU) != 0) {
      const int error = errno;
      pthread_sigmask(SIG_SETMASK, &before_, nullptr);
      throw io_error(path_, "make", error);
    }
    folder_.emplace(folder.open_folder(name));
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  ~Scratch() {
    folder_.reset();
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }

  [[nodiscard]] int descriptor() const { return folder_->descriptor(); }

 private:
  std::string path_;
  std::optional<Folder> folder_;
  sigset_t before_{};
};

NameProbe::NameProbe(std::shared_ptr<const Folder> folder) : folder_(std::move(folder)) {}
NameProbe::~NameProbe() = default;

bool NameProbe::folds() {
  if (folds_) return *folds_;
  folds_ = false;
  const int folder = folder_->descriptor();
  for (const auto& [one, other] : spellings) {
    try {
      TemporaryName temporary;
      FileSink::Options options;
      options.named = true;
      options.on_temporary = [&](int at, const std::string& name) { temporary.set(at, name); };
      const std::string target = std::string(probe_name) + std::string(one);
      const FileSink file(folder_, target, std::move(options));
      std::string name = file_name_of(file.temporary());
      if (scratch_name_.empty()) scratch_name_ = name;
      const std::size_t end = name.find(target) + target.size();
      name.replace(end - one.size(), one.size(), other);
      struct stat status = {};
      if (fstatat(folder, name.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0) folds_ = true;
    } catch (const Error&) {  // NOLINT(bugprone-empty-catch): that name cannot exist there
    }
    if (*folds_) break;
  }
  return *folds_;
}

bool may_be_one(const std::string& one, const std::string& other, const Place& output) {
  const auto absolute = [](const std::string& path) {
    std::error_code error;
    return std::filesystem::absolute(path, error).lexically_normal().string();
  };
  const std::string a = absolute(one);
  const std::string b = absolute(other);
  return a != b && outline_of(a) == outline_of(b) && NameProbe(output.open_folder()).folds();
}

bool NameProbe::is_new(const std::string& path) {
  if (!scratch_) scratch_ = std::make_unique<Scratch>(*folder_, scratch_name_);
  const int at = scratch_->descriptor();
  for (std::size_t end = path.find('/'); end != std::string::npos; end = path.find('/', end + 1)) {
    static_cast<void>(mkdirat(at, path.substr(0, end).c_str(), S_IRWXU));
  }
  constexpr int flags = O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC;
  const Descriptor made(openat(at, path.c_str(), flags, S_IRUSR | S_IWUSR));
  return made.get() >= 0 || errno != EEXIST;
}

}  // namespace paraes::cli
