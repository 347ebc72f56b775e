#include "cli/files/removal.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

#include "paraes/error.hpp"
#include "paraes/recipients.hpp"
#include "paraes/secret.hpp"
#include "src/core/system/removal.hpp"

namespace paraes::cli {
namespace {

std::string system_text(int code) { return std::generic_category().message(code); }

// Why the name of the output no longer leads to the file that was committed; empty if it does.
std::string why_output_is_unsafe(const Place& output, const WrittenFile& written) {
  std::optional<Folder> folder;
  if (!output.follow) folder.emplace(output.open_folder_now());
  const int at = folder ? folder->descriptor() : AT_FDCWD;
  const std::string name = folder ? output.name() : output.shown;
  struct stat status = {};
  if (fstatat(at, name.c_str(), &status, folder ? AT_SYMLINK_NOFOLLOW : 0) != 0) {
    return fmt::format("its output {}: {}", output.shown, system_text(errno));
  }
  if (written.is_at(at, name.c_str(), output.follow)) return "";
  return fmt::format("{} is not the file that was written for it", output.shown);
}

// Whether a file holds a private key, as far as its beginning tells.
bool holds_identity(const Folder& folder, const std::string& name) {
  constexpr std::size_t most = 65536;
  const Descriptor file(openat(folder.descriptor(), name.c_str(),
                               O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC | O_NOCTTY));
  if (file.get() < 0) return false;
  SecretBytes contents(most);
  const ssize_t n = pread(file.get(), contents.data(), contents.size(), 0);
  if (n <= 0) return false;
  return holds_private_key(
      {reinterpret_cast<const char*>(contents.data()), static_cast<std::size_t>(n)});
}

// The status of what is at a place; nullopt if nothing is there.
std::optional<struct stat> status_at(const Place& place, bool follow) try {
  return status_in(place.open_folder_now(), place.name(), follow);
} catch (const IoError&) {
  return std::nullopt;  // nor is its folder
}

}  // namespace

bool is_there(const Place& place) { return status_at(place, false).has_value(); }

bool is_file(const Place& place, const FileId& id) {
  const auto status = status_at(place, place.follow);
  return status && FileId(*status) == id;
}

std::optional<std::string> remove_source(const Place& source, const CommittedFile& committed,
                                         const ProtectedFiles& files, bool keep_identities) {
  const auto not_removed = [&](const std::string& why) {
    return fmt::format("{}: not removed: {}", source.shown, why);
  };
  try {
    const Folder folder = source.open_folder_now();
    const std::string name = source.name();
    if (const std::string why = why_output_is_unsafe(committed.output, *committed.written);
        !why.empty()) {
      return not_removed(why);
    }
    const auto status = status_in(folder, name, false);
    if (!status) return io_error(source.shown, "remove", errno).what();
    if (S_ISLNK(status->st_mode)) {
      return not_removed("it is a symbolic link, and the file it leads to was read");
    }
    const FileVersion now(*status);
    if (now.id != committed.input.id) return not_removed("it is not the file that was read");
    if (!(now == committed.input)) return not_removed("it was written to after it was read");
    if (const auto flag = files.secret_in(folder, name, false)) {
      return not_removed(fmt::format("it holds the secret of {}; move it elsewhere", *flag));
    }
    if (keep_identities && holds_identity(folder, name)) {
      return not_removed(
          "it holds an identity (private key), without which the outputs might never be decrypted; "
          "keep it elsewhere, and remove it yourself");
    }
    const auto is_the_same = [&] {
      const auto later = status_in(folder, name, false);
      // Without it, the next attempt says what is wrong, or that the file is gone.
      return !later || FileVersion(*later) == committed.input;
    };
    if (!system::remove_file(folder.descriptor(), name.c_str(), 0, is_the_same)) {
      const int error = errno;
      if (is_the_same()) return io_error(source.shown, "remove", error).what();
      return not_removed("it was in use, and was written to or replaced meanwhile");
    }
  } catch (const Error& error) {
    return not_removed(error.what());
  }
  return std::nullopt;
}

}  // namespace paraes::cli
